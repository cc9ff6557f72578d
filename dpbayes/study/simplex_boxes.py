"""Boxes of data sets of n records over k categories, so that thousands of records can be gone over.

Small counts are levels of their own, larger ones share a level with others of almost their size. A
box is all histograms whose k - 1 smallest counts, sorted, have given levels; their largest count is
what the total leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.study.simplex_windows import Array, Numbers

LARGEST_RATIO = 1.5
"""Most by which the counts of a level differ, as a factor."""

LARGEST_TABLE = 30_000_000
"""Most rows of sorted levels, whether any histogram has them or not."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """All histograms of n records over k categories, by boxes.

    `starts` (L,) is the first count of each level, `ends` (L,) the last. `levels` (M, k - 1) are
    sorted upwards; between `low` and `high`, both (M, k), are the sorted counts of every histogram
    of the box; `rows` (M,) is how many histograms it has, in any order of the counts. `places`
    (M,) is the number of the box among all sorted rows of levels, those without histograms too.
    """

    n: int
    k: int
    starts: Numbers
    ends: Numbers
    levels: NDArray[np.int16]
    low: Numbers
    high: Numbers
    rows: Numbers
    places: Numbers

    def mean(self, values: Array) -> float:
        """Return the mean over all histograms of a value (M,) that is the same in each box."""
        return float(values @ self.rows / self.rows.sum())

    @property
    def size(self) -> int:
        """How many sorted rows of levels there are."""
        return comb(len(self.starts) + self.k - 2, self.k - 1)

    def level_of(self, counts: Numbers) -> NDArray[np.int16]:
        """Return the level of each count, 0 for those below 0."""
        found = np.searchsorted(self.starts, counts, side="right") - 1
        return np.maximum(found, 0).astype(np.int16)

    def counters(self) -> NDArray[np.int32]:
        """Return what each level adds to the place of a row in each column, shape (k - 1, L)."""
        return _counters(len(self.starts), self.k - 1)

    def highest(self, values: Array, exact: int, most: int | None = None) -> Array:
        """Return for every place the largest value of the boxes that lie above it.

        Their levels are the same where they are below `exact`, elsewhere the same or higher, by
        no more than `most` if that is given; -inf where there is no such box.
        """
        size, columns = len(self.starts), self.k - 1
        found = np.full(self.size, -np.inf)
        found[self.places] = values
        every, counters = sorted_rows(size, columns), self.counters().astype(np.int64)
        for j in range(columns):
            # The levels to the right are as high as they shall be once theirs is the turn.
            room = (size - 1 if j == columns - 1 else every[:, j + 1]) - every[:, j]
            at = np.flatnonzero((room > 0) & (every[:, j] >= exact))
            if most is not None:
                here, level = found.copy(), every[:, j]
                for up in range(1, most + 1):
                    at = at[room[at] >= up]
                    above = here[at + counters[j, level[at] + up] - counters[j, level[at]]]
                    found[at] = np.maximum(found[at], above)
                continue
            at = at[np.argsort(every[at, j], kind="stable")]
            cuts = np.searchsorted(every[at, j], np.arange(size))
            for low in range(size - 2, -1, -1):
                some = at[cuts[low] : cuts[low + 1]]
                above = found[some + counters[j, low + 1] - counters[j, low]]
                found[some] = np.maximum(found[some], above)
        return found

    def spread(self, values: Array, exact: int, most: int) -> Array:
        """Return for every place the largest value (size,) of the places that lie below it.

        Their levels are the same where they are below `exact`, elsewhere the same or lower, by no
        more than `most`.
        """
        found, columns = values.copy(), self.k - 1
        every, counters = sorted_rows(len(self.starts), columns), self.counters()
        for j in reversed(range(columns)):
            before = every[:, j - 1] if j else np.zeros(len(every), np.int16)
            room = every[:, j] - np.maximum(before, exact)
            at, here, level = np.flatnonzero(room > 0), found.copy(), every[:, j]
            for down in range(1, most + 1):
                at = at[room[at] >= down]
                below = here[at + counters[j, level[at] - down] - counters[j, level[at]]]
                found[at] = np.maximum(found[at], below)
        return found

    def span(self, radius: int) -> int:
        """Return over how many levels more than one a level can lie that is moved by `radius`."""
        moves = np.arange(-radius, radius + 1)[:, None]
        up = self.level_of(np.minimum(self.ends + moves, self.n)) - self.level_of(
            self.starts + moves
        )
        return int(up.max())


def boxes(n: int, k: int, ratio: float, singles: int) -> Boxes:
    """Return the boxes whose levels are the counts 0 … `singles`, then intervals m … m `ratio`.

    Raises ValueError where there are more than `LARGEST_TABLE` rows of levels.

    >>> found = boxes(1000, 4, 1.1, 6)
    >>> len(found.starts), len(found.rows), int(found.rows.sum())
    (64, 28685, 167668501)
    """
    return boxes_from(n, k, _starts(n, ratio, singles))


def boxes_from(n: int, k: int, starts: Numbers) -> Boxes:
    """Return the boxes whose levels begin at the counts `starts`, which rise from 0 to n at most.

    Raises ValueError where there are more than `LARGEST_TABLE` rows of levels.

    >>> boxes_from(9, 3, np.array([0, 1, 3])).high.tolist()
    [[0, 0, 9], [0, 2, 8], [0, 9, 6], [2, 2, 7], [2, 9, 5], [9, 9, 3]]
    """
    ends = np.append(starts[1:] - 1, n)
    size = comb(len(starts) + k - 2, k - 1)
    if size > LARGEST_TABLE:
        raise ValueError(
            f"{len(starts)} levels make {size} rows of {k - 1} levels; at most {LARGEST_TABLE} are "
            "gone through: take wider levels"
        )
    levels = sorted_rows(len(starts), k - 1)
    places = np.flatnonzero(n - starts[levels].sum(axis=1) >= starts[levels[:, -1]])
    places = places[np.lexsort(levels[places].T[::-1])]
    levels = levels[places]
    low, high = starts[levels], ends[levels]
    rows = _rows(n, levels, low, high)
    some = rows > 0
    levels, places, rows, low, high = levels[some], places[some], rows[some], low[some], high[some]
    # The largest count is what the others leave, and no smaller than they are.
    last = np.maximum(n - high.sum(axis=1), np.maximum(low[:, -1], -(-n // k)))
    low, high = np.column_stack([low, last]), np.column_stack([high, n - low.sum(axis=1)])
    return Boxes(n, k, starts, ends, levels, low, high, rows, places)


def alike(levels: NDArray[np.int16], most: int) -> list[Numbers]:
    """Return the numbers of all rows of `levels` in groups of at most so many near each other.

    >>> [at.tolist() for at in alike(np.array([[0, 0], [5, 5], [5, 6], [0, 1]], np.int16), 2)]
    [[0, 3], [1, 2]]
    """
    parts, found = [np.arange(len(levels))], []
    while parts:
        at = parts.pop()
        if len(at) <= most:
            found.append(at)
            continue
        # Cut in two across the column in which the levels differ most.
        column = int(np.ptp(levels[at], axis=0).argmax())
        at = at[np.argsort(levels[at, column], kind="stable")]
        parts += [np.sort(at[len(at) // 2 :]), np.sort(at[: len(at) // 2])]
    return found


def _counters(size: int, columns: int) -> NDArray[np.int32]:
    table = [[comb(level + j, j + 1) for level in range(size)] for j in range(columns)]
    return np.array(table, dtype=np.int32)


def sorted_rows(size: int, columns: int) -> NDArray[np.int16]:
    """Return all rows of levels below `size` that do not fall, by the last column, then the others.

    >>> sorted_rows(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    at, found = np.arange(comb(size + columns - 1, columns)), []
    for starts in _counters(size, columns)[::-1].astype(np.int64):
        level = np.searchsorted(starts, at, side="right") - 1
        at = at - starts[level]
        found.append(level.astype(np.int16))
    return np.column_stack(found[::-1])


def _starts(n: int, ratio: float, singles: int) -> Numbers:
    starts, count = [], 0
    while count <= n:
        starts.append(count)
        count += 1 if count <= singles else max(1, int((ratio - 1.0) * count))
    return np.array(starts)


def _rows(n: int, levels: NDArray[np.int16], low: Numbers, high: Numbers) -> Numbers:
    # Either the largest count has a level above all others, or the same as the next.
    k = low.shape[1] + 1
    over = np.zeros(len(low), dtype=np.int64)
    top = n - 1 - high[:, -1] - low.sum(axis=1)  # what the others have above `low`, at most
    widths = high - low + 1
    for chosen in product((0, 1), repeat=k - 1):
        left = top - widths @ np.array(chosen)
        over += (-1) ** sum(chosen) * _choose(left + k - 1, k - 1)
    low, widths = np.column_stack([low, low[:, -1]]), np.column_stack([widths, widths[:, -1]])
    tied = np.zeros(len(low), dtype=np.int64)
    for chosen in product((0, 1), repeat=k):
        left = n - low.sum(axis=1) - widths @ np.array(chosen)
        tied += (-1) ** sum(chosen) * _choose(left + k - 1, k - 1)
    both = np.column_stack([levels, levels[:, -1]])
    return np.asarray(over * k * _orders(levels) + tied * _orders(both))


def _choose(n: Numbers, r: int) -> Numbers:
    # C(n, r) in whole numbers, 0 for n < r.
    found = np.ones(n.shape, dtype=np.int64)
    n = np.maximum(n, r - 1)
    for i in range(r):
        found = found * (n - i) // (i + 1)
    return found


def _orders(sorted_rows: NDArray[np.int16]) -> Numbers:
    # In how many orders the entries of each row can stand.
    run = np.ones(len(sorted_rows), dtype=np.int64)
    same = run.copy()
    for i in range(1, sorted_rows.shape[1]):
        run = np.where(sorted_rows[:, i] == sorted_rows[:, i - 1], run + 1, 1)
        same *= run
    return np.asarray(factorial(sorted_rows.shape[1]) // same)


def given(
    n: int, epsilon: float, k: int, prior: float, ratio: float
) -> tuple[int, float, int, float, float]:
    """Return the arguments of a bound by boxes, checked.

    >>> given(60, 5, 4, 1, 1.1)
    (60, 5.0, 4, 1.0, 1.1)
    """
    size, parts = _validate.integer("n", n, minimum=2), _validate.integer("k", k, minimum=3)
    budget, a = _validate.positive("epsilon", epsilon), _validate.positive("prior", prior)
    wide = _validate.real("ratio", ratio)
    if not 1.0 <= wide <= LARGEST_RATIO:
        raise ValueError(f"ratio must be in [1, {LARGEST_RATIO}], got {ratio!r}")
    return size, budget, parts, a, wide
