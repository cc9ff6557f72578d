"""What a noisy release says about the true counts: P(x | noisy), listed, a product, or drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from dpbayes.log_gamma import stirling_series

Floats = NDArray[np.float64]
Marginal = tuple[NDArray[np.int64], Floats]
"""Possible values of one count, and their probabilities."""
Joint = tuple[NDArray[np.int64], NDArray[np.int64], Floats]
"""Possible values of one count and of the total, and the probability of each pair."""

_TRIM = 50.0  # factors below e^-50 of the largest are left out
_LARGEST_TOTAL = 2_000_000
_WIDEST = 1 << 22
_LARGE = 1e4  # from here on lnGamma(alpha + x) has lost digits that its change with x needs
_TINY = 1e-290  # below it lnGamma overflows; there Gamma(alpha) is 1 / alpha
_FEWEST = 400  # independent draws that the weighted ones must be worth: errors of a twentieth


def log_prior_factor(alpha: float, values: NDArray[Any]) -> Floats:
    """Return ln(Gamma(alpha + x) / x!), the factor of one category in the Dirichlet-multinomial.

    Up to a constant, for `alpha` of at least 10^4 less lnGamma(alpha), which would drown the rest.

    >>> [log_prior_factor(alpha, np.array([2]))[0].round(3) for alpha in (1.0, 1e300)]
    [np.float64(0.0), np.float64(1380.858)]
    """
    if alpha < _LARGE:
        gammas = gammaln(alpha + values)
        if alpha < _TINY:
            gammas = np.where(values == 0, -np.log(alpha), gammas)
        return np.asarray(gammas - gammaln(values + 1.0))
    start, steps = np.array([alpha]), values.astype(np.float64)
    rise = (alpha + steps - 0.5) * np.log1p(steps / alpha) + steps * (np.log(alpha) - 1.0)
    rise += stirling_series(alpha + steps) - stirling_series(start)
    return np.asarray(rise - gammaln(steps + 1.0))


@dataclass(frozen=True)
class ListedCounts:
    """Histograms (N, k) with their probabilities (N,); their totals may differ."""

    histograms: NDArray[np.int64]
    weights: Floats

    @classmethod
    def from_logs(
        cls, prior: Floats, histograms: NDArray[np.int64], log_likelihood: Floats
    ) -> ListedCounts:
        """Return the posterior from ln P(noisy | x) for each histogram x."""
        logs = log_likelihood + sum(
            log_prior_factor(float(alpha), histograms[:, i]) for i, alpha in enumerate(prior)
        )
        return cls(histograms, np.exp(logs - logsumexp(logs)))

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        return _added_up(self.histograms[:, i], self.weights)

    def joint(self, i: int) -> Joint:
        """Return the distribution of the count of category i together with the total."""
        return self.histograms[:, i], self.histograms.sum(axis=1), self.weights

    def total(self) -> Marginal:
        """Return the distribution of the total."""
        return _added_up(self.histograms.sum(axis=1), self.weights)

    def group(self, indices: Sequence[int]) -> ListedCounts:
        """Return the posterior of the counts of some categories and of their total."""
        return ListedCounts(self.histograms[:, list(indices)], self.weights)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms, shape (size, k)."""
        return np.asarray(self.histograms[rng.choice(self.weights.size, size, p=self.weights)])


@dataclass(frozen=True)
class ProductCounts:
    """A product of one factor a category, times a factor of the total.

    Each factor is an array over x = start, start + 1, …; `of_total` gives the factor of totals from
    `first` on: a single 1 where the total is known. A common factor e^(tilt x) changes nothing, and
    is chosen so that the total is where the unconditioned sum is centred.
    """

    starts: tuple[int, ...]
    factors: tuple[Floats, ...]
    first: int
    of_total: Floats

    @classmethod
    def from_logs(cls, n: int, logs: list[Floats]) -> ProductCounts:
        """Return the posterior for a known total from ln of each factor at x = 0 … n."""
        if n > _LARGEST_TOTAL:
            raise ValueError(
                f"n must be at most {_LARGEST_TOTAL} for a noise-aware posterior, got {n}"
            )
        values = np.arange(n + 1)
        tilt = _tilt(n, logs)
        starts, factors = [], []
        for log_factor in logs:
            tilted = log_factor + tilt * values
            kept = np.flatnonzero(tilted > tilted.max() - _TRIM)
            starts.append(int(kept[0]))
            part = np.exp(tilted[kept[0] : kept[-1] + 1] - tilted.max())
            factors.append(part / part.sum())
        return cls(tuple(starts), tuple(factors), n, np.ones(1))

    @cached_property
    def _before(self) -> list[Floats]:
        return _running(self.factors)

    @cached_property
    def _after(self) -> list[Floats]:
        return _running(self.factors[::-1])[::-1]

    def _others(self, i: int) -> Floats:
        return np.convolve(self._before[i], self._after[i + 1])

    def joint(self, i: int) -> Joint:
        """Return the distribution of the count of category i together with the total."""
        others, low = self._others(i), sum(self.starts) - self.starts[i]
        values = self.starts[i] + np.arange(self.factors[i].size)
        totals = self.first + np.arange(self.of_total.size)
        rest = _at(others, totals[None, :] - values[:, None] - low)
        weights = self.factors[i][:, None] * rest * self.of_total[None, :]
        rows, columns = np.nonzero(weights)
        chosen = weights[rows, columns]
        return values[rows], totals[columns], chosen / chosen.sum()

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        values, _, weights = self.joint(i)
        return _added_up(values, weights)

    def total(self) -> Marginal:
        """Return the distribution of the total."""
        totals = self.first + np.arange(self.of_total.size)
        weights = self.of_total * _at(self._before[-1], totals - sum(self.starts))
        return totals, weights / weights.sum()

    def group(self, indices: Sequence[int]) -> ProductCounts:
        """Return the posterior of the counts of some categories and of their total."""
        chosen = [i for i in range(len(self.factors)) if i not in indices]
        rest = _running([self.factors[i] for i in chosen])[-1]
        # The total of the group is what the others leave.
        low = sum(self.starts[i] for i in chosen)
        of_total = np.convolve(self.of_total, rest[::-1])
        first = self.first - low - (rest.size - 1)
        cut = max(0, -first)
        starts = tuple(self.starts[i] for i in indices)
        factors = tuple(self.factors[i] for i in indices)
        return ProductCounts(starts, factors, first + cut, of_total[cut:])

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms: the total, then the last category, then backwards."""
        totals, weights = self.total()
        left = rng.choice(totals, size, p=weights) - sum(self.starts)
        result = np.empty((size, len(self.factors)), dtype=np.int64)
        for i in range(len(self.factors) - 1, 0, -1):
            steps = np.arange(self.factors[i].size)
            known, rows = np.unique(left, return_inverse=True)
            table = self.factors[i] * _at(self._before[i], known[:, None] - steps)
            cumulative = np.cumsum(table, axis=1)
            aim = rng.random(size) * cumulative[rows, -1]
            result[:, i] = (cumulative[rows] <= aim[:, None]).sum(axis=1)
            left = left - result[:, i]
        result[:, 0] = left
        return np.asarray(result + np.array(self.starts))


def drawn_counts(
    prior: Floats,
    centres: Sequence[int],
    likelihoods: Sequence[Callable[[NDArray[np.int64]], Floats]],
    rng: np.random.Generator,
    size: int,
) -> ListedCounts:
    """Return weighted draws of counts with a secret total, each total equally likely.

    `likelihoods` give ln P(noisy | x) for each category, largest about `centres`.
    The counts are drawn one by one with the factor of the total replaced by a tilt, and weighted by
    what that leaves out. Raises ValueError where the weights leave too few draws.
    """
    mass, tilt = np.array([prior.sum()]), 0.0
    for _ in range(50):
        windows = [
            _window(float(a), y, of, tilt)
            for a, y, of in zip(prior, centres, likelihoods, strict=True)
        ]
        expected = sum(float(weights @ values) for values, weights in windows)
        wanted = float((1.0 - mass[0]) / (expected + max(1.0, mass[0] / 2.0)))
        if abs(wanted - tilt) < 1e-6 * (1.0 + abs(tilt)):
            break
        tilt = 0.5 * (tilt + wanted)
    drawn = np.stack([rng.choice(v, size, p=w) for v, w in windows], axis=1)
    totals = drawn.sum(axis=1)
    logs = -log_prior_factor(float(mass[0]), totals) - tilt * totals
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    worth = 1.0 / float(weights @ weights)
    if worth < min(_FEWEST, size):
        raise ValueError(
            "epsilon must be larger, or the prior nearer to 1, for a noise-aware reading of a "
            f"secret number of records: {size} draws are worth {worth:.0f}"
        )
    return ListedCounts(drawn, weights)


def _window(
    alpha: float, y: int, likelihood: Callable[[NDArray[np.int64]], Floats], tilt: float
) -> Marginal:
    """Return the values that one count may have, and its tilted factor, summing to 1."""
    reach = 64
    while reach <= _WIDEST:
        values = np.arange(max(0, y - reach), max(0, y) + reach + 1)
        logs = log_prior_factor(alpha, values) + likelihood(values) + tilt * values
        logs -= logs.max()
        kept = logs > -_TRIM
        if not (kept[-1] or (kept[0] and values[0] > 0)):
            weights = np.exp(logs[kept])
            return values[kept], weights / weights.sum()
        reach *= 2
    raise ValueError(
        f"epsilon must be larger, or the prior nearer to 1: a noisy count of {y} leaves more than "
        f"{_WIDEST} possible counts open"
    )


def _tilt(n: int, logs: list[Floats]) -> float:
    values = np.arange(n + 1)

    def excess(tilt: float) -> float:
        means = 0.0
        for log_factor in logs:
            tilted = log_factor + tilt * values
            weights = np.exp(tilted - tilted.max())
            means += float(weights @ values) / float(weights.sum())
        return means - n

    low, high = -1.0, 1.0
    while excess(low) > 0.5:
        low *= 2.0
    while excess(high) < -0.5:
        high *= 2.0
    if excess(low) * excess(high) >= 0.0:  # an end within half a record
        return low if abs(excess(low)) < abs(excess(high)) else high
    return float(brentq(excess, low, high, xtol=0.25 / max(n, 1) ** 2))


def _running(factors: Sequence[Floats]) -> list[Floats]:
    """Return the laws of the sums of the first 0, 1, 2, … counts, less their starts."""
    sums = [np.ones(1)]
    for factor in factors:
        sums.append(np.convolve(sums[-1], factor))
    return sums


def _at(values: Floats, index: NDArray[np.int64]) -> Floats:
    inside = (index >= 0) & (index < values.size)
    return np.asarray(np.where(inside, values[np.clip(index, 0, values.size - 1)], 0.0))


def _added_up(values: NDArray[np.int64], weights: Floats) -> Marginal:
    """Return the different values and the sum of the weights of each."""
    places, inverse = np.unique(values, return_inverse=True)
    return places, np.bincount(inverse.ravel(), weights).astype(np.float64)
