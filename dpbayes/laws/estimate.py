"""Numbers with the largest error they can have, where an exact sum is out of reach."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import distance_from_log_affinity, hellinger, hellinger_published
from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.metrics import Yardstick, metric_function, reported_exponent

DRAWS = 200_000
_ROWS_AT_ONCE = 4096
_ENTRIES_AT_ONCE = 1 << 24
CONFIDENCE = 1e-6
"""Probability with which a bound that rests on draws may fail."""

_SEED = 20_190


class Estimate(float):
    """A number with a bound on its error, and how both were found; it is a float like any other.

    `how` is "sum" (outputs added up), "series" (certain), "quadrature" (measured against other
    rules, not proved) or "draws" (fails with probability `CONFIDENCE`). Distances are in [0, 1].
    For a quantile `error` is that of its rank: P(distance <= value) is at least q - error, and
    P(distance < value) at most q + error.

    >>> number = Estimate(0.25, 1e-12, "series")
    >>> number + 1, number.error, number.how
    (1.25, 1e-12, 'series')
    """

    error: float
    how: str

    def __new__(cls, value: float, error: float, how: str) -> Estimate:
        number = super().__new__(cls, value)
        number.error, number.how = float(error), how
        return number

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.error, self.how


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


def drawn_distances(law: Drawable, metric: Yardstick) -> NDArray[np.float64]:
    """Return the distances of `DRAWS` outputs; the seed is fixed, so they are reproducible.

    Many categories are drawn in blocks of outputs, so that the draws never have to fit into memory.
    """
    rng, rows = np.random.default_rng(_SEED), max(_ENTRIES_AT_ONCE // law.counts.size, 1)
    sizes = (min(rows, DRAWS - first) for first in range(0, DRAWS, rows))
    return np.concatenate([_distances(law, law.sample(rng, size), metric) for size in sizes])


def _distances(law: Drawable, draws: NDArray[Any], metric: Yardstick) -> NDArray[np.float64]:
    distance = metric_function(metric)
    whole = np.issubdtype(draws.dtype, np.integer)
    if whole and (distance is hellinger or distance is hellinger_published):
        return looked_up_distances(law, draws, metric)
    return np.asarray(distance(law.prior + law.counts, law.prior + draws))


def looked_up_distances(
    law: Drawable, draws: NDArray[np.int64], metric: Yardstick
) -> NDArray[np.float64]:
    """Return the distances of drawn counts, shape (N, k), evaluating each count once a category.

    Draws repeat few counts, so that psi is looked up; nothing of size N k is made. When totals
    differ from the true one the published distance is taken row by row, slip included.
    """
    exponent = reported_exponent(metric, float(law.prior.sum() + law.counts.sum()))
    if exponent != 1.0 and np.any(draws.sum(axis=1) != law.counts.sum()):
        distance, start = metric_function(metric), law.prior + law.counts
        blocks = range(0, len(draws), _ROWS_AT_ONCE)
        parts = [distance(start, law.prior + draws[at : at + _ROWS_AT_ONCE]) for at in blocks]
        return np.concatenate(parts)
    logs = log_affinity_of_outputs(law.prior, law.counts, draws)
    return distance_from_log_affinity(logs, exponent)


def drawn_mean(law: Drawable, metric: Yardstick) -> Estimate:
    """Return the mean distance with Hoeffding's bound for values in [0, 1]."""
    return Estimate(float(drawn_distances(law, metric).mean()), rank_error(DRAWS), "draws")


def drawn_quantile(law: Drawable, q: float, metric: Yardstick) -> Estimate:
    """Return c with P(distance <= c) >= q - 0.0061 and P(distance < c) <= q + 0.0061.

    The bound is that of Dvoretzky, Kiefer, Wolfowitz and Massart.
    """
    distances = drawn_distances(law, metric)
    value = float(np.quantile(distances, q, method="inverted_cdf"))
    return Estimate(value, rank_error(distances.size), "draws")


def rank_error(runs: int) -> float:
    """Return the largest error of the share of draws below a distance, but for `CONFIDENCE`."""
    return float(np.sqrt(np.log(2.0 / CONFIDENCE) / (2.0 * runs)))
