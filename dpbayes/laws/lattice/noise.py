"""Noise on the whole vectors that sum to zero: how many there are, which, and how to draw them.

P(z) is proportional to e^(-epsilon |z|_1 / 2). A vector z with sum 0 has |z|_1 = 2m, where m is
the sum of its positive entries, so everything is governed by the number N(m) of such vectors.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from dpbayes import _validate
from dpbayes.laws.lattice import sizes

_LARGEST_TABLE = 20_000_000
_FEW, _LEAST_OF_FEW, _LEAST = 10, 1e-8, 1e-6  # as far as laws without a table were tried
_LONGEST_TABLE = 1 << 20  # longer ones are done without where that is possible
_ROWS, _LONG = 1 << 16, 1 << 20
_NEGLIGIBLE = 80.0  # e^-80 of the largest weight is where tables of weights end


def _log_binomial(n: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1))


def log_numbers(k: int, size: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln of the number of vectors with positive part m and j positive entries.

    Shape (len(size), k - 1) for m in `size` (at least 1) and j = 1 … k-1:
    C(k, j) C(m-1, j-1) C(m+k-j-1, k-j-1), the choice of the positive places, the compositions of
    m into j positive parts and into k - j parts that may be 0. Book: `lem-lattice-count`.
    """
    m = np.asarray(size, dtype=np.float64)[:, None]
    j = np.arange(1.0, k)[None, :]
    fits = np.maximum(m - 1, j - 1)  # C(m-1, j-1) = 0 where m < j; keep gammaln off its poles
    logs = (
        _log_binomial(np.full_like(j, k), j)
        + _log_binomial(fits, j - 1)
        + _log_binomial(m + k - j - 1, k - j - 1)
    )
    return np.where(m >= j, logs, -np.inf)


@lru_cache(maxsize=16)
def log_table(k: int, epsilon: float) -> NDArray[np.float64]:
    """Return ln P(m, j) for m = 0, 1, … (row 0: the zero vector, in its first column).

    The table ends where weights are below e^-80 of the largest. Raises ValueError when epsilon is
    so small that it would not fit in memory.
    """
    top = _top(k, epsilon)
    while True:
        if top * (k - 1) > _LARGEST_TABLE:
            raise ValueError(
                f"epsilon = {epsilon!r} with k = {k} needs a table of {top * (k - 1)} noise "
                f"weights; at most {_LARGEST_TABLE} fit"
            )
        table = np.full((top, k - 1), -np.inf)
        table[0, 0] = 0.0
        # In blocks: at small epsilon what it takes to count is several times the table.
        for start in range(1, top, _ROWS):
            some = np.arange(start, min(start + _ROWS, top))
            table[some] = log_numbers(k, some) - epsilon * some[:, None]
        if table[-1].max() < float(table.max()) - _NEGLIGIBLE:
            break
        top *= 2
    table -= logsumexp([logsumexp(table[some]) for some in _blocks(top)] if top > _LONG else table)
    return _validate.frozen(table)


def _top(k: int, epsilon: float) -> int:
    return int(np.ceil((_NEGLIGIBLE + 2 * k) / epsilon)) + k + 2


def _long(k: int, epsilon: float) -> bool:
    # Otherwise the table is asked for, and refuses what does not fit.
    least = _LEAST_OF_FEW if k <= _FEW else _LEAST
    return epsilon >= least and _top(k, epsilon) * (k - 1) > _LONGEST_TABLE


def _blocks(rows: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, rows, _ROWS)]


def log_normaliser(k: int, epsilon: float) -> float:
    """Return ln Z, Z = sum over all z of e^(-epsilon |z|_1 / 2)."""
    if _long(k, epsilon) or _top(k, epsilon) * (k - 1) <= _LARGEST_TABLE:
        return sizes.log_normaliser(k, epsilon)
    return -float(log_table(k, epsilon)[0, 0])  # which refuses what does not fit


@lru_cache(maxsize=256)
def radius(k: int, epsilon: float, tail: float) -> int:
    """Return the smallest m such that larger positive parts have probability at most `tail`."""
    if _long(k, epsilon):
        return sizes.radius(k, epsilon, tail)
    table = log_table(k, epsilon)
    masses = np.exp(
        np.concatenate([logsumexp(table[some], axis=1) for some in _blocks(len(table))])
    )
    beyond = np.cumsum(masses[::-1])[::-1] - masses
    return int(np.argmax(beyond <= tail))


@lru_cache(maxsize=256)
def tail_mass(k: int, epsilon: float, m: int) -> float:
    """Return the probability of positive parts above m >= 0, or a bound beyond the table."""
    if _long(k, epsilon):
        return sizes.tail_mass(k, epsilon, m)
    beyond = log_table(k, epsilon)[m + 1 :]
    return float(np.exp(logsumexp(beyond))) if beyond.size else float(np.exp(-0.9 * _NEGLIGIBLE))


@lru_cache(maxsize=256)
def number_of_points(k: int, size: int) -> float:
    """Return the number of sum-zero vectors with positive part at most `size`."""
    if size < 1:
        return 1.0
    starts = range(1, size + 1, _ROWS)
    blocks = (np.arange(start, min(start + _ROWS, size + 1)) for start in starts)
    with np.errstate(over="ignore"):  # too many to count are too many to list
        return 1.0 + sum(float(np.exp(logsumexp(log_numbers(k, sizes)))) for sizes in blocks)


def probability_inside(counts: NDArray[np.int64], epsilon: float) -> float:
    """Return the probability that no count becomes negative.

    The generating functions of rho^|z| over z >= -x are closed, and the coefficient of w^0 of their
    product is the mean over a circle, with so many nodes that sums of z that wrap around it weigh
    e^-45 and less. As rho^|z| rises to 1 and falls, each sum is at most 2 / |1 - w|: nodes whose
    product adds no more than that are left out.

    >>> round(probability_inside(np.array([5, 5, 5]), 1.0), 12)
    0.984236633699
    """
    k, n = counts.size, int(counts.sum())
    share = float(np.exp(-log_normaliser(k, epsilon) / k))  # of each, as all may leave the range
    nodes = _unwrapped(k, epsilon)
    # No z is above n - x. With windows that end there so few nodes are enough for any noise.
    short = (k - 1) * n < nodes
    nodes = (k - 1) * n + 1 if short else nodes
    last, total, at_most = nodes // 2, 0.0, 1e-17 * nodes
    for start in range(0, last + 1, _ROWS):
        places = np.arange(start, min(start + _ROWS, last + 1))
        turns = places * (2j * np.pi / nodes)
        product = np.ones(turns.size, dtype=np.complex128)
        fallen, rising = -0.5 * epsilon - turns, turns - 0.5 * epsilon
        for x in counts.tolist():
            below = np.exp(fallen) * np.expm1(x * fallen) / np.expm1(fallen)
            above = np.expm1((n - x + 1) * rising) if short else -1.0
            product *= share * (below + above / np.expm1(rising))
        total += float(product.real @ np.where((places == 0) | (2 * places == nodes), 1.0, 2.0))
        # The sum of (2 / chord)^k beyond, with chord >= 4 place / nodes.
        far = places[-1] / nodes
        if places[-1] and (share * 0.5 / far) ** k * 2.0 * places[-1] <= at_most * (k - 1):
            break
    return total / nodes


def _unwrapped(k: int, epsilon: float) -> int:
    """Return a number such that sums of k independent steps beyond it weigh e^-45 of all at 0.

    By Chernoff: the sum of rho^|z| e^(t z) over all z is (1 - rho^2) / (1 - rho e^t) / (1 - rho
    e^-t).
    """
    half = 0.5 * epsilon
    tilts = half * np.linspace(0.05, 0.98, 32)
    logs = np.log(-np.expm1(-epsilon)) - np.log(-np.expm1(tilts - half))
    logs -= np.log(-np.expm1(-tilts - half))
    return int(((k * logs - log_normaliser(k, epsilon) + 45.0) / tilts).min()) + 2


def points(k: int, size: int) -> NDArray[np.int64]:
    """Return every sum-zero vector of k whole numbers with positive part at most `size`.

    In lexicographic order; each column is one piece of memory.
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

    Draws (m, j), then which j entries are positive, then a uniform composition of m into j
    positive parts and one into k - j parts that may be 0. Book: `thm-lattice-sampler`.
    """
    moved, positives = _drawn_sizes(rng, k, epsilon, size)
    result = np.zeros((size, k), dtype=np.int64)
    for j in range(1, k):
        rows = np.flatnonzero((positives == j - 1) & (moved > 0))
        if rows.size:
            m = moved[rows]
            places = np.argsort(rng.random((rows.size, k)), axis=1, kind="stable")
            gains = _composition(rng, m, j)
            losses = _composition(rng, m + (k - j), k - j) - 1
            values = np.hstack((gains, -losses))
            shuffled = np.empty_like(values)
            np.put_along_axis(shuffled, places, values, axis=1)
            result[rows] = shuffled
    return result


def _drawn_sizes(
    rng: np.random.Generator, k: int, epsilon: float, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positive parts, and how many positive entries there are beyond the first."""
    if not _long(k, epsilon):
        cumulative = np.cumsum(np.exp(log_table(k, epsilon)).ravel())
        cells = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        return np.divmod(np.minimum(cells, cumulative.size - 1), k - 1)
    moved = sizes.draw(rng, k, epsilon, size)
    positives = np.zeros_like(moved)
    for some in _blocks(size):
        logs = log_numbers(k, np.maximum(moved[some], 1))
        shares = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
        chosen = rng.random(len(shares)) * shares[:, -1]
        positives[some] = np.minimum((shares <= chosen[:, None]).sum(axis=1), k - 2)
    return moved, positives


def _composition(
    rng: np.random.Generator, totals: NDArray[np.int64], parts: int
) -> NDArray[np.int64]:
    # A composition of m into p positive parts is a set of p - 1 cuts in 1 … m-1; Floyd's
    # algorithm draws the set without rejection, here for all rows at once.
    cuts = np.zeros((totals.size, parts - 1), dtype=np.int64)
    for i in range(parts - 1):
        top = totals - parts + 1 + i
        cut = rng.integers(1, top + 1)
        taken = (cuts[:, :i] == cut[:, None]).any(axis=1)
        cuts[:, i] = np.where(taken, top, cut)
    edges = np.hstack((np.zeros((totals.size, 1), np.int64), np.sort(cuts, axis=1)))
    ends = np.hstack((edges, totals[:, None]))
    return ends[:, 1:] - ends[:, :-1]
