"""Corners of boxes and the data around them, where each corner has shares of its own.

What is left over is passed inwards ring by ring, as `simplex_corner_bound` does for corners that
share what they pass on. Here the shares are learned for one corner at a time, and forgotten again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.simplex import ring
from dpbayes.study.simplex_corners import Corners, CornerWindow, Shape
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers, inward_edges

LEAST, FIRST, STEEP = 1e-4, 1e-5, 5.0  # least share; at first; how much nearer steps get then
WIDTHS, NARROWER = (0.3, 0.08), 0.9  # below which part of the price V counts as 0: first, last

Ways = list[tuple[Numbers, Numbers, Array]]


def all_ways(k: int, radius: int) -> list[Ways]:
    """Return for each ring up to `radius` the ways to the ring inside it, none for ring 0.

    >>> [sum(len(start) for start, _, _ in one) for one in all_ways(3, 2)]
    [0, 6, 18]
    """
    steps = [ring(k, d) for d in range(radius + 1)]
    return [inward_edges(steps[d - 1], steps[d]) if d else [] for d in range(radius + 1)]


class OwnWindow(CornerWindow):
    """Corners `at` with the data around them, and for each corner the shares it has learned.

    Arrays stand ring by ring, with one row for each step and one column for each corner.
    """

    def __init__(
        self,
        corners: Corners,
        at: Numbers,
        rings: list[Ring],
        ways: list[Ways],
        shape: Shape,
        q: float,
        far: list[Ring] | None = None,
    ) -> None:
        super().__init__(corners, at)
        self.at, self.q, self.ways, self.learned = at, q, ways, 0
        self.shape, self.far = shape, far or []
        self.scale = shape.of_rows(corners.counts[at])
        # The places of the rings beyond stand in tables of their own.
        self.far_table = self.table + 2 * corners.boxes.size
        self.kept = [self.inside(one.steps) for one in rings]
        away = [self.distances(one.steps) for one in rings]
        self.distance = [np.where(i, h, 0.0) for i, h in zip(self.kept, away, strict=True)]
        parts = list(zip(rings, self.kept, strict=True))
        self.worths = [self.worth(shape, one.steps, inside) for one, inside in parts]
        self.place = [self.places(one.steps, self.low_levels) + self.table for one in rings]
        self.apart = sum(q**d * one.sum(axis=0) for d, one in enumerate(self.distance))
        # What is nearer to the answer gets more.
        self.weights, self.total = [list[NDArray[np.float32]]()], [np.empty(0)]
        near = away[min(1, len(away) - 1)].mean(axis=0) / STEEP
        for d, inner in enumerate(away[:-1] if ways[-1] else [], start=1):
            wanted = np.exp((inner.min(axis=0) - inner) / near) + FIRST
            self.weights.append(
                [(part[:, None] * wanted[end]).astype(np.float32) for _, end, part in ways[d]]
            )
            self.total.append(self._sums(d))

    def _sums(self, d: int) -> Array:
        total = np.zeros(self.distance[d].shape)
        for (start, _, _), weight in zip(self.ways[d], self.weights[d], strict=True):
            total[start] += weight
        return total

    def passing(self) -> list[list[tuple[Numbers, Numbers, Array]]]:
        """Return the ways inwards that have shares, in the order of these."""
        return self.ways

    def taught(self, other: OwnWindow) -> None:
        """Begin with the mean of the shares that the corners of another window have learned.

        Where both pass on along the same ways; else nothing changes.
        """
        if other.passing() is not self.passing():
            return
        for d, ways in enumerate(self.passing()[: len(self.weights)]):
            for number, (start, _, _) in enumerate(ways if d else ()):
                mean = (other.weights[d][number] / other.total[d][start]).mean(axis=1)
                share = np.repeat(mean[:, None], len(self.at), axis=1)
                self.weights[d][number] = share.astype(np.float32)
            if d:
                self.total[d] = self._sums(d)

    def begin(self, held: Array) -> None:
        """Take the highest factors `held` near each place, as `Corners.highest` gives them."""
        self.prices = [
            np.where(inside, held[place], 0.0) * worth
            for inside, place, worth in zip(self.kept, self.place, self.worths, strict=True)
        ]
        self.held, self.passed = held, self._from_far(held)

    def _from_far(self, held: Array) -> Array:
        # What the rings beyond pass on to the last of those whose shares are learned.
        passed, self.owed = np.zeros((1, 1)), list[NDArray[np.bool_]]()
        for one in reversed(self.far):
            inside, place, worth = self._of_far(one)
            distance = np.where(inside, self.distances(one.steps), 0.0)
            left = distance - np.where(inside, held[place], 0.0) * worth + passed
            self.owed.append(left < 0.0)
            given = left * np.where(self.owed[-1], 1.0 / self.q, self.q)
            passed = one.moved(one.of_each(one.straight), given)
        self.owed.reverse()
        return passed

    def _of_far(self, one: Ring) -> tuple[NDArray[np.bool_], Numbers, Array]:
        inside = self.inside(one.steps)
        place = self.places(one.steps, self.low_levels) + self.far_table
        return inside, place, self.worth(self.shape, one.steps, inside)

    def far_columns(self) -> Iterator[tuple[Numbers, Array]]:
        """Yield for each ring beyond the places and what prices there take from V by a factor of 1.

        For the last `columns` of the other rings.
        """
        u = self.edge
        for one, owed in zip(self.far, self.owed, strict=True):
            _, place, worth = self._of_far(one)
            u = one.reached(one.of_each(one.straight), u) * np.where(owed, 1.0 / self.q, self.q)
            yield place, u * worth

    def values(self) -> Array:
        """Return V at the corners, by the recursion of `thm-simplex-corners`."""
        passed, rings = self.passed, len(self.distance)
        self.left, self.factors = [np.empty(0)] * rings, [np.empty(0)] * rings
        for d in range(rings - 1, -1, -1):
            left = self.distance[d] - self.prices[d] + passed
            factor = np.where(left >= 0.0, self.q, 1.0 / self.q)
            self.left[d], self.factors[d] = left, factor
            if d:
                passed = self._inwards(d, left * factor)
        return np.asarray(self.left[0][0])

    def _inwards(self, d: int, given: Array) -> Array:
        got, shared = np.zeros(self.distance[d - 1].shape), given / self.total[d]
        for (start, end, _), weight in zip(self.ways[d], self.weights[d], strict=True):
            got[end] += shared[start] * weight
        return got

    def _outwards(self, d: int, held: Array) -> Array:
        got = np.zeros(self.distance[d].shape)
        for (start, end, _), weight in zip(self.ways[d], self.weights[d], strict=True):
            got[start] += held[end] * weight
        return np.asarray(got / self.total[d])

    def columns(self) -> list[Array]:
        """Return on every ring what one unit there adds to V, with the last factors."""
        found = [np.ones(self.distance[0].shape)]
        for d in range(1, len(self.distance)):
            found.append(self._outwards(d, found[-1]) * self.factors[d])
        self.edge = found[-1]
        return [u * inside for u, inside in zip(found, self.kept, strict=True)]

    def around(self) -> Iterator[tuple[Numbers, Array]]:
        """Yield places, and what prices there take from V by a factor of 1, ring by ring.

        With the last factors.
        """
        columns = self.columns()
        for place, u, worth in zip(self.place, columns, self.worths, strict=True):
            yield place, u * worth
        yield from self.far_columns()

    def charges(self) -> Iterator[tuple[Numbers, Array, NDArray[np.bool_]]]:
        """Yield places, prices there in the column of V, and whether they are owed, ring by ring.

        Owed is what a price is above the distance and all that is passed on to it, (steps, B).
        """
        owed = [*(one < 0.0 for one in self._lefts()), *self.owed]
        for (place, worth), short in zip(self.around(), owed, strict=True):
            yield place, worth * np.where(worth > 0.0, self.held[place], 0.0), short

    def charged(self) -> Array:
        """Return what the prices around are in the column that V is the sum over, (B,)."""
        found = sum(prices.sum(axis=0) for _, prices, _ in self.charges())
        return np.asarray(np.maximum(found, 1e-300))

    def _lefts(self) -> list[Array]:
        return self.left

    def learn(self) -> None:
        """Give more to the neighbours where a unit adds more to V, and less of what is owed."""
        width = max(WIDTHS[0] * NARROWER**self.learned, WIDTHS[1])
        self.learned += 1
        reached = np.ones(self.distance[0].shape)
        for d in range(1, len(self.distance)):
            sign = np.clip(self.left[d] / (width * self.scale), -1.0, 1.0)
            # The next ring is reached by the shares as they were.
            outer = self._outwards(d, reached)
            if d > 1:
                inner, mean = np.log(reached), np.log(outer)
                for number, (start, end, _) in enumerate(self.ways[d]):
                    change = np.clip((inner[end] - mean[start]) * sign[start], -1.0, 1.0)
                    share = self.weights[d][number] / self.total[d][start] * np.exp(change)
                    self.weights[d][number] = np.maximum(share, LEAST).astype(np.float32)
                self.total[d] = self._sums(d)
            reached = outer * self.q**sign
