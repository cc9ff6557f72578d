"""What a noisy release says about the true counts: P(x | noisy) over all histograms of n records.

With a Dirichlet prior the counts are Dirichlet-multinomial before the release, a product over
the categories but for sum x = n; noise that acts on each count keeps it a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpbayes.releasing.counting import Joint, Marginal, added_up, log_prior_factor, pick
from dpbayes.releasing.secret_counts import UnknownTotal, group_of_known

_TRIM = 50.0  # factors below e^-50 of the largest are left out
_LARGEST_TOTAL = 2_000_000


class CountPosterior(Protocol):
    """The distribution of the true counts given what was released."""

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        ...

    def joint(self, i: int) -> Joint:
        """Return the distribution of the count of category i together with the total."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms, shape (size, k)."""
        ...

    def group(self, indices: Sequence[int]) -> CountPosterior:
        """Return the posterior of the counts of some categories and of their total."""
        ...


@dataclass(frozen=True)
class ListedGroup:
    """Counts (N, m) of a group of categories, whose total differs, with probabilities (N,)."""

    histograms: NDArray[np.int64]
    weights: NDArray[np.float64]

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of one of the counts."""
        return added_up(self.histograms[:, i], self.weights)

    def joint(self, i: int) -> Joint:
        """Return the distribution of one of the counts together with the total."""
        return self.histograms[:, i], self.histograms.sum(axis=1), self.weights

    def total(self) -> Marginal:
        """Return the distribution of the total."""
        return added_up(self.histograms.sum(axis=1), self.weights)

    def group(self, indices: Sequence[int]) -> ListedGroup:
        """Return the posterior of the counts of some of these categories."""
        return ListedGroup(self.histograms[:, list(indices)], self.weights)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent counts of the group, shape (size, m)."""
        return self.histograms[pick(rng, self.weights, size)]


@dataclass(frozen=True)
class ListedCounts:
    """Histograms (N, k) with their probabilities (N,)."""

    histograms: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def from_logs(
        cls,
        prior: NDArray[np.float64],
        histograms: NDArray[np.int64],
        log_likelihood: NDArray[np.float64],
    ) -> ListedCounts:
        """Return the posterior from ln P(noisy | x) for each histogram x."""
        logs = np.asarray(log_likelihood, dtype=np.float64).copy()
        for i, alpha in enumerate(prior):
            logs += log_prior_factor(float(alpha), histograms[:, i])
        return cls(histograms, np.exp(logs - logsumexp(logs)))

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        return added_up(self.histograms[:, i], self.weights)

    def joint(self, i: int) -> Joint:
        """Return the distribution of the count of category i beside the known total."""
        values, weights = self.marginal(i)
        return values, np.full_like(values, self.histograms[0].sum()), weights

    def group(self, indices: Sequence[int]) -> ListedGroup:
        """Return the posterior of the counts of some categories and of their total."""
        return ListedGroup(self.histograms[:, list(indices)], self.weights)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms, shape (size, k)."""
        return self.histograms[pick(rng, self.weights, size)]


@dataclass(frozen=True)
class ProductCounts:
    """A product of one factor a category, conditioned on the total n.

    Each factor is an array over x = start, start + 1, …; a common factor e^(tilt x) changes
    nothing, and is chosen so that the total n is where the unconditioned sum is centred.
    """

    n: int
    starts: tuple[int, ...]
    factors: tuple[NDArray[np.float64], ...]

    @classmethod
    def from_logs(cls, n: int, logs: list[NDArray[np.float64]]) -> ProductCounts:
        """Return the posterior from ln of each factor at x = 0 … n."""
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
            first, last = int(kept[0]), int(kept[-1])
            starts.append(first)
            part = np.exp(tilted[first : last + 1] - tilted.max())
            factors.append(part / part.sum())
        return cls(n, tuple(starts), tuple(factors))

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.factors)

    @cached_property
    def _prefixes(self) -> list[NDArray[np.float64]]:
        return _running(self.factors)

    @cached_property
    def _suffixes(self) -> list[NDArray[np.float64]]:
        return _running(self.factors[::-1])[::-1]

    def marginal(self, i: int) -> Marginal:
        """Return the distribution of the count of category i."""
        before = self._prefixes[i - 1] if i > 0 else np.ones(1)
        after = self._suffixes[i + 1] if i + 1 < self.k else np.ones(1)
        others = np.convolve(before, after)
        rest = self.n - sum(self.starts) - np.arange(self.factors[i].size)
        weights = self.factors[i] * _at(others, rest)
        return self.starts[i] + np.arange(weights.size), weights / weights.sum()

    def joint(self, i: int) -> Joint:
        """Return the distribution of the count of category i beside the known total."""
        values, weights = self.marginal(i)
        return values, np.full_like(values, self.n), weights

    def group(self, indices: Sequence[int]) -> UnknownTotal:
        """Return the posterior of the counts of some categories and of their total."""
        return group_of_known(self.n, self.starts, self.factors, indices)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent histograms: the last category first, then backwards."""
        left = np.full(size, self.n - sum(self.starts))
        result = np.empty((size, self.k), dtype=np.int64)
        for i in range(self.k - 1, 0, -1):
            steps = np.arange(self.factors[i].size)
            for total in np.unique(left):
                rows = np.flatnonzero(left == total)
                weights = self.factors[i] * _at(self._prefixes[i - 1], total - steps)
                result[rows, i] = pick(rng, weights, rows.size)
            left = left - result[:, i]
        result[:, 0] = left
        return np.asarray(result + np.array(self.starts))


def _tilt(n: int, logs: list[NDArray[np.float64]]) -> float:
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
    for _ in range(40):
        middle = (low + high) / 2.0
        off = excess(middle)
        if abs(off) <= 0.5:
            return middle
        low, high = (low, middle) if off > 0 else (middle, high)
    return (low + high) / 2.0


def _running(factors: tuple[NDArray[np.float64], ...]) -> list[NDArray[np.float64]]:
    sums = [factors[0]]
    for factor in factors[1:]:
        sums.append(np.convolve(sums[-1], factor))
    return sums


def _at(values: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.float64]:
    inside = (index >= 0) & (index < values.size)
    return np.asarray(np.where(inside, values[np.clip(index, 0, values.size - 1)], 0.0))
