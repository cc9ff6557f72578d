"""Noise on the whole vectors that sum to zero: how many there are, which, and how to draw them.

P(z) is proportional to e^(-epsilon |z|_1 / 2). A vector z with sum 0 has |z|_1 = 2m, where m is
the sum of its positive entries, so everything is governed by the number N(m) of such vectors, with
the generating function sum over j of C(k-1, j)^2 q^j / (1 - q)^(k-1): m is the sum of a number j
below k, with probability proportional to C(k-1, j)^2 e^(-epsilon j), and k - 1 geometric variables.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, gammaln, logsumexp

from dpbayes import _validate

_DEPTH = 80.0  # e^-80 of the largest weight is where the table of a draw ends
LARGEST_TABLE = 20_000_000
"""Most numbers in the table of a draw, 160 MB."""


def _log_shares(k: int, epsilon: float) -> NDArray[np.float64]:
    j = np.arange(float(k))
    return np.asarray(2.0 * (gammaln(k) - gammaln(j + 1) - gammaln(k - j)) - epsilon * j)


def log_normaliser(k: int, epsilon: float) -> float:
    """Return the logarithm of the sum of e^(-epsilon |z|_1 / 2) over all z that sum to 0.

    >>> round(log_normaliser(2, 1.0) - float(np.log((1 + np.exp(-1)) / (1 - np.exp(-1)))), 12)
    0.0
    """
    return float(logsumexp(_log_shares(k, epsilon)) - (k - 1) * np.log(-np.expm1(-epsilon)))


def tail_mass(k: int, epsilon: float, m: int) -> float:
    """Return the probability that the positive part of the noise is above m >= 0.

    >>> round(tail_mass(2, 1.0, 3) / (2 * np.exp(-4) / (1 + np.exp(-1))), 12)
    1.0
    """
    logs = _log_shares(k, epsilon)
    left = np.arange(m + 1.0, m + 1.0 - k, -1.0)
    beyond = np.where(left > 0, betaincc(k - 1, np.maximum(left, 1.0), -np.expm1(-epsilon)), 1.0)
    return float(np.exp(logs - logsumexp(logs)) @ beyond)


@lru_cache(maxsize=256)
def radius(k: int, epsilon: float, tail: float) -> int:
    """Return the smallest m such that larger positive parts have probability at most `tail`."""
    most = 1
    while tail_mass(k, epsilon, most) > tail:
        most *= 2
    return bisect_left(range(most + 1), True, key=lambda m: tail_mass(k, epsilon, m) <= tail)


def log_numbers(k: int, size: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln of the number of vectors with positive part m >= 1, for each m in `size`.

    The sum over j of C(k, j) C(m-1, j-1) C(m+k-j-1, k-j-1): the choice of the positive places, the
    compositions of m into j positive parts and into k - j parts that may be 0. Book:
    `lem-lattice-count`.

    >>> np.exp(log_numbers(3, np.array([1, 2]))).round(9).tolist()
    [6.0, 12.0]
    """
    m = np.asarray(size, dtype=np.float64)[:, None]
    j = np.arange(1.0, k)[None, :]
    fits = np.maximum(m - 1, j - 1)  # C(m-1, j-1) = 0 where m < j; keep gammaln off its poles
    logs = (
        _log_binomial(np.full_like(j, k), j)
        + _log_binomial(fits, j - 1)
        + _log_binomial(m + k - j - 1, k - j - 1)
    )
    return np.asarray(logsumexp(np.where(m >= j, logs, -np.inf), axis=1))


def _log_binomial(n: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1))


@lru_cache(maxsize=256)
def number_of_points(k: int, size: int) -> float:
    """Return the number of sum-zero vectors with positive part at most `size`."""
    if size * k > LARGEST_TABLE:
        return float("inf")  # too many to count are too many to list
    with np.errstate(over="ignore"):
        return 1.0 + float(np.exp(log_numbers(k, np.arange(1, size + 1))).sum())


def points(k: int, size: int) -> NDArray[np.int64]:
    """Return every sum-zero vector of k whole numbers with positive part at most `size`.

    In lexicographic order; each column is one piece of memory.

    >>> points(2, 1).tolist()
    [[-1, 1], [0, 0], [1, -1]]
    """
    columns: list[NDArray[np.int64]] = []
    up = np.full(1, size, dtype=np.int64)
    down = up.copy()
    for _ in range(k - 1):
        branches = up + down + 1
        starts = np.cumsum(branches) - branches
        value = np.arange(branches.sum()) - np.repeat(starts + down, branches)
        columns = [np.repeat(column, branches) for column in columns]
        columns.append(value)
        up = np.repeat(up, branches) - np.maximum(value, 0)
        down = np.repeat(down, branches) - np.maximum(-value, 0)
    columns.append(up - down)
    return np.array(columns).T


def draw(rng: np.random.Generator, k: int, epsilon: float, size: int) -> NDArray[np.int64]:
    """Return `size` independent draws of the noise, shape (size, k), for experiments.

    A two-sided geometric entry is the difference u_i - v_i of two geometric ones. So z = u - v with
    sum u = sum v = m, P(m) proportional to C(m+k-1, k-1)^2 e^(-epsilon m), and given m both are
    uniform compositions. Book: `thm-lattice-sampler`.
    """
    cumulative = _cumulative(k, epsilon)
    levels = rng.random(size) * cumulative[-1]
    m = np.minimum(np.searchsorted(cumulative, levels, side="right"), cumulative.size - 1)
    ones = np.ones(k)
    return np.asarray(
        rng.multinomial(m, rng.dirichlet(ones, size)) - rng.multinomial(m, rng.dirichlet(ones, size))
    )


@lru_cache(maxsize=16)
def _cumulative(k: int, epsilon: float) -> NDArray[np.float64]:
    length = int((_DEPTH + 2 * k) / epsilon) + 2 * k
    if length > LARGEST_TABLE:
        raise ValueError(
            f"epsilon = {epsilon!r} with k = {k} needs a table of {length} noise weights for draws; "
            f"at most {LARGEST_TABLE} fit"
        )
    m = np.arange(float(length))
    logs = 2.0 * (gammaln(m + k) - gammaln(m + 1)) - epsilon * m
    return np.asarray(_validate.frozen(np.cumsum(np.exp(logs - logs.max()))))


@dataclass(frozen=True)
class LatticeNoise:
    """The noise for k categories, as `dpbayes.laws.lattice` asks for it."""

    k: int
    epsilon: float

    def fall(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return minus the logarithm of the weight of each step of one category."""
        return np.asarray(0.5 * self.epsilon * np.abs(steps))

    @property
    def log_normaliser(self) -> float:
        """ln of the sum of the weights of all noise vectors."""
        return log_normaliser(self.k, self.epsilon)

    def reach(self, tail: float) -> int:
        """Return a size beyond which noise has probability at most `tail`."""
        return radius(self.k, self.epsilon, tail)

    def outside(self, size: int) -> float:
        """Return the probability of noise beyond this size."""
        return tail_mass(self.k, self.epsilon, size)

    def number_of_points(self, size: int) -> float:
        """Return how many noise vectors there are up to this size."""
        return number_of_points(self.k, size)

    def points(self, size: int) -> NDArray[np.int64]:
        """Return all noise vectors up to this size, shape (N, k)."""
        return points(self.k, size)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent draws, shape (size, k)."""
        return draw(rng, self.k, self.epsilon, size)
