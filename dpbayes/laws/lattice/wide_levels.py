"""One level of the projection where noise is wide, for one power of the affinity.

The sums of each category are looked up (`Prefixes`). Bounds need no single heights: between two
places of a coarse list what lies below is at most what lies below the upper one, and what lies
above at most what lies above the lower one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice import laurent
from dpbayes.laws.lattice.chains import Link, Row, once, rows
from dpbayes.laws.lattice.circles import Circle, Nodes, log_bound
from dpbayes.laws.lattice.heights import Heights
from dpbayes.laws.lattice.long_prefixes import AnyPrefixes
from dpbayes.laws.lattice.pivots import PIECE
from dpbayes.laws.lattice.prefixes import GONE, Category, Edges
from dpbayes.laws.lattice.shortfalls import payments, readings, short, shortfall_circle

Caps = list[tuple[NDArray[np.float64], NDArray[np.float64]]]

_ALONG, _ALONG_NOISE, _SHORTEST, _MOST_MARKS = 2.2, 16.0, 5, 2000
_NOTHING = -700.0
_LOST = 1e-11  # of the sums whose differences are taken, where noise alone has no bound
_LOOSE = 0.5  # of 1 / epsilon: how coarse the list of places is


@dataclass(frozen=True)
class WideHeights:
    """Windows of noisy counts and blocks of heights at one level, as for `pivots.Level`."""

    runs: Sequence[tuple[Category, int]]
    level: int

    @cached_property
    def blocks(self) -> Heights:
        """The windows and blocks."""
        # A category that follows itself is two windows alike, so that its heights stay single.
        each = [one for one, _ in self.runs] + [one for one, copies in self.runs if copies > 1]
        low = [max(one.count - one.reach, one.first + self.level) for one in each]
        high = [min(one.count + one.reach, one.last + self.level + 1) for one in each]
        total = sum(category.count * copies for category, copies in self.runs)
        least = np.minimum(low, np.array(high) + 1)
        return Heights(least, np.array(high), self.level, total)


@dataclass(frozen=True)
class WideLevel:
    """All noisy vectors that the projection lowers to this level, weighted by BC^exponent.

    `runs` are the different categories and how often each follows itself, `known` their heights.
    """

    runs: Sequence[tuple[Category, int]]
    exponent: float
    epsilon: float
    level: int
    known: WideHeights

    @property
    def rho(self) -> float:
        """e^(-epsilon/2)."""
        return float(np.exp(-0.5 * self.epsilon))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The true counts of all different categories."""
        return np.array([category.count for category, _ in self.runs])

    @cached_property
    def total(self) -> int:
        """The number of records."""
        return sum(category.count * copies for category, copies in self.runs)

    @property
    def heights(self) -> Heights:
        """Windows of noisy counts and blocks of heights."""
        return self.known.blocks

    @property
    def span(self) -> int:
        """So many nodes read the released records exactly."""
        copies = np.array([copies for _, copies in self.runs])
        high, low = (each[: copies.size] for each in (self.heights.high, self.heights.low))
        won = np.maximum(high - self.level, 0) - self.counts
        least = [0 if self._empties(one) else one.count for one, _ in self.runs]
        lost = self.counts - np.minimum(low - self.level - 1, least)
        return int(max((copies * lost).sum(), (copies * won).sum())) + 1

    def _empties(self, category: Category) -> bool:
        """Say whether releasing none of its records adds anything, on any circle."""
        log = self.exponent * category.empty - category.count * np.log(self.rho)
        return bool(log > -2.0 * GONE)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """A coarse list of blocks: some of the single heights, all joined ones and all kinks."""
        heights, step = self.heights, max(1, int(_LOOSE / self.epsilon))
        kinks = np.concatenate((self.counts, heights.low, heights.high + 1))
        return heights.some(step, kinks)

    @property
    def coarse(self) -> Edges:
        """Where the coarse blocks start and end."""
        edges = self.heights.at(self.places)
        return edges[:-1], edges[1:]

    def panels(self, kept: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the blocks of heights in the kept coarse blocks, as ranges cut at kinks and marks.

        At marks the released counts are the same at all levels, so that what was summed is known.
        """
        kinks = (self.counts, self.counts + self.level, self.counts + self.level + 1, self._marks)
        first, stop = self.places[kept], self.places[kept + 1]
        return self.heights.ranges(first, stop, np.concatenate(kinks))

    @cached_property
    def _marks(self) -> NDArray[np.int64]:
        """Heights about as far apart as the polynomial through some values follows the weights."""
        long = [(i, *run) for i, run in enumerate(self.runs) if run[0].long]
        if not long or not self.exponent:
            return np.zeros(0, dtype=np.int64)
        # ln BC is about -m^2 / (8 (x + a)), m counts from the true one.
        scales = [0.25 * copies / (one.count + one.prior) for _, one, copies in long]
        narrow = self.exponent * sum(scales)
        widest = min(_ALONG / np.sqrt(narrow), _ALONG_NOISE / self.epsilon)
        lengths = self.heights.high - self.heights.low
        widest = max(widest, max(int(lengths[i]) for i, _, _ in long) / _MOST_MARKS)
        step = 1 << max(_SHORTEST, round(np.log2(widest)))
        found = []
        for i, _, _ in long:
            low, high = int(self.heights.low[i]), int(self.heights.high[i]) + 1
            first = -((self.level - low) // step) * step
            found.append(np.arange(self.level + first, high, step))
        return np.concatenate(found)

    def shortfall_circle(
        self, sums: list[AnyPrefixes], node: int, alias: float, scale: float
    ) -> Circle:
        """Return the circle for the shortfall that wrongly reads at most `alias`.

        `node` is the place of w = 1 among those of sums; sums are to be multiplied by `scale`.
        """
        nodes, edges = Nodes.positive(np.zeros(1)), self.coarse
        links = self._links(edges, sums, nodes, [node], True, None)

        def log_bounds(places: NDArray[np.float64]) -> NDArray[np.float64]:
            zeta = np.exp(places)
            with np.errstate(over="ignore", invalid="ignore"):
                level, owed = payments(self.rho, self.level, zeta)
                paid = sum(
                    (row.constant(level, owed) * row.paid(level, owed, slice(None))).sum(
                        axis=(1, 2, 3)
                    )
                    for row in self._rows(links, edges, zeta)
                )
                found = log_bound((paid * readings(self.rho, zeta)).real)
                return np.asarray(found + np.log(scale))  # a product would leave the range sooner

        degree = (self.level + 1) * sum(copies for _, copies in self.runs) + 1
        return shortfall_circle(log_bounds, self.rho, self.level, degree, alias)

    def bounds(
        self,
        edges: Edges,
        sums: list[AnyPrefixes],
        nodes: Nodes,
        some: list[int],
        shortfall: Circle,
        caps: Caps | None = None,
    ) -> NDArray[np.float64]:
        """Return bounds (blocks, nodes) on each coarse block's part, not normalised.

        `some` are the places of these positive nodes among those of the sums; `caps` bound what
        lies below and above a block.
        """
        links = self._links(edges, sums, nodes, some, True, caps)
        zeta = np.exp([shortfall.log_radius])
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._read(links, edges, nodes.size, zeta).real
        return np.asarray(np.nan_to_num(found, nan=np.inf, posinf=np.inf), dtype=np.float64)

    def parts(
        self,
        blocks: NDArray[np.int64],
        sums: list[AnyPrefixes],
        records: Circle,
        shortfall: Circle,
    ) -> NDArray[np.float64]:
        """Return what each node of the sums adds to each block of heights, not normalised."""
        nodes = sums[0].nodes
        edges = self.heights.at(blocks), self.heights.at(blocks + 1)
        zeta = shortfall.places()
        found = np.empty((blocks.size, nodes.size))
        some = max(1, PIECE // blocks.size)
        for first in range(0, nodes.size, some):
            batch = slice(first, min(first + some, nodes.size))
            links = self._links(edges, sums, nodes.at(batch), batch, False, None)
            found[:, batch] = self._read(links, edges, batch.stop - batch.start, zeta).real
        return found * (records.folds(nodes.turns) / (records.nodes * shortfall.nodes))

    def _read(
        self, links: list[Link], edges: Edges, nodes: int, zeta: NDArray[Any]
    ) -> NDArray[Any]:
        level, owed = payments(self.rho, self.level, zeta)
        weights = readings(self.rho, zeta)[:, None, None, None]
        total = np.zeros((edges[0].size, nodes), dtype=np.complex128)
        for row in self._rows(links, edges, zeta):
            if laurent.few_powers(row, zeta):
                found = laurent.sums(row, weights, level, owed, self.rho, zeta)
            else:
                found = row.sums(weights, level, owed, PIECE)
            total[row.blocks] = found[0]
        return total

    def _rows(self, links: list[Link], edges: Edges, zeta: NDArray[Any]) -> list[Row]:
        def whole(run: int) -> Link:
            count = self.runs[run][0].count
            owed = short(self.rho, self.level, count, zeta)
            return replace(links[run], short=owed, lifted=count >= self.level)

        full = once([id(link) for link in links], whole)
        groups = ((at, met[: len(full)]) for at, met in self.heights.groups(*edges))
        return rows(groups, full, [copies for _, copies in self.runs])

    def _links(
        self,
        edges: Edges,
        sums: list[AnyPrefixes],
        nodes: Nodes,
        some: slice | list[int],
        coarse: bool,
        caps: Caps | None,
    ) -> list[Link]:
        def link(run: int) -> Link:
            category, _ = self.runs[run]
            low, high = int(self.heights.low[run]), int(self.heights.high[run]) + 1
            alike = _alike(edges, low, high)
            near = edges[0][alike.start : alike.stop], edges[1][alike.start : alike.stop]
            keep, below, pay, above, whole = sums[run].blocks(self.level, near, (low, high), some)
            if coarse:
                below, above, keep = below + keep, above + pay, np.zeros_like(keep)
                beyond = np.abs(nodes.log_radius) > -np.log(self.rho)
                lost = _LOST * beyond * whole
                below, above, pay = below + lost, above + lost, pay + lost
            if caps is not None:
                below, above = (
                    np.minimum(part, cap[alike.start : alike.stop])
                    for part, cap in zip((below, above), caps[run], strict=True)
                )
            zero, none, first = self._zero(category, nodes), np.zeros(0), alike.start
            return Link(zero, none, below[None], above[None], keep[None], pay[None], False, first)

        return once([category for category, _ in self.runs], link)

    def _zero(self, category: Category, nodes: Nodes) -> NDArray[Any]:
        x, t = category.count, self.level
        nearer = np.log(self.rho) * (max(x - t, 0) - min(x, t))
        logs = self.exponent * category.empty + nearer - x * nodes.log_radius
        if logs.max() < _NOTHING:
            kind = np.float64 if nodes.whole == 1 else np.complex128
            return np.zeros((1, 1, nodes.size), dtype=kind)
        turned = Nodes(np.zeros(1), nodes.turns, nodes.whole).powers(np.array([-x]))
        with np.errstate(over="ignore"):
            return np.asarray((np.exp(logs) * turned)[None])


def _alike(edges: Edges, low: int, high: int) -> range:
    """Return blocks in rising order without all but the nearest below and above a window."""
    below = int(np.searchsorted(edges[1], low, side="right"))
    above = int(np.searchsorted(edges[0], high))
    return range(max(below - 1, 0), max(min(above + 1, edges[0].size), 1))
