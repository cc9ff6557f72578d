"""What a finite number of runs adds: errors of means, of quartiles and of whiskers.

The distribution of a printed quartile follows exactly from the law of one run; whiskers
end at the extreme run within reach of the quartiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, ndtr, ndtri, xlog1py, xlogy

from dpbayes.divergences import Metric, hellinger
from dpbayes.laws.estimate import (
    BLOCK,
    SEED,
    distances_of,
)
from dpbayes.laws.law import listed

Array = NDArray[np.float64]

QUARTILES = {"lower-quartile": 0.25, "median": 0.5, "upper-quartile": 0.75}

_RARE = 1e-4
_NEVER = 1e-13
_LARGEST_RANKED = 300_000


@dataclass(frozen=True)
class Expected:
    """The expectation of a printed statistic and its standard deviation over
    repetitions.
    """

    value: float
    error: float

    def score(self, observed: float, reading_error: float) -> float:
        """Return z = (observed - value) / sqrt(error^2 + reading_error^2)."""
        spread = float(np.hypot(self.error, reading_error))
        return (
            round((observed - self.value) / spread, 12) if spread > 0 else float("nan")
        )


@dataclass(frozen=True)
class Distances:
    """The law of one run's distance: increasing values (m,) and their probabilities
    (m,).

    A law too long to list is two values with its mean and variance, a number not
    sampled is one.
    """

    values: Array
    masses: Array

    def expected(self, statistic: str, runs: int, whisker: float = 1.5) -> Expected:
        """Return what `runs` independent runs print for a quartile, a whisker, or else
        the mean.

        `whisker` is the reach of the whiskers in interquartile ranges.
        """
        if statistic in QUARTILES:
            return _moments(*self.quantile_law(QUARTILES[statistic], runs), 1)
        if statistic.startswith("whisker"):
            return self._whisker(statistic == "whisker-high", runs, whisker)
        return _moments(self.values, self.masses, runs)

    def score(
        self,
        statistic: str,
        runs: int,
        observed: float,
        error: float,
        whisker: float = 1.5,
    ) -> float:
        """Return z of a statistic read with an error: of quartiles the exact normal
        score.
        """
        if statistic not in QUARTILES:
            return self.expected(statistic, runs, whisker).score(observed, error)
        values, masses = self.quantile_law(QUARTILES[statistic], runs)
        away = (observed - values) / error
        below, above = float(masses @ ndtr(away)), float(masses @ ndtr(-away))
        smaller = max(min(below, above), 1e-300)
        return float(ndtri(smaller) if below < above else -ndtri(smaller))

    @cached_property
    def _cumulative(self) -> Array:
        return np.minimum(np.cumsum(self.masses), 1.0)

    def order_statistic(self, rank: int, runs: int) -> Array:
        """Return P[the rank-th smallest of `runs` distances is values[i]], shape
        (m,)."""
        # At least `rank` of the runs are at most a value: a tail of the binomial
        # distribution.
        tail = betainc(rank, runs - rank + 1, self._cumulative)
        return np.asarray(np.diff(tail, prepend=0.0))

    def quantile_law(self, q: float, runs: int) -> tuple[Array, Array]:
        """Return the values of the usual linear sample quantile and their
        probabilities.
        """
        rank, weight = divmod(q * (runs - 1), 1.0)
        low = int(rank) + 1
        first = self.order_statistic(low, runs)
        if weight == 0.0 or self.values.size == 1:
            return self.values, first
        second = self.order_statistic(low + 1, runs)
        kept = np.flatnonzero((first > _NEVER) | (second > _NEVER))
        at = np.arange(kept[0], kept[-1] + 1)
        joint = self._consecutive(at, low, runs)
        np.fill_diagonal(joint, np.maximum(first[at] - joint.sum(axis=1), 0.0))
        values = (1.0 - weight) * self.values[at][:, None] + weight * self.values[at][
            None, :
        ]
        return values.ravel(), joint.ravel() / joint.sum()

    def _consecutive(self, at: NDArray[np.int64], rank: int, runs: int) -> Array:
        # P[X_(rank) = v_i and X_(rank+1) = v_j] for i < j, from P[X_(rank) <= v_i,
        # X_(rank+1) >= v_j] = choose(runs, rank) F_i^rank (1 - F_(j-1))^rest.
        before = np.append(0.0, self._cumulative)[at[0] : at[-1] + 2]
        choose = gammaln(runs + 1) - gammaln(rank + 1) - gammaln(runs - rank + 1)
        left, right = xlogy(rank, before), xlog1py(runs - rank, -before)
        corner = np.exp(choose + left[:, None] + right[None, :])
        joint = corner[1:, :-1] - corner[:-1, :-1] - corner[1:, 1:] + corner[:-1, 1:]
        return np.asarray(np.triu(np.maximum(joint, 0.0), 1))

    def _whisker(self, high: bool, runs: int, reach: float) -> Expected:
        # Averaged over both quartiles, as if independent; many pairs end at the same
        # value.
        (lower, p), (upper, q) = self._around(0.25, runs), self._around(0.75, runs)
        spans = reach * (upper[None, :] - lower[:, None])
        limits = upper[None, :] + spans if high else lower[:, None] - spans
        side: Literal["left", "right"] = "right" if high else "left"
        ends = np.searchsorted(self.values, limits + (1e-9 if high else -1e-9), side)
        weights = np.where(spans >= 0.0, p[:, None] * q[None, :], 0.0)
        places, pairs = np.unique(ends, return_inverse=True)
        shares = np.bincount(pairs.ravel(), weights.ravel()) / weights.sum()
        extremes = np.array([self._extreme(int(end), high, runs) for end in places])
        mean = float(shares @ extremes[:, 0])
        variance = float(shares @ (extremes[:, 1] + (extremes[:, 0] - mean) ** 2))
        return Expected(mean, float(np.sqrt(variance)))

    def _around(self, q: float, runs: int) -> tuple[Array, Array]:
        masses = self.order_statistic(round(q * (runs - 1)) + 1, runs)
        kept = masses > _RARE
        return self.values[kept], masses[kept]

    def _extreme(self, end: int, high: bool, runs: int) -> tuple[float, float]:
        # Mean and variance of the extreme run among the values before (or from) index
        # `end`.
        within = slice(None, end) if high else slice(end, None)
        step = -1 if high else 1
        values, masses = self.values[within][::step], self.masses[within][::step]
        # P[no run on the values passed so far]; the whisker ends where that first
        # fails.
        none = np.power(np.maximum(1.0 - np.cumsum(masses), 0.0), runs)
        weights = np.append(1.0, none[:-1]) - none
        weights = weights / weights.sum()
        mean = float(weights @ values)
        return mean, float(weights @ (values - mean) ** 2)


def _moments(values: Array, masses: Array, runs: int) -> Expected:
    mean = float(values @ masses)
    variance = float(masses @ (values - mean) ** 2)
    return Expected(mean, float(np.sqrt(variance / runs)))


def ranked(distances: Array, masses: Array) -> Distances:
    """Return the law of distances (m,) in any order, equal ones put together, masses of
    any sum.
    """
    order = np.argsort(distances, kind="stable")
    values = np.round(distances[order], 12)
    starts = np.flatnonzero(np.diff(values, prepend=-1.0))
    return Distances(
        values[starts], np.add.reduceat(masses[order], starts) / masses.sum()
    )


def of_law(law: Any, metric: Metric = hellinger) -> Distances:
    """Return the distances of one run of a law."""
    if hasattr(law, "outputs") and len(law.outputs) <= _LARGEST_RANKED:
        return Distances(*listed(law, "a distribution").distance_distribution(metric))
    mean = law.mean_distance(metric)
    if mean.how == "drawn":  # fewer draws tell the deviation than the mean
        draws = law.rvs(BLOCK, np.random.default_rng(SEED))
        deviation = float(distances_of(law, draws, metric).std())
    else:
        deviation = float(np.sqrt(law.variance(metric)))
    return Distances(mean + deviation * np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
