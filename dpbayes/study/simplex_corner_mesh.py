"""A lower bound from corners of boxes whose factors come from linear programs over a mesh.

The certificate of `simplex_corner_bound`, with shares of its own at each corner. Columns of some
corners and the program take turns until no column undercuts; then all corners are gone through, and
factors fall where one still undercuts. What is returned is checked at every corner.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from dpbayes import _validate
from dpbayes.study.simplex_box_bound import MARGIN
from dpbayes.study.simplex_boxes import Boxes, alike, sorted_rows
from dpbayes.study.simplex_corner_bound import CornerBound, Search, searched
from dpbayes.study.simplex_corner_sideways import SidewaysWindow
from dpbayes.study.simplex_corner_windows import OwnWindow, Ways, all_ways
from dpbayes.study.simplex_corners import CornerWindow
from dpbayes.study.simplex_windows import Array, Numbers

_SINGLES, _RATIO, _SHIFT = (
    3,
    1.4,
    2.0,
)  # nodes: single counts, their ratio, and before the logarithm
_FINER = 2.0  # answers are drawn from cells so many times finer than the mesh, in each direction
_BEGIN, _MOST = 0.97, 1.15  # part of local means where ratios begin, and what they are at most
_MOVE, _SHORTER, _HALVED = 0.03, 0.88, 0.6  # how far ratios move in a turn, and how that shrinks
_DOWN = 4.0  # times that they may fall
_AGAIN_MOVE = 0.004  # at first, once corners have joined that a proof has shown
_FIRST, _AGAIN, _ALONE = 12, 3, (6, 40)  # rounds of shares: first turn, others, for the proof
_PENALTY, _STRICT, _LAST = 3.0, 10.0, 4  # for what undercuts; in so many last turns
_EACH = 0.2  # part of the mean that a corner counts for at least
_LEFT = 1e-7  # less weight of a node in a column is left out of the program
_ADDED, _WORST = 2500, 0.005  # corners that join after a proof, and what they lack of the distances
_FALLS, _NEAR, _PROOFS = 16, 5, 2  # steps of a fall; rings that count in it; proofs
_BLOCK, _ALIKE = 400_000, 64  # data gone through together, and corners that choose their steps


def mesh_bound(
    n: int,
    epsilon: float,
    k: int = 4,
    prior: float = 1.0,
    ratio: float = 1.1,
    radius: int | None = None,
    answers: int = 5000,
    turns: int = 12,
    mesh: float = 1.4,
) -> CornerBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    As `corner_bound`, for wider noise: slower, and sharper. Columns of `answers` corners decide in
    so many `turns` how high prices are; counts at the nodes of their mesh differ by the factor
    `mesh`. Book: `thm-simplex-corners`.

    >>> found = mesh_bound(20, 1.0, 3, turns=6)
    >>> bool(0.318 < found.lower < 0.325)
    True
    """
    search = searched(n, epsilon, k, prior, ratio, radius)
    some = _validate.integer("answers", answers, minimum=1)
    rounds = _validate.integer("turns", turns, minimum=_LAST + 1)
    between = _validate.real("mesh", mesh)
    if not 1.0 < between <= 3.0:
        raise ValueError(f"mesh must be in (1, 3], got {mesh!r}")
    program = Program(search, some, between)
    ratios = program.solved(program.begun(), rounds, _MOVE)
    factors = program.factors(ratios)
    values, apart = every_value(search, factors)
    missing, short = values / apart, np.maximum(-values, 0.0)
    worst = np.argsort(missing)[:_ADDED]
    program.join(np.setdiff1d(worst[missing[worst] < -_WORST], program.at))
    factors = program.factors(program.solved(ratios, _LAST, _AGAIN_MOVE))
    best = -np.inf, factors
    for number in range(_PROOFS):
        if number > 0:
            factors = fallen(search, factors, short)
        values, apart = every_value(search, factors)
        short = np.maximum(-values, 0.0)
        # Where all prices around an answer fall by this part, nothing undercuts them there.
        kept = factors * (1.0 - float((short / (apart + short)).max()))
        lower = search.mean(kept) - MARGIN
        if lower > best[0]:
            best = lower, kept
    return search.bound(*best)


def own_window(search: Search, at: Numbers, ways: list[Ways]) -> OwnWindow:
    """Return the corners `at` with the data around them."""
    corners, shape = search.corners, search.shape
    if search.sideways:
        rings, local, wide = search.rings, search.local, search.plateau
        return SidewaysWindow(corners, at, rings, shape, search.q, search.far, local, wide)
    return OwnWindow(corners, at, search.rings, ways, shape, search.q, search.far)


def blocks(at: Numbers, search: Search, corners: Numbers | None = None) -> Iterator[Numbers]:
    """Yield corners `at` in blocks whose data are gone through together.

    Or, if `corners` are given, the numbers `at` of some of those.
    """
    many = max(1, _BLOCK // sum(len(one.steps) for one in search.rings))
    if not search.sideways:
        yield from np.array_split(at, -(-len(at) // many)) if at.size else ()
        return
    # Corners that are alike are near the same data, and learn from each other.
    levels = search.corners.levels[at if corners is None else corners[at]].astype(np.int16)
    most = many if search.plateau is None else min(many, _ALIKE)
    yield from (at[some] for some in alike(levels, most) if some.size)


def every_value(search: Search, factors: Array) -> tuple[Array, Array]:
    """Return V and distances at every corner, both (V,), each with shares of its own.

    The distances are the sum of e^(-epsilon d) H around.
    """
    size, held = len(search.corners.places), search.highest(factors)
    ways = all_ways(search.boxes.k, len(search.rings) - 1)
    values, apart = np.full(size, -np.inf), np.empty(size)
    for rounds in _ALONE:
        # Those that undercut learn again, and for longer.
        for at in blocks(np.flatnonzero(values < 0.0), search):
            window = own_window(search, at, ways)
            window.begin(held)
            for number in range(rounds):
                values[at] = np.maximum(values[at], window.values())
                if number == rounds - 1 or values[at].min() >= 0.0:
                    break
                window.learn()
            apart[at] = window.apart
    return values, apart


def fallen(search: Search, factors: Array, short: Array) -> Array:
    """Return factors that fall so that each corner gains about what it is `short` of, (V,).

    The fall b of the prices with the sum of e^(-epsilon d) b around at least that, in some steps.
    """
    fall, held = np.zeros(len(factors)), search.highest(factors)
    at, missing = np.flatnonzero(short > 0.0), np.zeros(len(short))
    kernel = gained(search, held, np.ones(len(factors)), at)
    for _ in range(_FALLS):
        missing[at] = np.maximum(short[at] - gained(search, held, fall, at), 0.0) / kernel
        fall = fall + missing[search.corners.of_box].max(axis=1)
    return np.asarray(factors * (1.0 - np.minimum(fall, 1.0)))


def gained(search: Search, held: Array, fall: Array, corners: Numbers) -> Array:
    """Return the sum of e^(-epsilon d) b around each of the `corners`, on the rings that are near.

    b is the part `fall` (M,) of the prices with the highest factors `held`.
    """
    least = -search.highest(-fall)
    prices = np.where(np.isfinite(least) & np.isfinite(held), held * least, 0.0)
    found, near = np.zeros(len(corners)), search.rings[: _NEAR + 1]
    for at in blocks(np.arange(len(found)), search):
        window = CornerWindow(search.corners, corners[at])
        for d, one in enumerate(near):
            inside = window.inside(one.steps)
            place = window.places(one.steps, window.low_levels) + window.table
            worth = window.worth(search.shape, one.steps, inside)
            found[at] += search.q**d * (np.where(inside, prices[place], 0.0) * worth).sum(axis=0)
    return found


class Program:
    """Ratios at the `nodes` of a mesh, straight in between, and the columns that limit them.

    `at` are the corners whose columns are formed.
    """

    def __init__(self, search: Search, answers: int, mesh: float) -> None:
        self.search, self.windows = search, list[OwnWindow]()
        self.at, found = np.empty(0, dtype=np.int64), search.boxes
        counts = _node_counts(found.n, mesh)
        self.between = _between(found, counts)
        self.nodes = self.between.shape[1]
        self.boxes = self.between[found.places]
        self.weights = self.boxes.T @ (search.means * found.rows / found.rows.sum())
        cells = np.floor(_FINER * _placed(search.corners.counts[:, :-1], counts))
        self.join(_drawn(cells, answers))

    def join(self, at: Numbers) -> None:
        """Let the corners `at` limit the ratios, too."""
        search = self.search
        ways = all_ways(search.boxes.k, len(search.rings) - 1)
        for some in blocks(at, search):
            self.windows.append(own_window(search, some, ways))
        self.at = np.concatenate([one.at for one in self.windows])
        # The part of all data around each of these corners, at least a part of the mean.
        near = self.between[search.corners.places[self.at]]
        whole = np.maximum(near.T @ np.ones(len(self.at)), 1e-9)
        least = _EACH * float(self.weights.sum()) / len(self.at)
        self.each = np.maximum(near @ (self.weights / whole), least)

    def begun(self) -> Array:
        """Return ratios at which prices are near the local means of the noise e^(-epsilon d)."""
        search = self.search
        near = search.local / search.shape.of_rows(search.corners.counts)
        whole = self.boxes.T @ np.ones(self.boxes.shape[0])
        return np.asarray(
            _BEGIN * (self.boxes.T @ near[search.corners.of_box].mean(axis=1)) / whole
        )

    def factors(self, ratios: Array) -> Array:
        """Return the factor of each box, (M,)."""
        return np.asarray(np.minimum(self.boxes @ ratios, self.search.ceiling))

    def solved(self, ratios: Array, turns: int, move: float) -> Array:
        """Return the ratios, from some on, at which columns cost least of the mean price."""
        best = -np.inf, ratios
        for turn in range(turns):
            penalty = _PENALTY if turn < turns - _LAST else _STRICT
            if turn == turns - _LAST:
                best = -np.inf, ratios
            values, slopes = self._straight(ratios, _AGAIN if turn else _FIRST)
            worth = self.weights @ ratios - penalty * (self.each @ np.maximum(-values, 0.0))
            if worth > best[0]:
                best = float(worth), ratios
            elif worth < (1.0 - 1e-4) * best[0]:
                move *= _HALVED
            ratios, move = self._raised(ratios, values, slopes, move, penalty), _SHORTER * move
        return np.asarray(best[1])

    def scale(self, window: OwnWindow) -> Array:
        """Return what V at the corners of a window is measured against: distances around."""
        return np.asarray(window.apart)

    def _straight(self, ratios: Array, rounds: int) -> tuple[Array, sparse.csr_array]:
        # V at each corner by its scale, and by how much it falls with the ratios.
        factors = self.factors(ratios)
        # What V falls with.
        held, box = self.search.highest_box(factors)
        values, slopes = [], []
        for before, one in zip([None, *self.windows], self.windows, strict=False):
            one.begin(held)
            if before is not None and rounds == _FIRST:
                one.taught(before)
            for _ in range(rounds):
                one.values()
                one.learn()
            value = one.values()
            scale = self.scale(one)
            values.append(value / scale)
            parts = [
                summed(worth / scale, box[place], len(factors)) for place, worth in one.around()
            ]
            around = sum(parts[1:], start=parts[0])
            slope = sparse.csr_array(around @ self.boxes)
            slope.data[np.abs(slope.data) < _LEFT] = 0.0
            slope.eliminate_zeros()
            slopes.append(slope)
        return np.concatenate(values), sparse.vstack(slopes).tocsr()

    def _raised(
        self, ratios: Array, values: Array, slopes: sparse.csr_array, move: float, penalty: float
    ) -> Array:
        optimize: Any = import_module("scipy.optimize")
        limits: Any = sparse.hstack([slopes, -sparse.eye_array(values.size)])
        high = np.minimum(ratios * (1.0 + move), np.maximum(_MOST, ratios))
        low = ratios * (1.0 - _DOWN * move)
        short = np.tile([0.0, np.inf], (values.size, 1))
        found = optimize.linprog(
            np.append(-self.weights, penalty * self.each),
            limits.tocsr(),
            values + slopes @ ratios,
            bounds=np.vstack([np.column_stack([low, high]), short]),
            method="highs-ipm",
        )
        return np.asarray(found.x[: ratios.size]) if found.success else ratios


def summed(entries: Array, columns: Numbers, size: int) -> sparse.csr_array:
    """Return what of the `entries` (P, B) stands in each column, one row for each of B, (B, size).

    >>> summed(np.ones((3, 1)), np.array([[1], [0], [1]]), 2).toarray().tolist()
    [[1.0, 2.0]]
    """
    owner = np.broadcast_to(np.arange(entries.shape[1]), entries.shape)
    shape = (entries.shape[1], size)
    return sparse.csr_array((entries.ravel(), (owner.ravel(), columns.ravel())), shape=shape)


def _node_counts(n: int, ratio: float) -> Array:
    found, count = [], 0
    while count <= n // 2 + 1:
        found.append(count)
        count += 1 if count < _SINGLES else max(1, round((ratio - 1.0) * (count + 1)))
    return np.append(found, n // 2 + 2.0)


def _placed(counts: Array | Numbers, nodes: Array) -> Array:
    # Where counts are among the nodes, straight in logarithms.
    return np.interp(np.log(counts + _SHIFT), np.log(nodes + _SHIFT), np.arange(len(nodes)))


def _between(found: Boxes, counts: Array) -> sparse.csr_array:
    # For every place the weights of the nodes around the middle of its levels, (size, nodes): on
    # the simplex of a cell along the diagonals, whose corners are sorted where the row is.
    columns = found.k - 1
    rows = sorted_rows(len(found.starts), columns).astype(np.int64)
    at = np.flatnonzero(found.n - found.starts[rows].sum(axis=1) >= found.starts[rows[:, -1]])
    placed = _placed(((found.starts + found.ends) / 2.0)[rows[at]], counts)
    corner = np.minimum(placed.astype(np.int64), len(counts) - 2)
    part = placed - corner
    order = np.argsort(-(part + 1e-9 * np.arange(columns)), axis=1, kind="stable")
    steps = np.take_along_axis(part, order, axis=1)
    none, one = np.zeros((len(at), 1)), np.ones((len(at), 1))
    weights = np.hstack([one, steps]) - np.hstack([steps, none])
    strides, keys = len(counts) ** np.arange(columns), []
    for column in range(-1, columns):
        if column >= 0:
            corner[np.arange(len(at)), order[:, column]] += 1
        keys.append(np.sort(corner, axis=1) @ strides)
    used = weights > 1e-12
    nodes, number = np.unique(np.column_stack(keys)[used], return_inverse=True)
    owner = np.broadcast_to(at[:, None], used.shape)[used]
    shape = (len(rows), len(nodes))
    return sparse.csr_array((weights[used], (owner, number.ravel())), shape=shape)


def _drawn(cells: Array, count: int) -> Numbers:
    # So many rows in a random order, the same number from each cell as far as there are.
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    order = np.random.default_rng(0).permutation(len(cells))
    by_cell = np.argsort(cell.ravel()[order], kind="stable")
    sorted_cells = cell.ravel()[order][by_cell]
    rank = np.empty(len(cells), dtype=np.int64)
    rank[by_cell] = np.arange(len(cells)) - np.searchsorted(sorted_cells, sorted_cells)
    # Where there are more cells than answers, those that get one lie everywhere.
    return np.asarray(np.sort(order[np.argsort(rank, kind="stable")][:count]), dtype=np.int64)
