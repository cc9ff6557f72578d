"""Prices of a lower bound on a mesh of data, with straight lines in between: wide noise.

Three categories. Prices over what segments cost vary slowly where counts are large, so a few
hundred of them say all. They are found turn by turn: around each answer of a finer mesh the
cheapest column is held fast, and a linear program raises the prices as far as these columns allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay

from dpbayes import _validate
from dpbayes.study.simplex import Simplex, ring
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_segments import segment_costs, segment_prices
from dpbayes.study.simplex_windows import Array, Numbers, Windows, inside_of, on_ring

_SINGLES, _SHIFT = 12, 4.0  # single levels of counts, and what is added before the logarithm
_ANSWERS, _PRICES = 1.11, 1.3  # ratios of the larger levels, for answers and for prices
_EDGE, _LEAST = 5, 0.9  # where segments no longer tell prices, and what part of the mean they have
_BLOCK, _STEP = 400_000, 3  # data gone through together, and how much radii in a block may differ
_REACH = 8.0  # windows go this many times 1/epsilon beyond what is nearer than the price
_BARE = 4  # answers with a count below this have no segment for a core
_PART = 0.97  # of the mean of lattice noise, where prices begin
_MOVE, _SHORTER, _HALVED = 0.1, 0.93, 0.6  # how far prices move in a turn, and how that shrinks
_FIRST, _AGAIN = 12, 3  # rounds in which shares are learned, before the first turn and the others
_WIDTHS, _NARROWER = (0.3, 0.08), 0.9  # below which part of its price V counts as 0: first, last
_PENALTY = 3.0  # for what still undercuts, in units of what a lower price would cost
_LEFT = 1e-9  # data of less weight in a column are left out of the program


@dataclass(frozen=True)
class Mesh:
    """Some classes of data `at` (N,), and how the others lie between them.

    Row after row `between` (M, N) has three weights that sum to one: a value for each node becomes
    one for each class, on triangles that are straight in the logarithms of the counts.
    """

    at: Numbers
    between: sparse.csr_array


def mesh(space: Simplex, ratio: float) -> Mesh:
    """Return a mesh of all small counts, and of larger ones that differ by the `ratio`.

    >>> from dpbayes.study.simplex import simplex
    >>> space = simplex(100)
    >>> found = mesh(space, 1.15)
    >>> len(space.rows), len(found.at), bool(np.allclose(found.between.sum(axis=1), 1.0))
    (884, 532, True)
    """
    nodes = set()
    for first in {*_levels(space.n // 3, ratio), space.n // 3}:
        last = (space.n - first) // 2
        second = {first, *_levels(last, ratio), *(last - one for one in _levels(40, 1.5))}
        nodes |= {(first, one) for one in second if first <= one <= last}
    rows = np.array(sorted(nodes))
    at = np.asarray(space.place[tuple(rows.T)], dtype=np.int64)
    points, every = np.log(rows + _SHIFT), np.log(space.rows[:, :2] + _SHIFT)
    triangles = Delaunay(points, qhull_options="QJ Pp")
    place = triangles.find_simplex(every)
    turned = triangles.transform[place]
    weights = np.einsum("mij,mj->mi", turned[:, :2], every - turned[:, 2])
    weights = np.clip(np.column_stack([weights, 1.0 - weights.sum(axis=1)]), 0.0, 1.0)
    corners = triangles.simplices[place]
    # Where the last count rounds a row out of all triangles, its nearest node alone counts.
    for number in np.flatnonzero(place < 0):
        corners[number] = ((points - every[number]) ** 2).sum(axis=1).argmin()
        weights[number] = 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    owner = np.repeat(np.arange(len(every)), 3)
    shape = (len(every), at.size)
    return Mesh(at, sparse.csr_array((weights.ravel(), (owner, corners.ravel())), shape=shape))


def _levels(top: int, ratio: float) -> list[int]:
    found, count = [], 0
    while count <= top:
        found.append(count)
        count += 1 if count < _SINGLES else max(1, int((ratio - 1.0) * count))
    return found


def mesh_prices(space: Simplex, epsilon: float, turns: int) -> tuple[Array, Numbers]:
    """Return prices v (M,) and lengths (M,) of cores with which little is undercut.

    More `turns` of the search bring higher prices. A starting point for a bound, no bound itself.
    Raises ValueError for other than three categories. Book: `thm-simplex-certificate`.

    >>> from dpbayes.study.simplex import simplex
    >>> space = simplex(40)
    >>> prices, lengths = mesh_prices(space, 1.0, 4)
    >>> bool(0.27 < space.mean(prices) < 0.275)
    True
    """
    if space.k != 3:
        raise ValueError(f"a mesh is for k = 3 categories, got {space.k}")
    _validate.integer("turns", turns, minimum=1)
    search = _Search(space, _validate.positive("epsilon", epsilon))
    ratios, move, best = np.full(search.mesh.at.size, _PART), _MOVE, (-np.inf, np.empty(0))
    search.learn(ratios, _FIRST)
    for _ in range(turns):
        search.learn(ratios, _AGAIN)
        values, slopes = search.straight(ratios)
        worth = search.worth(ratios, values)
        if worth > best[0]:
            best = worth, ratios
        elif worth < (1.0 - 1e-4) * best[0]:
            move *= _HALVED
        ratios, move = search.raised(ratios, values, slopes, move), _SHORTER * move
    return search.prices(best[1]), search.lengths


class _Search:
    # Prices are the `scale`, what segments cost, times a ratio for each node of the coarse mesh,
    # straight in between. Answers are the nodes of the fine mesh.
    def __init__(self, space: Simplex, epsilon: float) -> None:
        grid, answers, self.space = Grid(space, epsilon), mesh(space, _ANSWERS), space
        self.mesh, self.q, self.round = mesh(space, _PRICES), float(np.exp(-epsilon)), 0
        near, at = grid.times(np.ones(len(space.rows))), answers.at
        mean = segment_costs(space, epsilon, [0])[0] / near
        segments, lengths = segment_prices(space, epsilon)
        inner = space.rows[:, 0] >= _EDGE
        self.scale = np.where(inner, np.clip(segments, _LEAST * mean, mean), mean)
        self.lengths, self.unit = cores(space, lengths), near[at] * self.scale[at]
        self.windows = list(windows(space, epsilon, at, self.lengths, radii(space, mean)))
        self.node = np.full(len(space.rows), -1)
        self.node[at] = np.arange(at.size)
        parts = space.copies * self.scale / space.copies.sum()
        self.weights, self.each = self.mesh.between.T @ parts, answers.between.T @ parts

    def prices(self, ratios: Array) -> Array:
        return np.asarray(self.scale * (self.mesh.between @ ratios))

    def learn(self, ratios: Array, rounds: int) -> None:
        prices = self.prices(ratios)
        for _ in range(rounds):
            width = max(_WIDTHS[0] * _NARROWER**self.round, _WIDTHS[1])
            for one in self.windows:
                one.learn(one.values(prices, self.q)[0], prices, self.q, width)
            self.round += 1

    def straight(self, ratios: Array) -> tuple[Array, sparse.csr_array]:
        # V at each answer of the mesh, and by how much it falls with the ratio at each node.
        prices, size = self.prices(ratios), self.unit.size
        values, parts = np.zeros(size), []
        for one in self.windows:
            found, factors = one.values(prices, self.q)
            node = self.node[one.at]
            values[node] = found[0][one.middle]
            for column, near in zip(one.columns(factors), one.rings, strict=True):
                kept = column > _LEFT
                owner = np.broadcast_to(node, column.shape)[kept]
                parts.append((column[kept], owner, near.place[kept]))
        data, owner, place = (np.concatenate(part) for part in zip(*parts, strict=True))
        columns = sparse.csr_array((data, (owner, place)), shape=(size, len(prices) + 1))
        return values, columns[:, :-1] @ sparse.diags_array(self.scale) @ self.mesh.between

    def worth(self, ratios: Array, values: Array) -> float:
        # About the bound: each answer that undercuts lowers its price by as much.
        return float(self.weights @ ratios - self.each @ np.maximum(-values / self.unit, 0.0))

    def raised(self, ratios: Array, values: Array, slopes: sparse.csr_array, move: float) -> Array:
        # The ratios, none changed by more than the part `move`, of the largest mean price at which
        # no column as it is now undercuts; where one does that costs more than it brings.
        optimize: Any = import_module("scipy.optimize")
        units = sparse.diags_array(1.0 / self.unit)
        limits = sparse.hstack([units @ slopes, -sparse.eye_array(values.size)]).tocsr()
        ends = np.column_stack([ratios * (1.0 - move), ratios * (1.0 + move)])
        short = np.tile([0.0, np.inf], (values.size, 1))
        found = optimize.linprog(
            np.append(-self.weights, _PENALTY * self.each),
            limits,
            (values + slopes @ ratios) / self.unit,
            bounds=np.vstack([ends, short]),
            method="highs-ipm",
        )
        return np.asarray(found.x[: ratios.size]) if found.success else ratios


def cores(space: Simplex, lengths: Numbers) -> Numbers:
    """Return the `lengths` (M,) of segments that are inside and not near an edge, 0 elsewhere."""
    half = lengths // 2
    inside = (space.rows[:, 1] >= half) & (space.rows[:, 2] >= lengths - half)
    return np.where(inside & (space.rows[:, 0] >= _BARE), lengths, 0)


def radii(space: Simplex, prices: Array) -> Numbers:
    """Return how far data are nearer to each class than their price, in replaced records, (M,)."""
    table, held = space.affinities(space.n), np.append(prices, 0.0)
    found = np.zeros(len(space.rows), dtype=np.int64)
    for live in np.split(np.arange(found.size), range(0, found.size, 2_000))[1:]:
        for d in range(1, space.n + 1):
            inside, kept = inside_of(space.rows[live], ring(3, d))
            place, distance = on_ring(space, space.rows[live], kept, inside, table)
            live = live[(inside & (distance < held[place])).any(axis=0)]
            found[live] = d
            if not live.size:
                break
    return found


def windows(
    space: Simplex, epsilon: float, at: Numbers, lengths: Numbers, reached: Numbers
) -> Iterator[Windows]:
    """Yield windows around the classes `at`, those of like lengths and radii together."""
    table, tops = space.affinities(space.n), -(-reached // _STEP) * _STEP
    far = int(np.ceil(_REACH / epsilon))
    for length, top in sorted({*zip(lengths[at].tolist(), tops[at].tolist(), strict=True)}):
        alike = at[(lengths[at] == length) & (tops[at] == top)]
        radius = min(top + far, space.n)
        many = max(16, _BLOCK // (3 * radius * (radius + 1)))
        for start in range(0, alike.size, many):
            part = alike[start : start + many]
            yield Windows(space, part, radius, top + _STEP, table, length)
