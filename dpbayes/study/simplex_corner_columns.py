"""A lower bound from corners of boxes, where each column counts by the prices it is charged.

As `simplex_corner_mesh`. Wide noise among many records has columns whose mass is far from the
answer: V there is large and negative although prices are too high by a little. So what is lacking
is measured against the prices in the column. Prices fall near corners that undercut, until none
does; where much is lacking they fall in the column. Data pass on to neighbours in the same ring,
too, and windows reach farther than shares are learned: beyond they stay straight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbayes import _validate
from dpbayes.study.simplex_box_bound import MARGIN
from dpbayes.study.simplex_corner_bound import CornerBound, Search, searched
from dpbayes.study.simplex_corner_mesh import Program, blocks, fallen, gained, own_window
from dpbayes.study.simplex_corner_windows import OwnWindow, all_ways
from dpbayes.study.simplex_windows import Array, Numbers

_MOVE = 0.03  # how far ratios move in a turn at first
_ROUNDS = (6, 30)  # rounds of shares: for all corners, then for those that undercut
_PASSES, _NEAR = 12, (2, 4)  # falls until no corner undercuts; those that are near the corner
_FAR = (
    0.1  # part of the prices: who lacks more asks it of the data that owe, from the first fall on
)
_FARTHER, _LEAST = 1.2, 2e-5  # how much more prices fall than a column asks for, and at least
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
    del program
    kept = proved(search, factors * less)
    return search.bound(search.mean(kept) - MARGIN, kept)


class ByPrices(Program):
    """A program in which V counts as a part of the prices in its column."""

    def scale(self, window: OwnWindow) -> Array:
        """Return what the prices around are in the columns of a window."""
        return window.charged()


@dataclass
class Valued:
    """V at some corners, and the distances around, each (B,).

    `charged` (B,) are the prices in the column of V where that is negative, `fall` (M,) is the part
    by which factors shall fall for the corners that lack much.
    """

    value: Array
    apart: Array
    charged: Array
    fall: Array


def valued(
    search: Search, factors: Array, at: Numbers, rounds: tuple[int, ...], much: float = 0.0
) -> Valued:
    """Return V at the corners `at`, and a fall for those that lack more than that part of prices.

    It is asked of the data that owe, whose prices are above what is left over there.
    """
    held, ways = search.highest(factors), all_ways(search.boxes.k, len(search.rings) - 1)
    value, asked = np.full(len(at), -np.inf), np.zeros(len(held))
    apart, charged = np.empty(len(at)), np.full(len(at), np.inf)
    for last, number in zip([*[False] * (len(rounds) - 1), True], rounds, strict=True):
        # Those that undercut learn again, and for longer.
        for some in blocks(np.flatnonzero(value < 0.0), search, at):
            window = own_window(search, at[some], ways)
            window.begin(held)
            for turn in range(number):
                value[some] = np.maximum(value[some], window.values())
                if turn == number - 1 or value[some].min() >= 0.0:
                    break
                window.learn()
            apart[some] = window.apart
            if last:
                charged[some] = window.charged()
                _ask(asked, window, np.maximum(-value[some], 0.0), much * charged[some])
    return Valued(value, apart, charged, search.fall(asked))


def _ask(asked: Array, window: OwnWindow, short: Array, much: Array) -> None:
    # Let prices that are owed fall together by what a corner is short of, and a little more.
    short = np.where(short > much, short, 0.0)
    if not short.any():
        return
    charges = list(window.charges())
    whole = sum(prices.sum(axis=0) for _, prices, _ in charges)
    some = sum(np.where(owed, prices, 0.0).sum(axis=0) for _, prices, owed in charges)
    few = short > _MOST * some
    part = short / np.maximum(np.where(few, whole, some), 1e-300)
    part = np.where(short > 0.0, np.minimum(_FARTHER * part + _LEAST, 1.0), 0.0)
    for place, prices, owed in charges:
        at = (owed | few) & (prices > 0.0)
        np.maximum.at(asked, place[at], np.broadcast_to(part, place.shape)[at])


def proved(search: Search, factors: Array) -> Array:
    """Return factors, no higher, at which V is not negative at any corner.

    Where prices fall V only rises: a corner that does not undercut is not looked at again.
    """
    at = np.arange(len(search.corners.places))
    for number in range(_PASSES + 1):
        near = number < _NEAR[search.sideways]
        found = valued(search, factors, at, _ROUNDS[min(number, 1) :], _FAR if near else 0.0)
        bad = found.value < 0.0
        if not bad.any():
            break
        at, short = at[bad], -found.value[bad]
        if number == _PASSES:
            return np.asarray(factors * (1.0 - float((short / (found.apart[bad] + short)).max())))
        if near:
            part = short / found.charged[bad]
            factors = _fallen(search, factors, at, np.where(part > _FAR, 0.0, part))
        factors = factors * (1.0 - found.fall)
    return factors


def _fallen(search: Search, factors: Array, at: Numbers, part: Array) -> Array:
    # Prices fall near the corners that lack a part of them; one fall serves several.
    short, held = np.zeros(len(search.corners.places)), search.highest(factors)
    prices = gained(search, held, np.ones(len(factors)), at)
    short[at] = np.where(part > 0.0, _FARTHER * part + _LEAST, 0.0) * prices
    return fallen(search, factors, short)
