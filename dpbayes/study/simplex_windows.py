"""What is left over around answers, passed inwards ring by ring: the recursion of a certificate.

A window holds some answers s and all data up to a number of replaced records from their cores: a
core is the answer alone, or a segment around it. Its arrays have one row for each step z and one
column for each answer s: the data are s + z.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.simplex import Simplex, ring

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_LEAST = 1e-4  # no share that is learned falls below this part of a point


@dataclass
class Ring:
    """The steps d records away from the core, and how each passes on to the ring d - 1.

    `place` (P, B) is the class of s + z, one more than the last where that is no histogram;
    `distance` (P, B) is H(s + z, s), or 0 there. `edges` are pairs (from, to) of places in this
    ring and the one further in, each `to` once a pair; `weights` (., B) or (., 1) one for each,
    and `total` their sum at each step.
    """

    steps: Numbers
    place: NDArray[np.int32]
    distance: Array
    edges: list[tuple[Numbers, Numbers]]
    weights: list[NDArray[np.float32]]
    total: Array

    def inwards(self, given: Array, size: int) -> Array:
        """Return what each of the `size` steps one ring further in gets."""
        got = np.zeros((size, given.shape[1]))
        shared = given / self.total
        for (start, end), weight in zip(self.edges, self.weights, strict=True):
            got[end] += shared[start] * weight
        return got

    def outwards(self, held: Array) -> Array:
        """Return for each step the mean over its shares of what is `held` one ring further in."""
        got = np.zeros(self.distance.shape)
        for (start, end), weight in zip(self.edges, self.weights, strict=True):
            got[start] += held[end] * weight
        return np.asarray(got / self.total)

    def learn(self, inner: Array, sign: Array) -> None:
        """Multiply each weight by (inner / its mean)^sign, within 1/e … e; `sign` (P, B)."""
        mean = self.outwards(inner)
        total = np.zeros(self.distance.shape)
        for number, (start, end) in enumerate(self.edges):
            change = np.clip(np.log(inner[end] / mean[start]) * sign[start], -1.0, 1.0)
            share = self.weights[number] / self.total[start] * np.exp(change)
            self.weights[number] = np.maximum(share, _LEAST).astype(np.float32)
            total[start] += self.weights[number]
        self.total = total


class Windows:
    """Answers of the classes `at`, each with all data within `radius` of its core, by rings.

    The core of s is s + the `segment` of the `length`, and has to lie in the histograms. Ring 0 is
    the core, `middle` the place of s in it. Shares begin along the straight lines to the core, and
    are learned up to ring `learned`.
    """

    def __init__(
        self, space: Simplex, at: Numbers, radius: int, learned: int, table: Array, length: int = 0
    ) -> None:
        self.at, self.copies, self.learned = at, space.copies[at], learned
        self.middle, self.rings = length // 2, list[Ring]()
        rows, empty, core = space.rows[at], len(space.rows), segment(space.k, length)
        for d, steps in enumerate(_rings_around(core, radius)):
            inside, kept = inside_of(rows, steps)
            if not len(kept):
                break
            place, distance = on_ring(space, rows, kept, inside, table)
            edges = inward_edges(self.rings[-1].steps, kept, core) if d else []
            weights = [straight[:, None].astype(np.float32) for _, _, straight in edges]
            total = np.zeros((len(kept), 1))
            for (start, _, _), weight in zip(edges, weights, strict=True):
                total[start] += weight
            ends = [(start, end) for start, end, _ in edges]
            self.rings.append(Ring(kept, place, distance, ends, weights, total))
        self.inside = [one.place < empty for one in self.rings]

    def nearest_outside(self) -> Array:
        """Return the least distance on the last ring: nothing beyond it is nearer to s."""
        last = np.where(self.inside[-1], self.rings[-1].distance, np.inf)
        return np.asarray(last.min(axis=0))

    def values(self, prices: Array, q: float) -> tuple[list[Array], list[Array]]:
        """Return V on every ring, and the factor with which each V was passed on inwards.

        V at s itself is at `middle` of ring 0; the core passes on along itself, from both ends.
        """
        held = np.append(prices, 0.0)
        found, factors = [np.empty(0)] * len(self.rings), [np.empty(0)] * len(self.rings)
        passed = np.zeros(1)
        for d in range(len(self.rings) - 1, -1, -1):
            one = self.rings[d]
            found[d] = one.distance - held[one.place] + passed
            if d:
                factors[d] = np.where(found[d] >= 0.0, q, 1.0 / q)
                passed = one.inwards(found[d] * factors[d], len(self.rings[d - 1].steps))
        core, last = found[0], len(found[0]) - 1
        for start, step in (0, 1), (last, -1):
            for i in range(start, self.middle, step):
                core[i + step] += core[i] * np.where(core[i] >= 0.0, q, 1.0 / q)
        factors[0] = np.where(core >= 0.0, q, 1.0 / q)
        return found, factors

    def kernel(self, q: float) -> Array:
        """Return the sum over the window of q^d, (B,), d the records to replace from s."""
        apart = [np.abs(one.steps).sum(axis=1) // 2 for one in self.rings]
        return np.asarray(sum(q**d @ one for d, one in zip(apart, self.inside, strict=True)))

    def columns(self, factors: list[Array]) -> list[Array]:
        """Return on every ring what one unit there adds to V at s."""
        found = self._reached(factors)
        return [u * one for u, one in zip(found, self.inside, strict=True)]

    def learn(self, found: list[Array], prices: Array, q: float, width: float) -> None:
        """Give more to the neighbours where a unit adds more to V at s, and less of what is owed.

        Factors between 1/q and q are taken where V is below `width` times the price.
        """
        signs = [np.clip(one / (width * prices[self.at]), -1.0, 1.0) for one in found]
        reached = self._reached([q**sign for sign in signs])
        for d in range(1, min(self.learned + 1, len(self.rings))):
            self.rings[d].learn(reached[d - 1], signs[d])

    def _reached(self, factors: list[Array]) -> list[Array]:
        core = np.ones(factors[0].shape)
        for i in range(self.middle - 1, -1, -1):
            core[i] = core[i + 1] * factors[0][i]
        for i in range(self.middle + 1, len(core)):
            core[i] = core[i - 1] * factors[0][i]
        found = [core]
        for d in range(1, len(self.rings)):
            found.append(self.rings[d].outwards(found[-1]) * factors[d])
        return found


def segment(k: int, length: int) -> Numbers:
    """Return the steps (…, t, -t) of a core of so many records, shape (length + 1, k).

    >>> segment(3, 2).tolist()
    [[0, -1, 1], [0, 0, 0], [0, 1, -1]]
    """
    t = np.arange(-(length // 2), length - length // 2 + 1)[:, None]
    return np.asarray(t * np.eye(k, dtype=np.int64)[-2] - t * np.eye(k, dtype=np.int64)[-1])


def _rings_around(core: Numbers, radius: int) -> list[Numbers]:
    # The steps by their distance from the core, the core itself in its own order.
    if len(core) == 1:
        return [ring(core.shape[1], d) for d in range(radius + 1)]
    every = np.concatenate([ring(core.shape[1], d) for d in range(radius + len(core))])
    apart = (np.abs(every[:, None] - core).sum(axis=2) // 2).min(axis=1)
    return [core, *(every[apart == d] for d in range(1, radius + 1))]


def inside_of(rows: Numbers, steps: Numbers) -> tuple[NDArray[np.bool_], Numbers]:
    """Return where s + z is a histogram, (P, B), and the steps z for which any is."""
    near = steps[np.all(steps >= -rows.max(axis=0), axis=1)]
    inside = np.ones((len(near), len(rows)), dtype=bool)
    for column, counts in zip(near.T, rows.T, strict=True):
        inside &= column[:, None] >= -counts
    used = inside.any(axis=1)
    return inside[used], near[used]


def on_ring(
    space: Simplex, rows: Numbers, steps: Numbers, inside: NDArray[np.bool_], table: Array
) -> tuple[NDArray[np.int32], Array]:
    """Return the classes of the data s + z and their distances to s, as in `Ring`."""
    logs, middle = np.zeros(inside.shape), table.shape[1] // 2
    flat, stride = np.zeros(inside.shape, dtype=np.int64), (space.n + 1) ** (space.k - 2)
    for i in range(space.k):
        logs -= table[rows[:, i], steps[:, i, None] + middle]
        if i < space.k - 1:
            flat += stride * (rows[:, i] + steps[:, i, None])
            stride //= space.n + 1
    place = space.place.ravel()[np.where(inside, flat, 0)]
    place[~inside] = len(space.rows)
    return place, np.where(inside, distance_from_log_affinity(logs), 0.0)


def inward_edges(
    inner: Numbers, outer: Numbers, core: Numbers | None = None
) -> list[tuple[Numbers, Numbers, Array]]:
    """Return for every pair (i, j) the ways from `outer` steps to those one ring further `inner`.

    The steps z for which z - e_i + e_j stands in `inner`, and the part y_i |y_j| / d^2 of the
    straight way to the core, y = z - c, in the mean over the nearest steps c of the `core`; without
    one the core is 0.
    """
    k, found = inner.shape[1], []
    apart = outer[:, None] - (np.zeros((1, k), dtype=np.int64) if core is None else core)
    away = np.abs(apart).sum(axis=2) // 2
    near = away == away.min(axis=1, keepdims=True)
    scale = near / (near.sum(axis=1) * np.maximum(away.min(axis=1), 1) ** 2)[:, None]
    strides = (2 * int(np.abs(outer).max()) + 3) ** np.arange(k)
    keys = inner @ strides
    order = np.argsort(keys)
    for i, j in permutations(range(k), 2):
        part = (scale * np.maximum(apart[..., i], 0) * np.maximum(-apart[..., j], 0)).sum(axis=1)
        start = np.flatnonzero(part > 0.0)
        wanted = outer[start] @ strides - strides[i] + strides[j]
        end = order[np.searchsorted(keys, wanted, sorter=order)]
        found.append((start, end, part[start]))
    return found
