"""Distances of outputs, and the one fallback of every law: independent draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.divergences import (
    Metric,
    affinity_exponent,
    affinity_of_counts,
    distance_from_log_affinity,
    hellinger,
    hellinger_published,
    metric_name,
)
from dpbayes.laws.numbers import (
    FOUR_DEVIATIONS,
    Estimate,
)

DRAWS = 200_000  # draws behind a quantile
# probability that the stated error of a drawn quantile holds
CONFIDENCE = 1.0 - 1e-6
# means are drawn until their standard error is this part of them: three digits
RELATIVE = 5e-4
# most released counts, k a draw, that are drawn for a mean: some seconds
MOST_ENTRIES = 40_000_000
# Of all draws behind a number: it is the same every time, and laws that are compared
# share it.
SEED = 20_190
BLOCK = 50_000  # draws at once
# So small a probability of what is not summed is halved, and its half stated as the
# error.
NEGLIGIBLE = 1e-9
SAME_DISTANCE = 1e-12  # distances that differ by no more are one
_ROWS = 4096  # of a metric that takes rows of parameters
# numbers of an affinity table that is kept; 2048 tables are some 30 MB
_LARGEST_KEPT = 2048

Yardstick = Metric | str
"""A distance: "hellinger", "published", or a function of two arrays of Dirichlet
parameters.
"""


def metric_function(metric: Yardstick) -> Metric:
    """Return the function a name stands for; a function is returned as it is.

    Raises TypeError for what is neither, ValueError for an unknown name.
    """
    if callable(metric) and not isinstance(metric, type):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            "metric must be hellinger, published, or a function such as"
            f" dpbayes.hellinger, got {_validate.shown(metric)}"
        )
    return hellinger if metric_name(metric) == "hellinger" else hellinger_published


def power_of_affinity(metric: Yardstick, total: float) -> float | None:
    """Return kappa with metric = sqrt(1 - BC^kappa) for posteriors of this total, or
    None.

    1 for the Hellinger distance, 1/ln(total) for the published one; None for any other
    function, whose means cannot be had from moments of BC.
    """
    if metric_function(metric) not in (hellinger, hellinger_published):
        return None
    return affinity_exponent(metric, total)


def log_affinity_of_outputs(prior: Floats, counts: Whole, outputs: Whole) -> Floats:
    """Return ln BC between prior + counts and prior + each output, shape (N,).

    Nothing is lost however large the counts are. Outputs of another total keep their
    own.

    >>> outputs = np.array([[0, 1], [1, 0]])
    >>> log_affinity_of_outputs(np.ones(2), np.array([1, 0]), outputs).round(6)
    array([-0.241564,  0.      ])
    """
    result = np.zeros(len(outputs))
    for alpha, count, released in zip(prior, counts, outputs.T, strict=True):
        result += affinity_by_value(float(alpha), int(count), released)
    n, totals = int(counts.sum()), row_sums(outputs)
    if np.any(totals != n):
        result -= affinity_by_value(float(prior.sum()), n, totals)
    return np.minimum(result, 0.0)


def affinity_by_value(prior: float, count: int, released: Whole) -> Floats:
    """Return ln BC of one category (or of the totals) with each released value, shape
    (N,).

    psi(prior + count, prior + r), see `divergences`. Released counts repeat, so psi is
    evaluated once for each value between the least and the largest, where these are
    fewer than the outputs.
    """
    if released.size == 0:
        return np.zeros(0)
    low, high = int(released.min()), int(released.max())
    if high - low < released.size:  # psi is evaluated once for each value
        table = _table if high - low < _LARGEST_KEPT else _table.__wrapped__
        return np.asarray(table(prior, count, low, high)[released - low])
    return affinity_of_counts(prior, count, released)


@lru_cache(maxsize=2048)
def _table(prior: float, count: int, low: int, high: int) -> Floats:
    return affinity_of_counts(prior, count, np.arange(low, high + 1))


def row_sums(outputs: Whole) -> Whole:
    """Return the sum of each row, column by column: many times faster for few
    columns."""
    totals = np.zeros(len(outputs), dtype=np.int64)
    for column in outputs.T:
        totals += column
    return totals


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarlo(ByValue):
    """Simulated distances, shape (runs,), with their mean and its standard error.

    >>> from dpbayes.mechanisms import mechanism
    >>> law = mechanism("geometric", 1.0).law([5, 5], [1, 1])
    >>> law.simulate(np.random.default_rng(1), runs=4000)
    MonteCarlo(4000 runs, mean distance 0.17 ± 0.02 (drawn, 99.99 %))
    """

    distances: Floats

    @property
    def mean(self) -> Estimate:
        """Average distance over the runs; its error is four standard errors (99.99
        %).
        """
        return mean_of(self.distances)

    @property
    def standard_error(self) -> float:
        """Standard error of the average: s / sqrt(runs), s the sample standard
        deviation.
        """
        return self.mean.standard_error

    def __repr__(self) -> str:
        return f"MonteCarlo({self.distances.size} runs, mean distance {self.mean})"


class Drawable(Protocol):
    """A law with its prior (k,) and true counts (k,), as far as drawing from it
    needs."""

    @property
    def prior(self) -> Floats:
        """The prior, shape (k,)."""

    @property
    def counts(self) -> Whole:
        """The true counts, shape (k,)."""

    def rvs(self, size: int, random_state: np.random.Generator) -> NDArray[Any]:
        """Return `size` independent released histograms, shape (size, k)."""


def distances_of(law: Drawable, draws: NDArray[Any], metric: Yardstick) -> Floats:
    """Return the distance of each released vector (N, k) to the true posterior.

    Whole counts are compared as such, so that close posteriors keep their digits.
    """
    distance, n = metric_function(metric), int(law.counts.sum())
    whole = np.issubdtype(draws.dtype, np.integer)
    exponent = power_of_affinity(metric, float(law.prior.sum() + n)) if whole else None
    if exponent is not None and (distance is hellinger or np.all(row_sums(draws) == n)):
        logs = log_affinity_of_outputs(law.prior, law.counts, draws)
        return distance_from_log_affinity(logs, exponent)
    if whole and n > 2**53:
        raise ValueError(
            "counts must sum to at most 2^53 for a distance other than hellinger,"
            f" whose parameters are floats, got {n}"
        )
    start, blocks = law.prior + law.counts, range(0, len(draws), _ROWS)
    parts = [
        np.asarray(distance(start, law.prior + draws[i : i + _ROWS])) for i in blocks
    ]
    return np.concatenate([np.zeros(0), *parts])


def mean_of(values: Floats) -> Estimate:
    """Return the mean of independent draws with its standard error.

    >>> mean = mean_of(np.array([0.1, 0.2, 0.3]))
    >>> round(mean, 3), round(mean.standard_error, 4), mean.how
    (0.2, 0.0577, 'drawn')
    """
    return Estimate.drawn(values.mean(), values.std(ddof=1) / np.sqrt(values.size))


def drawn_mean(law: Drawable, metric: Yardstick, order: int = 1) -> Estimate:
    """Return E[distance^order] over draws of a fixed seed, with its standard error.

    Blocks of `BLOCK` draws are added until the standard error is `RELATIVE` of the
    mean, or `MOST_ENTRIES` counts have been drawn. The seed is the same for all laws:
    two that are compared share their random numbers.
    """
    rng, most = np.random.default_rng(SEED), max(BLOCK, MOST_ENTRIES // law.counts.size)
    size, centre, total, square = 0, 0.0, 0.0, 0.0
    while True:
        values = distances_of(law, law.rvs(BLOCK, rng), metric) ** order
        # close numbers keep their differences
        centre = centre if size else float(values.mean())
        size += values.size
        total += float((values - centre).sum())
        square += float(((values - centre) ** 2).sum())
        variance = (square - total**2 / size) / (size - 1)
        mean, error = centre + total / size, float(np.sqrt(max(variance, 0.0) / size))
        # Draws that all agree say no more than that nothing else is likely: what has a
        # probability of -ln(1 - confidence) / size would have been seen.
        unseen = 0.0 if variance > 0.0 else -math.log1p(-FOUR_DEVIATIONS) / size
        error = error + 2.0**-53 if variance > 0.0 else 1.0 / size
        if error <= RELATIVE * mean or size >= most:
            return Estimate.drawn(mean, error, unseen)


def _drawn_distances(law: Drawable, metric: Yardstick) -> Floats:
    """Return the distances of `DRAWS` releases, the same draws each time, shape
    (DRAWS,).
    """
    rng = np.random.default_rng(SEED)
    blocks = [
        distances_of(law, law.rvs(BLOCK, rng), metric) for _ in range(DRAWS // BLOCK)
    ]
    return np.concatenate(blocks)


def _largest_gap(size: int) -> float:
    # Of the drawn and the true distribution function, by Dvoretzky, Kiefer, Wolfowitz
    # and Massart; it is larger with probability 1 - CONFIDENCE.
    return float(np.sqrt(np.log(2.0 / (1.0 - CONFIDENCE)) / (2.0 * size)))


def drawn_quantile(law: Drawable, q: float, metric: Yardstick) -> Estimate:
    """Return the q-quantile of the distance over 200 000 draws.

    The true one lies between those of the draws at q - 0.0061 and q + 0.0061, by
    Dvoretzky, Kiefer, Wolfowitz and Massart; the error is the distance to the farther
    of the two. Beyond the ends it reaches to the ends of the range of a distance.
    """
    distances = _drawn_distances(law, metric)
    gap, sd = _largest_gap(DRAWS), float(np.sqrt(q * (1.0 - q) / DRAWS))

    def at(level: float) -> float:
        inside = min(max(level, 0.0), 1.0)
        return float(np.quantile(distances, inside, method="inverted_cdf"))

    value = at(q)
    low = at(q - gap) if q > gap else 0.0
    high = at(q + gap) if q + gap < 1.0 else largest_distance(metric)
    standard_error = 0.5 * (at(q + sd) - at(q - sd))
    error = max(value - low, high - value)
    return Estimate(value, error, "drawn", standard_error, CONFIDENCE)


def drawn_cdf(law: Drawable, distance: float, metric: Yardstick) -> Estimate:
    """Return P(the distance is at most `distance`) over 200 000 draws, within 0.0061.

    The bound is that of Dvoretzky, Kiefer, Wolfowitz and Massart on the whole
    distribution function, which holds with probability 1 - 1e-6 at all distances
    together.
    """
    found = float(np.mean(_drawn_distances(law, metric) <= distance + SAME_DISTANCE))
    standard_error = float(np.sqrt(found * (1.0 - found) / DRAWS))
    return Estimate(found, _largest_gap(DRAWS), "drawn", standard_error, CONFIDENCE)


def largest_distance(metric: Yardstick) -> float:
    """Return 1, the most that a distance between posteriors can be by its name, else
    inf.

    Nothing is known of the range of a function that the caller brings.
    """
    return 1.0 if power_of_affinity(metric, 2.0) is not None else math.inf
