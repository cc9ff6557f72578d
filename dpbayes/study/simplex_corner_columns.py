"""A lower bound from corners of boxes, where each column counts by the prices it is charged.

As `simplex_corner_mesh`. Wide noise among many records has columns whose mass is far from the
answer: V there is large and negative although prices are too high by a little. So what is lacking
is measured against the prices in the column. For corners that undercut, prices fall where that
costs least, which a linear program over the mesh decides, until none does. Data pass on to
neighbours in the same ring, too, and windows reach farther than shares are learned: beyond they
stay straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpbayes import _validate
from dpbayes.study.simplex_box_bound import MARGIN
from dpbayes.study.simplex_corner_bound import CornerBound, Search, searched
from dpbayes.study.simplex_corner_mesh import Program, blocks, own_window, summed
from dpbayes.study.simplex_corner_windows import OwnWindow, all_ways
from dpbayes.study.simplex_windows import Array, Numbers

_MOVE = 0.03  # how far ratios move in a turn at first
_ROUNDS = (2, 4, 8, 30)  # rounds of shares: for all corners, then for those that undercut
_PASSES, _MESH = 16, 10  # falls until no corner undercuts; first those over the mesh
_FARTHER, _LEAST = 1.1, 5e-5  # how much more prices fall than a column asks for, and at least
_HIGHEST, _DEAR = 0.5, 10.0  # most by which a node falls at once; times what a corner costs
_MOST = 0.2  # of what is owed: who lacks more asks it of all data around


def column_bound(
    n: int,
    epsilon: float,
    k: int = 4,
    prior: float = 1.0,
    ratio: float = 1.1,
    radius: int | None = None,
    answers: int = 6000,
    turns: int = 12,
    mesh: float = 1.6,
    learned: int | None = None,
    reserve: float = 0.0,
    plateau: float | None = None,
) -> CornerBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    With the arguments of `mesh_bound`; about ten `answers` for each node of the mesh are enough.
    If `learned` is given, shares are learned for so many of the `radius` rings, there for ways in a
    ring as well, and stay straight on the others: a higher bound in less time and memory. A few
    rings more than an answer is nearer than its price are enough. If `plateau` is given as well,
    shares are learned for the data whose distance to a corner is at most so many times the mean
    distance there, whatever their ring, and for no others. Before the proof all prices fall by the
    part `reserve`: then fewer corners undercut, and the proof takes less time.
    Book: `thm-simplex-corners`.

    >>> found = column_bound(20, 1.0, 3, turns=8)
    >>> bool(0.318 < found.lower < 0.325)
    True
    """
    beside = learned is not None
    wide = None if plateau is None else _validate.positive("plateau", plateau)
    if wide is not None and not beside:
        raise ValueError(f"plateau must be None where learned is, got {plateau!r}")
    search = searched(n, epsilon, k, prior, ratio, radius, 1, learned, beside, wide)
    some = _validate.integer("answers", answers, minimum=1)
    rounds = _validate.integer("turns", turns, minimum=5)
    between = _validate.real("mesh", mesh)
    if not 1.0 < between <= 3.0:
        raise ValueError(f"mesh must be in (1, 3], got {mesh!r}")
    less = 1.0 - _validate.real("reserve", reserve)
    if not 0.0 < less <= 1.0:
        raise ValueError(f"reserve must be in [0, 1), got {reserve!r}")
    program = ByPrices(search, some, between)
    factors = program.factors(program.solved(program.begun(), rounds, _MOVE))
    nodes = program.boxes
    del program
    kept = proved(search, factors * less, nodes)
    return search.bound(search.mean(kept) - MARGIN, kept)


class ByPrices(Program):
    """A program in which V counts as a part of the prices in its column."""

    def scale(self, window: OwnWindow) -> Array:
        """Return what the prices around are in the columns of a window."""
        return window.charged()


@dataclass
class Valued:
    """V at some corners, and the distances around, each (B,).

    Where V is negative, `lacks` says what part of the prices in its column that is, and `around`
    (., M) how these prices are spread over the boxes. `fall` (M,) is the part by which factors
    would fall if each of these corners asked it of the data in its column that owe.
    """

    value: Array
    apart: Array
    lacks: Array
    around: sparse.csr_array
    fall: Array


def valued(search: Search, factors: Array, at: Numbers, rounds: tuple[int, ...]) -> Valued:
    """Return V at the corners `at`, by shares learned in so many `rounds`; last by those below 0.

    Data owe whose prices are above what is left over there.
    """
    held, box = search.highest_box(factors)
    ways = all_ways(search.boxes.k, len(search.rings) - 1)
    value, asked, apart = np.full(len(at), -np.inf), np.zeros(len(held)), np.empty(len(at))
    lacks, found, owners = np.zeros(len(at)), [sparse.csr_array((0, len(factors)))], [at[:0]]
    for last, number in zip([*[False] * (len(rounds) - 1), True], rounds, strict=True):
        # Those that undercut learn again, and for longer. Each begins as those before it ended.
        before = None
        for some in blocks(np.flatnonzero(value < 0.0), search, at):
            window = own_window(search, at[some], ways)
            window.begin(held)
            if before is not None:
                window.taught(before)
            before = window
            for turn in range(number):
                value[some] = np.maximum(value[some], window.values())
                if turn == number - 1 or value[some].min() >= 0.0:
                    break
                window.learn()
            apart[some] = window.apart
            bad = value[some] < 0.0
            if not last or not bad.any():
                continue
            charges = list(window.charges())
            charged = np.maximum(sum(prices.sum(axis=0) for _, prices, _ in charges), 1e-300)
            lacks[some] = np.maximum(-value[some], 0.0) / charged
            each = [
                summed(prices / charged, box[place], len(factors)) for place, prices, _ in charges
            ]
            found.append(sparse.csr_array(sum(each[1:], start=each[0])[bad]))
            owners.append(some[bad])
            _ask(asked, charges, lacks[some])
    order = np.argsort(np.concatenate(owners))
    around = sparse.csr_array(sparse.vstack(found).tocsr()[order])
    return Valued(value, apart, lacks, around, search.fall(asked))


def _ask(
    asked: Array, charges: list[tuple[Numbers, Array, NDArray[np.bool_]]], lacks: Array
) -> None:
    # Let prices that are owed fall together by what a corner lacks, and a little more.
    whole = sum(prices.sum(axis=0) for _, prices, _ in charges)
    some = sum(np.where(owed, prices, 0.0).sum(axis=0) for _, prices, owed in charges)
    few = lacks * whole > _MOST * some
    part = lacks * whole / np.maximum(np.where(few, whole, some), 1e-300)
    part = np.where(lacks > 0.0, np.minimum(_FARTHER * part + _LEAST, 1.0), 0.0)
    for place, prices, owed in charges:
        at = (owed | few) & (prices > 0.0)
        np.maximum.at(asked, place[at], np.broadcast_to(part, place.shape)[at])


def proved(search: Search, factors: Array, nodes: sparse.csr_array) -> Array:
    """Return factors, no higher, at which V is not negative at any corner.

    Where prices fall V only rises: a corner that does not undercut is not looked at again. `nodes`
    (M, N) are the weights of the nodes of a mesh in each box.
    """
    at = np.arange(len(search.corners.places))
    for number in range(_PASSES + 1):
        found = valued(search, factors, at, _ROUNDS[-1:] if number else _ROUNDS)
        bad = found.value < 0.0
        if not bad.any():
            break
        at, short = at[bad], -found.value[bad]
        if number == _PASSES:
            return np.asarray(factors * (1.0 - float((short / (found.apart[bad] + short)).max())))
        fall = found.fall
        if number < _MESH:
            fall = cheapest(search, factors, nodes, found.around @ nodes, found.lacks[bad])
        factors = factors * (1.0 - fall)
    return factors


def cheapest(
    search: Search, factors: Array, nodes: sparse.csr_array, around: sparse.csr_array, lacks: Array
) -> Array:
    """Return the fall (M,) that costs the mean price least and gives each column what it lacks.

    Straight between the nodes. Of a column that cannot be served the rest is left for later.
    """
    optimize: Any = import_module("scipy.optimize")
    boxes, columns = search.boxes, len(lacks)
    cost = nodes.T @ (search.means * boxes.rows / boxes.rows.sum() * factors)
    limits: Any = sparse.hstack([around, sparse.eye_array(columns)])
    found = optimize.linprog(
        np.append(cost, np.full(columns, _DEAR * float(cost.sum()) / columns)),
        -limits.tocsr(),
        -np.minimum(_FARTHER * lacks + _LEAST, 1.0),
        bounds=[*[(0.0, _HIGHEST)] * len(cost), *[(0.0, None)] * columns],
        method="highs-ipm",
    )
    if not found.success:
        return np.zeros(len(factors))
    return np.asarray(np.clip(nodes @ found.x[: len(cost)], 0.0, 1.0))
