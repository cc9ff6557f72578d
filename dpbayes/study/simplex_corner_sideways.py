"""Corners whose data pass on what is left over to their neighbours in the same ring as well.

A ring is gone through in layers: first what moves small counts, last what moves the largest only.
So what is left over where a record is dear reaches the plateau of an answer, where records are
cheap, without a step towards the answer.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from dpbayes.study.simplex import ring
from dpbayes.study.simplex_corner_windows import FIRST, LEAST, STEEP, OwnWindow
from dpbayes.study.simplex_corners import Corners, Shape
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers

_BESIDE = 0.3  # what a way in the same ring gets at first, before what is nearer gets more
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

    def __init__(self, k: int, radius: int) -> None:
        steps = np.concatenate([ring(k, d) for d in range(radius + 1)])
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
    """As `OwnWindow`, with ways in the same ring; arrays stand in the order of `Layers`, flat."""

    def __init__(
        self,
        corners: Corners,
        at: Numbers,
        rings: list[Ring],
        shape: Shape,
        q: float,
        far: list[Ring] | None = None,
    ) -> None:
        super().__init__(corners, at, rings, [[] for _ in rings], shape, q, far)
        self.layers = layers_of(corners.boxes.k, len(rings) - 1)
        order, layers = self.layers.order, self.layers
        self.kept = [np.concatenate(self.kept)[order]]
        self.distance = [np.concatenate(self.distance)[order]]
        self.worths = [np.concatenate(self.worths)[order]]
        self.place = [np.concatenate(self.place)[order]]
        away = self.distances(layers.steps)
        near = away[1 : 1 + len(rings[1].steps)].mean(axis=0) / STEEP
        least = np.repeat(
            np.minimum.reduceat(away, self._firsts(rings)), self._sizes(rings), axis=0
        )
        wanted = np.exp((least - away) / near) + FIRST
        self.weights = [
            [(part[:, None] * wanted[end]).astype(np.float32) for _, end, part in ways]
            for ways in layers.ways
        ]
        self.total = [np.empty(0), *(self._sums(one) for one in range(1, len(layers.ends)))]
        self.outside = len(layers.order) - len(rings[-1].steps)

    def _firsts(self, rings: list[Ring]) -> Numbers:
        return np.append(0, np.cumsum(self._sizes(rings))[:-1])

    def _sizes(self, rings: list[Ring]) -> Numbers:
        return np.array([len(one.steps) for one in rings])

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
        left = self.distance[0] - self.prices[0]
        if self.far:
            # What arrives from beyond stands in the order of the ring.
            last = self.layers.order[self.outside :] - self.outside
            left[self.outside :] += self.passed[last]
        self.flat = left
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
        self.edge: Array = np.empty_like(u[self.outside :])
        self.edge[self.layers.order[self.outside :] - self.outside] = u[self.outside :]
        return [u * self.kept[0]]

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
