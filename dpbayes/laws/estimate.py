"""Numbers with their error, distances of outputs, and the one fallback: independent
draws.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes.divergences import (
    Metric,
    affinity_exponent,
    affinity_of_counts,
    distance_from_log_affinity,
    hellinger,
    hellinger_published,
    metric_name,
)

DRAWS = 200_000  # draws behind a quantile
# probability with which the stated rank of a drawn quantile may be wrong
CONFIDENCE = 1e-6
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
_ROWS = 4096  # of a metric that takes rows of parameters
# numbers of an affinity table that is kept; 2048 tables are some 30 MB
_LARGEST_KEPT = 2048

Yardstick = Metric | str
"""A distance: "hellinger", "published", or a function of two arrays of Dirichlet
parameters.
"""


class Estimate(float):
    """A number with its error, and how both were found; it is a float like any other.

    `how` is "listed" (all outputs added up), "window" (those within reach, the others
    bounded), "series" (a sum of powers or of quadrature nodes, measured against a finer
    one) or "drawn". `error` is the largest error, but for "drawn" the standard error.
    For a quantile it is that of its rank: P(distance <= value) is at least q - error,
    and P(distance < value) at most q + error.

    >>> number = Estimate(0.25, 1e-12, "series")
    >>> number + 1, number.error, number.how
    (1.25, 1e-12, 'series')
    """

    error: float
    how: str

    def __new__(cls, value: float, error: float, how: str) -> Estimate:
        """Make a float that keeps its error and how it was found."""
        number = super().__new__(cls, value)
        number.error, number.how = float(error), how
        return number

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.error, self.how


def metric_function(metric: Yardstick) -> Metric:
    """Return the function a name stands for; a function is returned as it is."""
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


class Drawable(Protocol):
    """A law with its prior (k,) and true counts (k,), as far as drawing from it
    needs."""

    @property
    def prior(self) -> Floats:
        """The prior, shape (k,)."""

    @property
    def counts(self) -> Whole:
        """The true counts, shape (k,)."""

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
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
    >>> round(mean, 3), round(mean.error, 4), mean.how
    (0.2, 0.0577, 'drawn')
    """
    return Estimate(values.mean(), values.std(ddof=1) / np.sqrt(values.size), "drawn")


def drawn_mean(law: Drawable, metric: Yardstick, order: int = 1) -> Estimate:
    """Return E[distance^order] over draws of a fixed seed, with its standard error."""
    rng, most = np.random.default_rng(SEED), max(BLOCK, MOST_ENTRIES // law.counts.size)
    size, centre, total, square = 0, 0.0, 0.0, 0.0
    while True:
        values = distances_of(law, law.sample(rng, BLOCK), metric) ** order
        # close numbers keep their differences
        centre = centre if size else float(values.mean())
        size += values.size
        total += float((values - centre).sum())
        square += float(((values - centre) ** 2).sum())
        variance = (square - total**2 / size) / (size - 1)
        mean, error = centre + total / size, float(np.sqrt(max(variance, 0.0) / size))
        # Draws that all agree have seen nothing whose probability is below one in their
        # number.
        error = error + 2.0**-53 if variance > 0.0 else 1.0 / size
        if error <= RELATIVE * mean or size >= most:
            return Estimate(mean, error, "drawn")


def drawn_quantile(law: Drawable, q: float, metric: Yardstick) -> Estimate:
    """Return c with P(distance <= c) >= q - 0.0061 and P(distance < c) <= q + 0.0061.

    The bound is that of Dvoretzky, Kiefer, Wolfowitz and Massart; it fails with
    probability 1e-6.
    """
    rng = np.random.default_rng(SEED)
    distances = np.concatenate(
        [
            distances_of(law, law.sample(rng, BLOCK), metric)
            for _ in range(DRAWS // BLOCK)
        ]
    )
    value = float(np.quantile(distances, q, method="inverted_cdf"))
    error = float(np.sqrt(np.log(2.0 / CONFIDENCE) / (2.0 * distances.size)))
    return Estimate(value, error, "drawn")
