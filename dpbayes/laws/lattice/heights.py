"""Blocks of heights above a level of the projection: single heights, or many joined to one."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Heights:
    """Windows `low` … `high` (k,) of noisy counts above level t, and blocks of heights.

    Blocks are single heights where windows overlap. Where only one window reaches, only its
    category can be the last payer and all others are constant, so that heights are joined. With
    `total` records nothing is higher than total + 1 above the level, and only one category more
    than total // 2 + 1: what a joined block adds there belongs to larger totals. Blocks are not
    listed: however long the windows are, there are a few stretches of them.

    >>> Heights(np.array([4, 7]), np.array([9, 20]), level=3).edges.tolist()
    [4, 7, 8, 9, 10, 21]
    """

    def __init__(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        level: int,
        total: int | None = None,
    ) -> None:
        self.low = np.maximum(low, level + 1)
        self.high = np.maximum(high, level)
        if total is not None:
            self.high = np.minimum(self.high, level + 1 + total)
        filled = self.high >= self.low
        first, last = self.low[filled], self.high[filled]
        self._stop = int(self.high.max()) + 1
        bottom = min(int(self.low.min()), self._stop)
        alone = self._stop if total is None else max(level + 2 + total // 2, bottom)
        alone = min(alone, self._stop)
        starts = np.unique(np.concatenate((first, last + 1, [bottom, alone, self._stop])))
        covered = (first[:, None] <= starts) & (starts <= last[:, None])
        shared = (covered.sum(axis=0) > 1) & (starts < alone)
        starts, shared = starts[:-1], shared[:-1]
        kept = starts <= alone
        self._starts = np.append(starts[kept], self._stop)
        self._single = shared[kept] | (np.diff(self._starts) == 1)
        sizes = np.where(self._single, np.diff(self._starts), 1)
        self._numbers = np.append(0, np.cumsum(sizes, dtype=np.int64))

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self._numbers[-1])

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """Where blocks start, and the last one ends."""
        return self.at(np.arange(self.blocks + 1))

    def at(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where these blocks start; the one after the last starts where the last ends."""
        stretch = np.searchsorted(self._numbers, blocks, side="right") - 1
        return np.asarray(self._starts[stretch] + blocks - self._numbers[stretch])

    def _starting(self, heights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the blocks that start at some of these heights, in rising order."""
        inside = np.unique(heights[(heights >= self._starts[0]) & (heights < self._stop)])
        stretch = np.searchsorted(self._starts, inside, side="right") - 1
        away = inside - self._starts[stretch]
        found = (away == 0) | self._single[stretch]
        return np.asarray((self._numbers[stretch] + away)[found])

    def some(self, step: int, kinks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first of every `step` single blocks, all others, and those at kinks.

        Last comes the number of all blocks.
        """
        bottom, parts = int(self._starts[0]), [self._numbers, self._starting(kinks)]
        for start, stop, single in zip(
            self._starts[:-1].tolist(),
            self._starts[1:].tolist(),
            self._single.tolist(),
            strict=True,
        ):
            if single:
                first = start + (bottom - start) % step
                parts.append(self._starting(np.arange(first, stop, step)))
        return np.unique(np.concatenate(parts))

    def panels(self, kept: NDArray[np.int64], kinks: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the kept blocks as ranges of single heights, and joined blocks by themselves."""
        return self.ranges(kept, kept + 1, kinks)

    def ranges(
        self, first: NDArray[np.int64], stop: NDArray[np.int64], kinks: NDArray[np.int64]
    ) -> list[tuple[int, int]]:
        """Return what `panels` does for blocks from each `first` to before each `stop`.

        Each of these ranges, in rising order, is one joined block or has only single heights.
        """
        joined = self.at(first + 1) - self.at(first) > 1
        cut = (first[1:] != stop[:-1]) | joined[1:] | joined[:-1]
        starts = first[np.append(True, cut)]
        ends = stop[np.append(cut, True)]
        turns = self._starting(kinks)
        found = []
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True):
            inner = turns[(turns > a) & (turns < b)].tolist()
            found += list(pairwise([a, *inner, b]))
        return found

    def merged(
        self, kept: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], slice | NDArray[np.int64]]:
        """Return edges of the kept blocks, what lies between them joined, and the kept places."""
        if kept is None:
            return self.edges, slice(None)
        ends = (self.edges[[0, -1]], self.edges[kept], self.edges[kept + 1])
        edges = np.unique(np.concatenate(ends))
        return edges, np.searchsorted(edges, self.edges[kept])

    def groups(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> list[tuple[slice, NDArray[np.bool_]]]:
        """Return which blocks lie alike to all windows, and which windows (k,) they meet."""
        below = self.high[:, None] < starts
        above = self.low[:, None] >= ends
        turns = np.diff(below, axis=1) | np.diff(above, axis=1)
        cuts = [0, *(np.flatnonzero(turns.any(axis=0)) + 1).tolist(), starts.size]
        return [(slice(a, b), ~(below | above)[:, a]) for a, b in pairwise(cuts)]

    def sums(self, i: int, terms: NDArray[Any], edges: NDArray[np.int64]) -> NDArray[Any]:
        """Return the sums between edges of `terms` (j, heights of category i, nodes)."""
        shape = (terms.shape[0], edges.size - 1, terms.shape[2])
        result = np.zeros(shape, dtype=terms.dtype)
        if terms.shape[1]:
            first = int(np.searchsorted(edges, self.low[i], side="right")) - 1
            last = int(np.searchsorted(edges, self.high[i], side="right")) - 1
            starts = np.maximum(edges[first : last + 1] - self.low[i], 0)
            result[:, first : last + 1] = np.add.reduceat(terms, starts, axis=1)
        return result
