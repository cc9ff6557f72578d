"""What a mechanism and a law must offer, and what a mechanism may add.

A mechanism needs `name`, `epsilon` and `law`. Everything else that is known about it stands in its
file too, and is read by `dpbayes.mechanisms.guarantees.own` from its exact type only:

guarantee(k)              what is proved, with the theorem's label, or why nothing is
draw(counts, prior, bits) one exact draw from fair bits: the noisy value, the released counts
log_likelihoods(noisy, n, k)  ln P(noisy | count = 0 … n), one factor a category
step_law(k)               the law of the step as the data grow
definition, citations     the label of its definition, the keys of its sources
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.divergences import Metric, hellinger

Counts = NDArray[np.int64]
Drawn = tuple[Counts, Counts]
"""The noisy value that privacy is proved for, and the released counts made from it."""


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
