"""How large noise on the sum-zero lattice is, without a table: for epsilon as small as one likes.

With q = e^(-epsilon) the numbers N(m) of `noise` have the generating function
sum over j of C(k-1, j)^2 q^j / (1 - q)^(k-1). So m is the sum of a number j below k, with
probability proportional to C(k-1, j)^2 q^j, and of k - 1 geometric variables.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, gammaln, logsumexp


def _log_shares(k: int, epsilon: float) -> NDArray[np.float64]:
    j = np.arange(float(k))
    return np.asarray(2.0 * (gammaln(k) - gammaln(j + 1) - gammaln(k - j)) - epsilon * j)


def log_normaliser(k: int, epsilon: float) -> float:
    """Return the logarithm of the sum of e^(-epsilon |z|_1 / 2) over all z that sum to 0.

    >>> round(log_normaliser(2, 1.0) - float(np.log((1 + np.exp(-1)) / (1 - np.exp(-1)))), 14)
    0.0
    """
    return float(logsumexp(_log_shares(k, epsilon)) - (k - 1) * np.log(-np.expm1(-epsilon)))


def tail_mass(k: int, epsilon: float, m: int) -> float:
    """Return the probability that the positive part of the noise is above m >= 0.

    >>> from dpbayes.laws.lattice import noise
    >>> round(tail_mass(5, 0.3, 20) / noise.tail_mass(5, 0.3, 20), 12)
    1.0
    """
    logs = _log_shares(k, epsilon)
    left = np.arange(m + 1.0, m + 1.0 - k, -1.0)
    beyond = np.where(left > 0, betaincc(k - 1, np.maximum(left, 1.0), -np.expm1(-epsilon)), 1.0)
    return float(np.exp(logs - logsumexp(logs)) @ beyond)


def radius(k: int, epsilon: float, tail: float) -> int:
    """Return the smallest m such that larger positive parts have probability at most `tail`.

    >>> from dpbayes.laws.lattice import noise
    >>> radius(5, 0.3, 1e-12) == noise.radius(5, 0.3, 1e-12)
    True
    """
    most = 1
    while tail_mass(k, epsilon, most) > tail:
        most *= 2
    return bisect_left(range(most + 1), True, key=lambda m: tail_mass(k, epsilon, m) <= tail)


def out_of_order(k: int, epsilon: float, gap: int) -> float:
    """Return a bound on P(some two coordinates of the noise differ by `gap` >= 0 or more).

    For each theta below epsilon / 2, with A(w) = sum over z of rho^|z| w^z, the probability for two
    coordinates is at most e^(-theta gap) A(e^theta)^2 A(1)^(k - 2) over the normaliser (Chernoff).

    >>> tail_mass(4, 1.0, 39) < out_of_order(4, 1.0, 80) < 1e-12
    True
    """
    half = 0.5 * epsilon
    theta = half * (1.0 - np.geomspace(1e-4, 1.0, 200))

    def log_sums(tilt: NDArray[np.float64]) -> NDArray[np.float64]:
        apart = np.log(-np.expm1(-half - tilt)) + np.log(-np.expm1(tilt - half))
        return np.asarray(np.log(-np.expm1(-epsilon)) - apart)

    whole = (k - 2) * log_sums(np.zeros(1)) - log_normaliser(k, epsilon)
    logs = whole + 2.0 * log_sums(theta) - theta * gap + np.log(k * (k - 1) / 2.0)
    return float(np.exp(min(float(logs.min()), 0.0)))


def probability_clamped(counts: NDArray[np.int64], epsilon: float) -> float:
    """Return the probability that some of a few counts become negative, by inclusion and exclusion.

    With rho = e^(-epsilon / 2) the others carry what a set of s counts lacks, x records in all and
    one more each at least. The weight is rho^(x + s) times the coefficient of w^(x + s) of
    (1 - rho^2)^(k - s) / ((1 - rho w)^(k - s) (1 - rho / w)^k).

    >>> round(1.0 - probability_clamped(np.array([5, 5, 5]), 1.0), 12)
    0.984236633699
    """
    k, log = counts.size, log_normaliser(counts.size, epsilon)
    odds = 1.0 / float(np.expm1(epsilon))
    total = 0.0
    for size in range(1, k):
        free = k - size
        for lacking in combinations(counts.tolist(), size):
            lost = sum(lacking) + size
            ways = sum(
                comb(lost + free - 1, free - 1 - j) * comb(k - 1 + j, j) * odds**j
                for j in range(free)
            )
            weight = float(np.exp(-epsilon * lost - size * np.log(-np.expm1(-epsilon)) - log))
            total += weight * ways if size % 2 else -weight * ways
    return total


def draw(rng: np.random.Generator, k: int, epsilon: float, size: int) -> NDArray[np.int64]:
    """Return `size` independent positive parts of the noise.

    >>> rng = np.random.default_rng(1)
    >>> bool(abs(draw(rng, 2, 1e-7, 10_000).mean() * 1e-7 - 1.0) < 0.05)
    True
    """
    logs = _log_shares(k, epsilon)
    steps = rng.choice(k, size, p=np.exp(logs - logsumexp(logs)))
    rates = rng.gamma(k - 1.0, 1.0 / np.expm1(epsilon), size)
    return np.asarray(steps + rng.poisson(rates), dtype=np.int64)
