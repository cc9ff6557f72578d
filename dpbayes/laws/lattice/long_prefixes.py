"""`Prefixes` of a category that may release very many counts: from a few values on panels."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice.circles import Nodes
from dpbayes.laws.lattice.long_sums import CHANGE, Panels, RunningSums, panels_between, running_sums
from dpbayes.laws.lattice.panel_polynomials import Floats, Whole, phases
from dpbayes.laws.lattice.prefixes import NOTHING, Blocks, Category, Edges, Prefixes

_MOST_NUMBERS = 1 << 16  # of one table

Some = slice | list[int]
Rows = Callable[[Whole], NDArray[Any]]


class Remembered:
    """A table of a function of whole numbers, of which rows are computed when they are asked for.

    >>> asked = []
    >>> squares = lambda places: asked.append(places.tolist()) or places[:, None] ** 2
    >>> table = Remembered()
    >>> table.at(np.array([3, 5, 3]), slice(None), squares)[:, 0].tolist(), asked
    ([9, 25, 9], [[3, 5]])
    >>> table.at(np.array([5, 4]), slice(None), squares)[:, 0].tolist(), asked
    ([25, 16], [[3, 5], [4]])
    """

    def __init__(self) -> None:
        self._places = self._order = np.zeros(0, dtype=np.int64)
        self._table: NDArray[Any] | None = None

    def at(self, asked: Whole, some: Some, rows: Rows) -> NDArray[Any]:
        """Return the `rows` of these numbers, at least one, at some of the columns."""
        if self._table is None:
            self._add(asked, rows)
        found = np.minimum(np.searchsorted(self._places, asked), self._places.size - 1)
        if not np.array_equal(self._places[found], asked):
            self._add(asked, rows)
        assert self._table is not None
        return np.asarray(self._table[:, some][self._order[np.searchsorted(self._places, asked)]])

    def _add(self, asked: Whole, rows: Rows) -> None:
        fresh = _sorted(asked[~np.isin(asked, self._places)] if self._places.size else asked)
        size = self._places.size + fresh.size
        if self._table is None or size * self._table.shape[1] > _MOST_NUMBERS:
            self._places = _sorted(asked)
            self._order = np.arange(self._places.size)
            self._table = rows(self._places)
            return
        if size > len(self._table):  # room for as many again, so that little is copied
            longer = np.empty((2 * size, self._table.shape[1]), dtype=self._table.dtype)
            longer[: self._places.size] = self._table[: self._places.size]
            self._table = longer
        numbers = np.arange(self._places.size, size)
        self._table[numbers[0] : size] = rows(fresh)
        places = np.concatenate((self._places, fresh))
        order = np.argsort(places)
        self._places, self._order = places[order], np.concatenate((self._order, numbers))[order]


def _sorted(numbers: Whole) -> Whole:
    """Return these numbers once each, in rising order; quicker than `np.unique` where few."""
    found = np.sort(numbers)
    return np.asarray(found[np.append(True, found[1:] != found[:-1])])


class LongPrefixes:
    """What `Prefixes` gives, for the same arguments, without a table of all released counts.

    >>> from dpbayes.laws.lattice.prefixes import Prefixes
    >>> nodes = Nodes(np.zeros(1), np.array([0, 3, 500]), 2001)
    >>> rest = Category(1.0, 1000, 2000), 0.5, 0.999, nodes, (0, 2), 5000
    >>> edges = np.array([400, 700, 1300]), np.array([401, 1300, 1600])
    >>> asked = 1, edges, (2, 1700), slice(None)
    >>> found, known = LongPrefixes(*rest).blocks(*asked), Prefixes(*rest).blocks(*asked)
    >>> all(np.allclose(a, b, rtol=0.0, atol=1e-11) for a, b in zip(found, known))
    True
    """

    def __init__(
        self,
        category: Category,
        exponent: float,
        rho: float,
        nodes: Nodes,
        levels: tuple[int, int],
        total: int,
    ) -> None:
        self.category, self.rho, self.nodes, self.exponent = category, rho, nodes, exponent
        x = category.count
        low, high = category.followed(levels, total)
        self._turn, self._back = x - levels[0], x - levels[1] - 1
        self.grid = np.zeros(0, dtype=np.int64)
        """Released counts, some of each panel, between which the weights change little."""

        self._left = self._sums(low, min(high, self._turn), self._turn, False)
        self._right = self._sums(max(low, self._back), high, self._back, True)
        self._remember()

    def _remember(self) -> None:
        self._below, self._above, self._at = Remembered(), Remembered(), Remembered()

    def _sums(self, first: int, last: int, anchor: int, backward: bool) -> RunningSums | None:
        if last < first:
            return None
        panels = self._felt(panels_between(first, last + 1, self._fits), anchor)
        self.grid = np.union1d(self.grid, panels.grid)

        sign = 1 if backward else -1  # no kink where a panel's last place is beyond the anchor

        def logs(released: Floats) -> Floats:
            return np.asarray(self._logs(released) + sign * np.log(self.rho) * (released - anchor))

        return running_sums(logs, panels, self.nodes, self.category.count, backward)

    def _logs(self, released: Floats | Whole) -> Floats:
        held = np.maximum(released, 0)
        return self.exponent * affinity_of_counts(self.category.prior, self.category.count, held)

    def _fits(self, start: int, length: int) -> bool:
        """Say whether the sizes of terms change by e^8 at most, and on this scale only."""
        a, x = self.category.prior, self.category.count
        if length > start + a:
            return False
        ends = np.array([start, start + length]) + a
        slope = float(np.abs(0.5 * np.log((ends + x + a) / (2.0 * ends))).max())
        tilt = float(np.abs(self.nodes.log_radius).max()) - np.log(self.rho)
        return bool((self.exponent * slope + tilt) * length <= CHANGE)

    def _felt(self, panels: Panels, anchor: int) -> Panels:
        """Return the panels without those at both ends where all terms are nothing."""
        places = np.stack((panels.starts, panels.starts + panels.lengths))
        logs = self._logs(places) + np.log(self.rho) * np.abs(places - anchor)
        tilts = self.nodes.log_radius[[0, -1]]
        sizes = logs + tilts[:, None, None] * (places - self.category.count)
        kept = (sizes >= sizes.max(axis=(1, 2), keepdims=True) - NOTHING).any(axis=(0, 1))
        some = np.flatnonzero(kept)
        within = slice(int(some[0]), int(some[-1]) + 1)
        return Panels(panels.starts[within], panels.lengths[within])

    def blocks(self, level: int, edges: Edges, window: tuple[int, int], some: Some) -> Blocks:
        """Return the sums of `Prefixes.blocks`; single heights are terms by themselves."""
        x, (low, high) = self.category.count, (window[0], max(window))
        starts, ends = (np.minimum(np.maximum(edge, low), high) for edge in edges)
        size, single = starts.size, np.flatnonzero(ends - starts == 1)
        many = np.flatnonzero(ends - starts > 1)
        asked = [
            np.concatenate((starts, ends[many], [low, high])),
            np.concatenate((ends, starts[many], [low, high])),
        ]
        below, above = (
            np.split(table.at(np.concatenate((kept - level, paid - level - 1)), some, rows), 2)
            for table, rows, (kept, paid) in (
                (self._below, self._lower, [np.minimum(places, x) for places in asked]),
                (self._above, self._upper, [np.maximum(places, x) for places in asked]),
            )
        )
        near, far = self.rho ** (x - 2 * level - self._turn), self.rho ** (self._back - x)
        lower, upper = near * below[0], far * above[0]
        under = lower[:size] - lower[-2] + (upper[-2] - upper[:size])
        largest = lower[-1] + upper[-2]
        keep = np.zeros_like(under)
        keep[many] = lower[size:-2] - lower[many] + (upper[many] - upper[size:-2])
        lower, upper = near / self.rho * below[1], far * self.rho * above[1]
        over = lower[-1] - lower[:size] + (upper[:size] - upper[-1])
        pay = np.zeros_like(over)
        pay[many] = lower[many] - lower[size:-2] + (upper[size:-2] - upper[many])
        if single.size:
            keep[single] = self._terms(level, starts[single], 0, some)
            pay[single] = self._terms(level, starts[single], 1, some)
        return keep, under, pay, over, largest + lower[-1] + upper[-2]

    def _terms(self, level: int, heights: Whole, paid: int, some: Some) -> NDArray[Any]:
        sizes = self.rho ** (np.abs(heights - self.category.count) - level)
        return np.asarray(self._at.at(heights - level - paid, some, self._powers) * sizes[:, None])

    def _powers(self, released: Whole) -> NDArray[Any]:
        """Return BC^s w^(r - x) for some released counts r, shape (released, nodes)."""
        moved, nodes = released - self.category.count, self.nodes
        sizes = np.exp(self._logs(released)[:, None] + np.outer(moved, nodes.log_radius))
        return np.asarray(sizes * phases(moved, nodes.turns, nodes.whole))

    def _lower(self, places: Whole) -> NDArray[Any]:
        return self._read(self._left, places)

    def _upper(self, places: Whole) -> NDArray[Any]:
        return self._read(self._right, places)

    def _read(self, sums: RunningSums | None, places: Whole) -> NDArray[Any]:
        if sums is None:
            kind = np.float64 if self.nodes.whole == 1 else np.complex128
            return np.zeros((places.size, self.nodes.size), dtype=kind)
        return sums.up_to(places, slice(None))

    def lowered(self, levels: Whole) -> NDArray[Any]:
        """Return the sums over all released counts at each level, as `Prefixes.lowered`."""
        x, turns = self.category.count, self.category.count - levels
        near = self.rho ** (turns - levels - self._turn).astype(np.float64)
        far = self.rho ** float(self._back - x)
        below, above = self._read(self._left, turns), self._read(self._right, turns)
        return np.asarray(near[:, None] * below + far * above)

    def unlowered(self) -> NDArray[Any]:
        """Return the sums over all released counts at each node, where the first level is 0."""
        return np.asarray(self.lowered(np.zeros(1, dtype=np.int64))[0])

    def at_nodes(self, places: slice | NDArray[np.int64]) -> LongPrefixes:
        """Return the same sums at some of the nodes."""
        found = copy(self)
        found._left = self._left and self._left.at_nodes(places)
        found._right = self._right and self._right.at_nodes(places)
        found.nodes = self.nodes.at(places)
        found._remember()
        return found


AnyPrefixes = Prefixes | LongPrefixes
Rest = tuple[float, float, Nodes, tuple[int, int], int]
"""Exponent, rho, nodes, levels and total of `Prefixes`."""


def prefixes(category: Category, *rest: *Rest) -> AnyPrefixes:
    """Return the sums of one category, by panels where a table would be long."""
    return LongPrefixes(category, *rest) if category.long else Prefixes(category, *rest)
