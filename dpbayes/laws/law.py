"""What every law answers, what a law that lists its outputs offers besides, and how one is chosen.

A law is the exact distribution of what a mechanism releases for one data set.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.divergences import Metric, hellinger

LISTED = ("outputs", "probabilities", "log_probabilities", "distances")
"""What only a law that lists its outputs has."""


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


class Listed(Law, Protocol):
    """A law that lists its outputs (N, k) with their log-probabilities (N,)."""

    @property
    def outputs(self) -> NDArray[np.int64]:
        """Released counts, shape (N, k)."""
        ...

    @property
    def log_probabilities(self) -> NDArray[np.float64]:
        """Natural logarithm of the probability of each output, shape (N,)."""
        ...

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each output, shape (N,)."""
        ...

    @property
    def distances(self) -> NDArray[np.float64]:
        """Hellinger distance of each output's posterior to the true one, shape (N,)."""
        ...

    @property
    def mass_outside(self) -> float:
        """Bound on the probability of all outputs that are not listed."""
        ...


def listed(law: Law, purpose: str) -> Listed:
    """Return a law that lists its outputs; TypeError, naming the purpose, where it does not."""
    if not hasattr(law, "outputs"):
        raise TypeError(
            f"{purpose} needs every output listed; this law is a {type(law).__name__}, which lists "
            "none: use fewer records"
        )
    found: Any = law
    checked: Listed = found
    return checked


class Unlisted:
    """A base for laws without a list of outputs: asking for one says what to ask instead."""

    def __getattr__(self, name: str) -> Any:
        if name in LISTED:
            raise AttributeError(
                f"{type(self).__name__} does not list its outputs, so it has no .{name}: ask "
                ".probability(outputs), .mean_distance(), .quantile(q) or .sample(rng, size)"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
