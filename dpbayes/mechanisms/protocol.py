"""What a mechanism and a law must offer; the only interfaces in the package."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.divergences import Metric, hellinger


class Law(Protocol):
    """An exact distribution of the released histogram."""

    def mean_distance(self, metric: Metric = hellinger) -> float:
        """Return the expected distance between released and true posterior."""
        ...

    def quantile(self, q: float) -> float:
        """Return the smallest c with P(Hellinger distance <= c) >= q."""
        ...

    def probability(self, counts_out: ArrayLike) -> float:
        """Return the probability that exactly these counts are released."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent released histograms, shape (size, k)."""
        ...


class Mechanism(Protocol):
    """A frozen description of a release; what it costs is worked out by `dpbayes.audit`."""

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def epsilon(self) -> float:
        """The nominal privacy parameter of its calibration."""
        ...

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Law:
        """Return the exact law of the output for these counts."""
        ...
