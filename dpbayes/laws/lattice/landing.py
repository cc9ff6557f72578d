"""Where noisy counts land: the projection of every vector near the simplex, shared by all data.

What a noisy vector is projected to depends on the vector alone. The laws of all histograms of n
records, as a mean over all data needs them, read one table of it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.affinities import row_sums
from dpbayes.laws.lattice.projection import project

LARGEST_TABLE = 1 << 21
SMALL_TABLE = 1 << 16  # takes no longer than a law without it
STAYED = -1


def has_table(n: int, k: int, reach: int, later: int = 1) -> bool:
    """Say whether the table for noise that moves no count by more than `reach` is to be used.

    One that is too large never is. A large one takes longer than a law without it, and is used once
    it was asked for `later` times before.
    """
    size = float(n + 2 * reach + 1) ** (k - 1)
    return size <= LARGEST_TABLE and (size <= SMALL_TABLE or next(_asked(n, k, reach)) >= later)


@functools.lru_cache(maxsize=64)
def _asked(n: int, k: int, reach: int) -> Iterator[int]:
    return itertools.count()


@functools.lru_cache(maxsize=12)
def table(n: int, k: int, reach: int, lost: int, projection: str) -> NDArray[np.int32]:
    """Return where each vector lands, as a row of `compositions(n, k)`, by its `cells`.

    Vectors have total n and entries from -reach to n + reach; those whose negative entries add up
    to more than `lost` are left out. `STAYED` stands for a vector that is a histogram already.

    >>> table(1, 2, 1, 1, "l2").tolist()  # (-1, 2), (0, 1), (1, 0), (2, -1)
    [0, -1, -1, 1]
    """
    width = n + 2 * reach + 1
    free = np.indices((width,) * (k - 1), dtype=np.int64).reshape(k - 1, -1) - reach
    last = n - free.sum(axis=0)
    negative = np.maximum(-free, 0).sum(axis=0) + np.maximum(-last, 0)
    moved = np.flatnonzero((negative > 0) & (negative <= lost) & (np.abs(2 * last - n) < width))
    noisy = np.column_stack((free[:, moved].T, last[moved]))
    result = np.full(last.size, STAYED, dtype=np.int32)
    result[moved] = row_of(project(noisy, projection))
    return _validate.frozen(result)


def cells(shifts: NDArray[np.int64], n: int, reach: int) -> NDArray[np.int64]:
    """Return the places of 0 + each row of `shifts` in the table, shape (N,)."""
    return np.asarray((shifts[:, :-1] + reach) @ _strides(n, shifts.shape[1], reach))


def offset(counts: NDArray[np.int64], reach: int) -> int:
    """Return how much further in the table the places are for counts + each shift."""
    return int(counts[:-1] @ _strides(int(counts.sum()), counts.size, reach))


def _strides(n: int, k: int, reach: int) -> NDArray[np.int64]:
    return np.asarray((n + 2 * reach + 1) ** np.arange(k - 2, -1, -1), dtype=np.int64)


def row_of(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each histogram in the lexicographic table of its total."""
    # C(a + p, p + 1) counts what starts lower, for a records left and p places after this one.
    k = rows.shape[1]
    index = np.zeros(len(rows))
    left = row_sums(rows)
    for column in range(k - 1):
        after = k - column - 1
        index += _rising(left, after) - _rising(left - rows[:, column], after)
        left = left - rows[:, column]
    return np.rint(index).astype(np.int64)


def _rising(records: NDArray[np.int64], places: int) -> NDArray[np.float64]:
    value = np.ones(records.size)
    for i in range(1, places + 1):
        value = value * (records + i) / i
    return value
