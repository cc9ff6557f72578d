"""How large noise on the sum-zero lattice is, without a table: for epsilon as small as one likes.

With q = e^(-epsilon) the numbers N(m) of `noise` have the generating function
sum over j of C(k-1, j)^2 q^j / (1 - q)^(k-1). So m is the sum of a number j below k, with
probability proportional to C(k-1, j)^2 q^j, and of k - 1 geometric variables.
"""

from __future__ import annotations

from bisect import bisect_left

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
