"""Mechanisms at the same (epsilon, delta): one release, many releases, and what any
could reach.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import signal

from dpbayes import _validate
from dpbayes.laws import gaussian
from dpbayes.laws.lattice import SumZeroLaw
from dpbayes.mechanisms import mechanism

HUGE = 10**10


def bounded_geometric_width(epsilon: float, delta: float) -> int:
    """Return the least m such that geometric noise cut to |z| <= m is (epsilon,
    delta)-private.

    P(z) is proportional to q^|z|, q = e^-epsilon, on -m … m. A neighbour misses one
    outcome, the outermost, and every other ratio is at most e^epsilon, so
    delta(epsilon) = P(Z = m) exactly: q^m (1 - q) / (1 + q - 2 q^(m+1)). Book:
    `thm-bounded-geometric`.
    """
    e, q, m = epsilon, float(np.exp(-epsilon)), 0
    # The left side is -ln P(Z = m); expm1 keeps the digits of small epsilon.
    while m * e + np.log1p(2.0 * q * np.expm1(-m * e) / np.expm1(-e)) < -np.log(delta):
        m += 1
    return m


def lattice_loss_masses(k: int, epsilon: float) -> NDArray[np.float64]:
    """Return P(loss = -epsilon), P(0), P(epsilon) of one lattice release, shape (3,).

    The loss of neighbours x, x + e_j - e_i is (epsilon/2) (|z_i - 1| - |z_i| + |z_j +
    1| - |z_j|). P(loss = -epsilon) = e^-epsilon P(loss = epsilon) gives all three from
    P(loss = 0), which is P(z_i >= 1, z_j >= 0) + P(z_i <= 0, z_j <= -1).
    """
    q = float(np.exp(-0.5 * epsilon))
    # e^(-epsilon t) t^(k-1) is below 1e-30 of its sum from here on.
    top = int(np.ceil((100.0 + 10.0 * k) / epsilon))
    others = np.zeros(2 * top + 1)
    others[top] = 1.0
    for _ in range(k - 2):
        others = _spread(others, q)
    # The pair has sum t: t q^t is its weight with z_i >= 1 and z_j >= 0, and all pairs
    # together weigh (|t| + (1 + q^2) / (1 - q^2)) q^|t|.
    t = np.arange(-top, top + 1)
    power = q ** np.abs(t)
    still = 2.0 * float((np.maximum(t, 0) * power * others).sum())
    every = float(((np.abs(t) + 1.0 / np.tanh(0.5 * epsilon)) * power * others).sum())
    zero = still / every
    plus = (1.0 - zero) / (1.0 + np.exp(-epsilon))
    return np.array([np.exp(-epsilon) * plus, zero, plus])


def _spread(table: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    # The convolution with q^|z|: a recursion up and one down.
    up = signal.lfilter([1.0], [1.0, -q], table)
    down = signal.lfilter([0.0, q], [1.0, -q], table[::-1])[::-1]
    return np.asarray(up + down)


def lattice_delta(k: int, each: float, releases: int, epsilon: float) -> float:
    """Return the exact delta(epsilon) of `releases` lattice releases of parameter
    `each`.
    """
    one, total = lattice_loss_masses(k, each), np.ones(1)
    for _ in range(releases):
        total = np.convolve(total, one)
    excess = each * (np.arange(total.size) - releases) - epsilon
    over = excess > 1e-12
    return float((total[over] * -np.expm1(-excess[over])).sum())


@lru_cache(maxsize=512)
def lattice_share(k: int, epsilon: float, delta: float, releases: int) -> float:
    """Return the largest parameter of each of `releases` lattice releases, (epsilon,
    delta) in all.

    At least epsilon / releases, which needs no delta; none above epsilon is looked for.
    """
    low, high = epsilon / releases, epsilon
    if lattice_delta(k, high, releases, epsilon) <= delta:
        return high
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        enough = lattice_delta(k, middle, releases, epsilon) <= delta
        low, high = (middle, high) if enough else (low, middle)
    return low


def shared_budget(
    k: int, epsilon: float, delta: float, releases: ArrayLike
) -> dict[str, NDArray[np.float64]]:
    """Return the large-n mean distance of each of T `releases` (m,), over that of a
    single one.

    "lattice" and "gauss" (m,), both calibrated by exact composition; equal shares.
    """
    counts, prior = np.full(k, round(HUGE / k)), np.ones(k)

    def mean(e: float) -> float:
        return float(mechanism("lattice", e).law(counts, prior).mean_distance())

    lattice, gauss, one = [], [], mean(epsilon)
    for t in _validate.whole_numbers("releases", releases).tolist():
        lattice.append(mean(lattice_share(k, epsilon, delta, t)) / one)
        noise = gaussian.GaussianNoise(k, gaussian.variance_for(k, epsilon, delta, t))
        gauss.append(float(SumZeroLaw(prior, counts, noise).mean_distance()) / one)
    return {"lattice": np.array(lattice), "gauss": np.array(gauss)}


def first_gaussian_win(
    k: int, epsilon: float, delta: float, largest: int = 200
) -> int | None:
    """Return a T at which Gaussian noise is smaller and at T - 1 is not; None if not at
    `largest`.

    The means are those of `shared_budget`; T is the least one if the order changes
    once.
    """

    def wins(t: int) -> bool:
        found = shared_budget(k, epsilon, delta, [t])
        return bool(found["gauss"][0] < found["lattice"][0])

    return 1 + bisect_left(range(1, largest), True, key=wins) if wins(largest) else None
