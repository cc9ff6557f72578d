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

from dpbayes.laws.convolution import LARGEST_TABLE, Tilted
from dpbayes.laws.powers import DEPTH


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

    >>> round(float(tail_mass(2, 1.0, 3) / (2 * np.exp(-4) / (1 + np.exp(-1)))), 12)
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


@lru_cache(maxsize=256)
def number_of_points(k: int, size: int) -> float:
    """Return the number of sum-zero vectors with positive part at most `size`.

    With positive part m there are as many as the sum over j of C(k-1, j)^2 C(m-j+k-2, k-2), the
    coefficient of q^m above; up to `size` C(size-j+k-1, k-1) takes the last place. Book:
    `lem-lattice-count`.

    >>> number_of_points(3, 1), number_of_points(3, 2)
    (7.0, 19.0)
    """
    j = np.arange(min(k, size + 1), dtype=np.float64)
    ways = gammaln(size - j + k) - gammaln(size - j + 1.0) - gammaln(k)
    with np.errstate(over="ignore"):  # too many to count are too many to list
        return float(np.rint(np.exp(logsumexp(_log_shares(k, 0.0)[: j.size] + ways))))


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

    All entries but one are drawn as independent two-sided geometric variables, and kept with the
    probability that the last one makes the sum 0. Book: `thm-lattice-sampler`.
    """
    return _tilted(k, epsilon).draw(rng, size)


@lru_cache(maxsize=16)
def _tilted(k: int, epsilon: float) -> Tilted:
    reach = int(2.0 * DEPTH / epsilon) + 2
    if 2 * reach > LARGEST_TABLE:
        raise ValueError(
            f"epsilon = {epsilon!r} needs a table of {2 * reach} noise weights for draws; "
            f"at most {LARGEST_TABLE} fit"
        )
    steps = np.arange(-reach, reach + 1)
    return Tilted(-0.5 * epsilon * np.abs(steps)[None], -reach, np.array([k]))


@dataclass(frozen=True)
class LatticeNoise:
    """The noise for k categories: what `dpbayes.laws.lattice` asks of it.

    `fall` is minus ln of the weight of a step of one category, `reach(tail)` a size beyond which
    noise has probability at most `tail`, `outside(size)` a bound on what is beyond, `points(size)`
    all noise (N, k) up to a size, and `draw` gives independent noise (size, k).
    """

    k: int
    epsilon: float

    def fall(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(0.5 * self.epsilon * np.abs(steps))

    @property
    def log_normaliser(self) -> float:
        return log_normaliser(self.k, self.epsilon)

    def reach(self, tail: float) -> int:
        return radius(self.k, self.epsilon, tail)

    def outside(self, size: int) -> float:
        return tail_mass(self.k, self.epsilon, size)

    def number_of_points(self, size: int) -> float:
        return number_of_points(self.k, size)

    def points(self, size: int) -> NDArray[np.int64]:
        return points(self.k, size)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        return draw(rng, self.k, self.epsilon, size)
