"""Sums of long arrays that are made piece by piece, with the digits of numpy's own sum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 13
"""Entries made at a time: few enough to stay in the cache and off the system's own memory calls."""

_EIGHT = 8


def piecewise_sum(size: int, piece: Callable[[int, int], NDArray[np.float64]]) -> float:
    """Return the sum of piece(0, size), asking for at most `AT_ONCE` entries at a time.

    The pieces are those into which numpy's pairwise summation halves an array, and they are added
    as it adds them; so the result is that of `piece(0, size).sum()` to the last digit.

    >>> values = np.random.default_rng(1).random(100_000)
    >>> piecewise_sum(100_000, lambda first, last: values[first:last]) == float(values.sum())
    True
    """

    def added(first: int, last: int) -> float:
        length = last - first
        if length <= AT_ONCE:
            return float(piece(first, last).sum())
        half = length // 2
        half -= half % _EIGHT
        return added(first, first + half) + added(first + half, last)

    return added(0, size)
