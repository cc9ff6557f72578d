"""Corners whose data pass on what is left over to their neighbours in the same ring as well.

A ring is gone through in layers: first what moves small counts, last what moves the largest only.
So what is left over where a record is dear reaches the plateau of an answer, where records are
cheap, without a step towards the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.simplex import ring
from dpbayes.study.simplex_corner_windows import FIRST, LEAST, STEEP, OwnWindow
from dpbayes.study.simplex_corners import Corners, CornerWindow, Shape
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers

_BESIDE = 0.3  # what a way in the same ring gets at first, before what is nearer gets more
_FIRST_RINGS = 2  # all of whose shares are learned
_WIDTH = 0.3  # below which part of the price V counts as 0


class Layers:
    """The steps up to `radius` in the order of `thm-simplex-certificate`, and ways to earlier ones.

    `order` sorts the rings, one after the other, into layers, of which each ends at one of `ends`.
    `ways` has for each layer triples (start in the layer, end among all steps, part at first).

    >>> layers = Layers(3, 1)
    >>> layers.steps.tolist()
    [[0, 0, 0], [0, -1, 1], [0, 1, -1], [-1, 0, 1], [1, 0, -1], [-1, 1, 0], [1, -1, 0]]
    >>> [len(one) for one in layers.ways]
    [0, 2, 4, 6]
    """

    def __init__(self, k: int, radius: int, chosen: NDArray[np.bool_] | None = None) -> None:
        every = np.concatenate([ring(k, d) for d in range(radius + 1)])
        steps = every if chosen is None else every[chosen]
        away = np.abs(steps).sum(axis=1) // 2
        # Small counts come first in a row; a step that moves them is dear.
        dear = np.abs(steps) @ np.arange(k)[::-1]
        self.order = np.lexsort((dear, away))
        self.steps, rank = steps[self.order], np.column_stack([away, dear])[self.order]
        new = np.any(np.diff(rank, axis=0) != 0, axis=1)
        self.ends = np.append(np.flatnonzero(new) + 1, len(steps))
        layer = np.searchsorted(self.ends, np.arange(len(steps)), side="right")
        strides = (2 * radius + 3) ** np.arange(k)
        keys = self.steps @ strides
        sort = np.argsort(keys)
        self.ways: list[list[tuple[Numbers, Numbers, Array]]] = [[] for _ in self.ends]
        for i, j in permutations(range(k), 2):
            wanted = keys - strides[i] + strides[j]
            place = np.minimum(np.searchsorted(keys[sort], wanted), len(keys) - 1)
            end = sort[place]
            start = np.flatnonzero((keys[end] == wanted) & (layer[end] < layer))
            z, d = self.steps[start], np.maximum(rank[start, 0], 1)
            straight = np.maximum(z[:, i], 0) * np.maximum(-z[:, j], 0) / d**2
            inwards = rank[end[start], 0] < rank[start, 0]
            part = np.where(inwards, straight, _BESIDE / d)
            for one in np.unique(layer[start]):
                some = layer[start] == one
                first = self.ends[one - 1]
                self.ways[one].append((start[some] - first, end[start[some]], part[some]))


layers_of = lru_cache(maxsize=2)(Layers)


class SidewaysWindow(OwnWindow):
    """As `OwnWindow`, with ways in the same ring; arrays stand in the order of `Layers`, flat.

    Shares are learned for all steps of the `rings`. Or, if `wide` is given, for the first two rings
    and for all steps to which the distance from some corner is at most so many times the mean
    distance of the noise there. All other steps come first, and pass on straight inwards.
    """

    def __init__(
        self,
        corners: Corners,
        at: Numbers,
        rings: list[Ring],
        shape: Shape,
        q: float,
        far: list[Ring] | None = None,
        local: Array | None = None,
        wide: float | None = None,
    ) -> None:
        CornerWindow.__init__(self, corners, at)
        self.at, self.q, self.shape = at, q, shape
        self.scale = shape.of_rows(corners.counts[at])
        self.rings, self.last = [*rings, *(far or [])], len(rings) - 1
        self.far_table = self.table + 2 * corners.boxes.size
        away = [self.distances(one.steps) for one in self.rings]
        self.chosen = self._chosen(away, local, wide)
        learned = np.concatenate(self.chosen)
        if wide is None:
            self.layers = layers_of(corners.boxes.k, self.last)
        else:
            self.layers = Layers(corners.boxes.k, len(self.rings) - 1, learned)
        steps = self.layers.steps
        order, ring_of = self.layers.order, np.abs(steps).sum(axis=1) // 2
        table = np.where(ring_of[:, None] <= self.last, self.table, self.far_table)
        distance = np.concatenate(away)[learned][order]
        self.kept = [self.inside(steps)]
        self.distance = [np.where(self.kept[0], distance, 0.0)]
        self.worths = [self.worth(shape, steps, self.kept[0])]
        self.place = [self.places(steps, self.low_levels) + table]
        self.apart = (q ** ring_of[:, None] * self.distance[0]).sum(axis=0)
        # What is nearer to the answer gets more.
        near = away[min(1, len(away) - 1)].mean(axis=0) / STEEP
        least = np.stack([one.min(axis=0) for one in away])[ring_of]
        wanted = np.exp((least - distance) / near) + FIRST
        self.weights = [
            [(part[:, None] * wanted[end]).astype(np.float32) for _, end, part in ways]
            for ways in self.layers.ways
        ]
        self.total = [np.empty(0), *(self._sums(one) for one in range(1, len(self.layers.ends)))]

    def _chosen(
        self, away: list[Array], local: Array | None, wide: float | None
    ) -> list[NDArray[np.bool_]]:
        if wide is None or local is None:
            return [np.full(len(one), d <= self.last) for d, one in enumerate(away)]
        found = [np.any(one <= wide * local[self.at], axis=1) for one in away]
        for one in found[: _FIRST_RINGS + 1]:
            one[:] = True
        for d in range(len(away) - 1, 0, -1):
            # Every step that is chosen has ways inwards to others.
            inner = self.rings[d].moved(self.rings[d].straight, found[d][:, None].astype(float))
            found[d - 1] |= inner[:, 0] > 0.0
        return found

    def _from_far(self, held: Array) -> Array:
        # What the other steps pass on to those whose shares are learned.
        self.owed, arrived = [], []
        passed: Array = np.zeros((len(self.rings[-1].steps), len(self.at)))
        for one, chosen in zip(reversed(self.rings), reversed(self.chosen), strict=True):
            arrived.append(passed[chosen])
            given, other = np.zeros_like(passed), ~chosen
            if other.any():
                steps = one.steps[other]
                inside, place, worth = self._of_steps(steps)
                distance = np.where(inside, self.distances(steps), 0.0)
                left = distance - np.where(inside, held[place], 0.0) * worth + passed[other]
                self.owed.append(left < 0.0)
                given[other] = left * np.where(left < 0.0, 1.0 / self.q, self.q)
            if len(arrived) < len(self.rings):
                passed = one.moved(one.even, given)
        self.owed.reverse()
        return np.asarray(np.concatenate(arrived[::-1])[self.layers.order])

    def _of_steps(self, steps: Numbers) -> tuple[NDArray[np.bool_], Numbers, Array]:
        inside = self.inside(steps)
        ring_of = np.abs(steps).sum(axis=1, keepdims=True) // 2
        table = np.where(ring_of <= self.last, self.table, self.far_table)
        place = self.places(steps, self.low_levels) + table
        return inside, place, self.worth(self.shape, steps, inside)

    def far_columns(self) -> Iterator[tuple[Numbers, Array]]:
        """Yield for each ring the other steps' places, and what prices there take from V by 1."""
        u: Array = np.ones((1, len(self.at)))
        flat = np.empty_like(self.flat)
        flat[self.layers.order] = self.units
        first, owed = 0, iter(self.owed)
        for one, chosen in zip(self.rings, self.chosen, strict=True):
            # Ring 0 has no way inwards, and is chosen.
            u = one.reached(one.even, u) if first else u
            size = int(np.count_nonzero(chosen))
            u[chosen] = flat[first : first + size]
            first += size
            other = ~chosen
            if other.any():
                _, place, worth = self._of_steps(one.steps[other])
                u[other] *= np.where(next(owed), 1.0 / self.q, self.q)
                yield place, u[other] * worth

    def passing(self) -> list[list[tuple[Numbers, Numbers, Array]]]:
        """Return the ways to earlier steps, layer by layer."""
        return self.layers.ways

    def _slice(self, layer: int) -> slice:
        return slice(int(self.layers.ends[layer - 1]), int(self.layers.ends[layer]))

    def _sums(self, d: int) -> Array:
        at = self._slice(d)
        total = np.zeros((at.stop - at.start, len(self.at)))
        for (start, _, _), weight in zip(self.layers.ways[d], self.weights[d], strict=True):
            total[start] += weight
        return total

    def values(self) -> Array:
        """Return V at the corners, by the recursion of `thm-simplex-corners`."""
        left = self.flat = self.distance[0] - self.prices[0] + self.passed
        for layer in range(len(self.layers.ends) - 1, 0, -1):
            at = self._slice(layer)
            some = left[at]
            given = some * np.where(some >= 0.0, self.q, 1.0 / self.q) / self.total[layer]
            ways = zip(self.layers.ways[layer], self.weights[layer], strict=True)
            for (start, end, _), weight in ways:
                left[end] += given[start] * weight
        return np.asarray(left[0])

    def _mean(self, layer: int, held: Array) -> Array:
        at = self._slice(layer)
        got = np.zeros((at.stop - at.start, held.shape[1]))
        for (start, end, _), weight in zip(
            self.layers.ways[layer], self.weights[layer], strict=True
        ):
            got[start] += held[end] * weight
        return np.asarray(got / self.total[layer])

    def columns(self) -> list[Array]:
        """Return at every step what one unit there adds to V, with the last factors."""
        u = np.ones(self.flat.shape)
        factor = np.where(self.flat >= 0.0, self.q, 1.0 / self.q)
        for layer in range(1, len(self.layers.ends)):
            at = self._slice(layer)
            u[at] = self._mean(layer, u) * factor[at]
        self.units = u
        return [u * self.kept[0]]

    def _lefts(self) -> list[Array]:
        return [self.flat]

    def learn(self) -> None:
        """Give more to the neighbours where a unit adds more to V, and less of what is owed."""
        sign = np.clip(self.flat / (_WIDTH * self.scale), -1.0, 1.0)
        u, log = np.ones(self.flat.shape), np.zeros(self.flat.shape)
        for layer in range(1, len(self.layers.ends)):
            at = self._slice(layer)
            outer, here = self._mean(layer, u), sign[at]
            mean = np.log(outer)
            u[at], log[at] = outer * self.q**here, mean + np.log(self.q) * here
            for number, (start, end, _) in enumerate(self.layers.ways[layer]):
                change = np.clip((log[end] - mean[start]) * here[start], -1.0, 1.0)
                share = self.weights[layer][number] / self.total[layer][start] * np.exp(change)
                self.weights[layer][number] = np.maximum(share, LEAST).astype(np.float32)
            self.total[layer] = self._sums(layer)
