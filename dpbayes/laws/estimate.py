"""Numbers with the largest error they can have, where an exact sum is out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import Metric

DRAWS = 200_000
CONFIDENCE = 1e-6
"""Probability with which a bound that rests on draws may fail."""

_SEED = 20_190


@dataclass(frozen=True)
class Estimate:
    """A number and a bound on its error.

    `method` says where the bound comes from: "series" (certain), "quadrature" (the difference to
    a rule of lower order) or "draws" (fails with probability `CONFIDENCE`).
    """

    value: float
    error: float
    method: str


class Drawable(Protocol):
    """A law with its data, as far as drawing from it needs."""

    @property
    def prior(self) -> NDArray[np.float64]:
        """Prior parameters, shape (k,)."""
        ...

    @property
    def counts(self) -> NDArray[np.int64]:
        """True counts, shape (k,)."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Return released counts, shape (size, k)."""
        ...


def drawn_distances(law: Drawable, metric: Metric) -> NDArray[np.float64]:
    """Return the distances of `DRAWS` outputs; the seed is fixed, so they are reproducible."""
    draws = law.sample(np.random.default_rng(_SEED), DRAWS)
    return np.asarray(metric(law.prior + law.counts, law.prior + draws))


def drawn_mean(law: Drawable, metric: Metric) -> Estimate:
    """Return the mean distance with Hoeffding's bound for values in [0, 1]."""
    bound = np.sqrt(np.log(2.0 / CONFIDENCE) / (2.0 * DRAWS))
    return Estimate(float(drawn_distances(law, metric).mean()), float(bound), "draws")


def drawn_quantile(law: Drawable, q: float, metric: Metric) -> float:
    """Return a distance c with P(distance <= c) within 0.0061 of q.

    The bound is that of Dvoretzky, Kiefer, Wolfowitz and Massart.
    """
    distances = drawn_distances(law, metric)
    return float(np.quantile(distances, q, method="inverted_cdf"))
