"""Numbers with their error, and the one fallback: independent draws with a standard error."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import distance_from_log_affinity, hellinger
from dpbayes.laws.affinities import log_affinity_of_outputs, row_sums
from dpbayes.laws.metrics import Yardstick, metric_function, power_of_affinity

DRAWS = 200_000
"""Draws behind a quantile."""

CONFIDENCE = 1e-6
"""Probability with which the stated rank of a drawn quantile may be wrong."""

RELATIVE = 5e-4
"""Means are drawn until their standard error is this part of them: three digits."""

MOST_ENTRIES = 40_000_000
"""Most released counts, k a draw, that are drawn for a mean: some seconds."""

SEED = 20_190
"""Of all draws behind a number: it is the same every time, and laws that are compared share it."""

_BLOCK = 50_000  # draws at once
_ROWS = 4096  # of a metric that takes rows of parameters


class Estimate(float):
    """A number with its error, and how both were found; it is a float like any other.

    `how` is "listed" (all outputs added up), "window" (those within reach, the others bounded),
    "series" (a sum of powers or of quadrature nodes, measured against a finer one) or "drawn".
    `error` is the largest error, but for "drawn" the standard error. For a quantile it is that of
    its rank: P(distance <= value) is at least q - error, and P(distance < value) at most q + error.

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
    """A law with its prior (k,) and true counts (k,), as far as drawing from it needs."""

    @property
    def prior(self) -> NDArray[np.float64]: ...

    @property
    def counts(self) -> NDArray[np.int64]: ...

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[Any]: ...


def distances_of(law: Drawable, draws: NDArray[Any], metric: Yardstick) -> NDArray[np.float64]:
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
            "counts must sum to at most 2^53 for a distance other than hellinger, whose parameters "
            f"are floats, got {n}"
        )
    start, blocks = law.prior + law.counts, range(0, len(draws), _ROWS)
    parts = [np.asarray(distance(start, law.prior + draws[i : i + _ROWS])) for i in blocks]
    return np.concatenate([np.zeros(0), *parts])


def mean_of(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of independent draws with its standard error.

    >>> mean = mean_of(np.array([0.1, 0.2, 0.3]))
    >>> round(mean, 3), round(mean.error, 4), mean.how
    (0.2, 0.0577, 'drawn')
    """
    return Estimate(values.mean(), values.std(ddof=1) / np.sqrt(values.size), "drawn")


def drawn_mean(
    law: Drawable, metric: Yardstick, order: int = 1, relative: float = RELATIVE
) -> Estimate:
    """Return E[distance^order] over draws of a fixed seed, with its standard error."""
    rng, most = np.random.default_rng(SEED), max(_BLOCK, MOST_ENTRIES // law.counts.size)
    size, centre, total, square = 0, 0.0, 0.0, 0.0
    while True:
        values = distances_of(law, law.sample(rng, _BLOCK), metric) ** order
        centre = centre if size else float(values.mean())  # close numbers keep their differences
        size += values.size
        total += float((values - centre).sum())
        square += float(((values - centre) ** 2).sum())
        variance = (square - total**2 / size) / (size - 1)
        mean, error = centre + total / size, float(np.sqrt(max(variance, 0.0) / size))
        # Draws that all agree have seen nothing whose probability is below one in their number.
        error = error + 2.0**-53 if variance > 0.0 else 1.0 / size
        if error <= relative * mean or size >= most:
            return Estimate(mean, error, "drawn")


def drawn_quantile(law: Drawable, q: float, metric: Yardstick) -> Estimate:
    """Return c with P(distance <= c) >= q - 0.0061 and P(distance < c) <= q + 0.0061.

    The bound is that of Dvoretzky, Kiefer, Wolfowitz and Massart; it fails with probability 1e-6.
    """
    rng = np.random.default_rng(SEED)
    blocks = range(DRAWS // _BLOCK)
    distances = np.concatenate([
        distances_of(law, law.sample(rng, _BLOCK), metric) for _ in blocks
    ])  # fmt: skip
    value = float(np.quantile(distances, q, method="inverted_cdf"))
    error = float(np.sqrt(np.log(2.0 / CONFIDENCE) / (2.0 * distances.size)))
    return Estimate(value, error, "drawn")
