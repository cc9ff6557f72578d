"""Bounds from above for sums of a power of the affinity, at the price of a few hundred numbers.

They tell which terms of a series cannot matter, before any window is made for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts

_GROWTH = 1.1
_AT_ONCE = 1 << 20


def log_ceilings(
    prior: NDArray[np.float64], counts: NDArray[np.int64], exponents: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each exponent s > 0 a number that ln Z(s) does not exceed, shape (m,).

    Z(s) = sum over r of BC^s is at most the product over all categories but one of
    S_i(s) = sum_d exp(s psi_i(d)), because the last count follows from the others. Psi falls on
    either side of d = 0, so a block of steps weighs at most its number times its first factor.
    Book: `thm-ceiling`.

    >>> from dpbayes.laws.series.candidate_sums import AffinitySums
    >>> prior, counts, power = np.ones(3), np.array([9, 4, 2]), np.array([1.0])
    >>> exact = AffinitySums(prior, counts, 1.0).log_sums(power)[0]
    >>> bool(0.0 < log_ceilings(prior, counts, power)[0] - exact[0] < 1.0)
    True
    """
    n = int(counts.sum())
    pairs = np.column_stack((prior, counts.astype(np.float64)))
    different, copies = np.unique(pairs, axis=0, return_counts=True)
    sums = np.array(
        [_log_side_sums(float(a), int(x), n, exponents) for a, x in different], dtype=np.float64
    )
    return np.asarray(copies @ sums - sums.max(axis=0))


def _log_side_sums(
    prior: float, count: int, n: int, exponents: NDArray[np.float64]
) -> NDArray[np.float64]:
    # ln of 1 + the blocks below + the blocks above; every term is at most n + 1.
    total = np.ones(exponents.size)
    for sign, most in ((-1, count), (1, n - count)):
        starts = _starts(most)
        if not starts.size:
            continue
        lengths = np.diff(starts, append=most + 1).astype(np.float64)
        psi = affinity_of_counts(prior, count, count + sign * starts)
        rows = max(1, _AT_ONCE // starts.size)
        for first in range(0, exponents.size, rows):
            some = slice(first, first + rows)
            total[some] += np.exp(np.outer(exponents[some], psi)) @ lengths
    return np.log(total)


def _starts(most: int) -> NDArray[np.int64]:
    """Return the first steps of blocks that cover 1 … most, each about a tenth of its start long.

    >>> _starts(25).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24]
    """
    found, at = [], 1
    while at <= most:
        found.append(at)
        at = max(at + 1, int(at * _GROWTH))
    return np.array(found, dtype=np.int64)
