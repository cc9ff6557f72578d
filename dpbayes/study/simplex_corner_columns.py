"""A lower bound from corners of boxes, where each column counts by the prices it is charged.

As `simplex_corner_mesh`. Wide noise among many records has columns whose mass is far from the
answer: V there is large and negative although prices are too high by a little. So what is lacking
is measured against the prices in the column. Prices fall near corners that undercut, until none
does. Data pass on to neighbours in the same ring, too, and windows reach farther than shares are
learned: on the rings beyond they stay straight.
"""

from __future__ import annotations

import numpy as np

from dpbayes import _validate
from dpbayes.study.simplex_box_bound import MARGIN
from dpbayes.study.simplex_corner_bound import CornerBound, Search, searched
from dpbayes.study.simplex_corner_mesh import Program, blocks, fallen, gained, own_window
from dpbayes.study.simplex_corner_windows import OwnWindow, all_ways
from dpbayes.study.simplex_windows import Array, Numbers

_MOVE = 0.03  # how far ratios move in a turn at first
_ROUNDS = (6, 30)  # rounds of shares: for all corners, then for those that undercut
_PASSES, _NEAR = 8, (2, 4)  # falls until no corner undercuts; those that are near the corner only
_FARTHER, _LEAST = 1.2, 2e-5  # how much more prices fall than a column asks for, and at least


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
) -> CornerBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    With the arguments of `mesh_bound`; about ten `answers` for each node of the mesh are enough.
    If `learned` is given, shares are learned for so many of the `radius` rings, there for ways in a
    ring as well, and stay straight on the others: a higher bound in less time and memory. A few
    rings more than an answer is nearer than its price are enough. Before the proof all prices fall
    by the part `reserve`: then fewer corners undercut, and the proof takes less time.
    Book: `thm-simplex-corners`.

    >>> found = column_bound(20, 1.0, 3, turns=8)
    >>> bool(0.318 < found.lower < 0.325)
    True
    """
    beside = learned is not None
    search = searched(n, epsilon, k, prior, ratio, radius, 1, learned, sideways=beside)
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


def valued(
    search: Search, factors: Array, at: Numbers, rounds: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Return V at the corners `at`, the distances around, and the prices in the column of V."""
    held, ways = search.highest(factors), all_ways(search.boxes.k, len(search.rings) - 1)
    values, apart, charged = np.full(len(at), -np.inf), np.empty(len(at)), np.empty(len(at))
    for number in rounds:
        # Those that undercut learn again, and for longer.
        for some in blocks(np.flatnonzero(values < 0.0), search):
            window = own_window(search, at[some], ways)
            window.begin(held)
            for turn in range(number):
                found = window.values()
                better = found > values[some]
                values[some[better]] = found[better]
                if turn == number - 1 or values[some].min() >= 0.0:
                    break
                window.learn()
            apart[some], charged[some] = window.apart, window.charged()
    return values, apart, charged


def proved(search: Search, factors: Array) -> Array:
    """Return factors, no higher, at which V is not negative at any corner.

    Where prices fall V only rises: a corner that does not undercut is not looked at again.
    """
    at, size = np.arange(len(search.corners.places)), len(search.corners.places)
    for number in range(_PASSES + 1):
        values, apart, charged = valued(search, factors, at, _ROUNDS[min(number, 1) :])
        bad = values < 0.0
        if not bad.any():
            break
        at, short = at[bad], -values[bad]
        if number == _PASSES:
            return np.asarray(factors * (1.0 - float((short / (apart[bad] + short)).max())))
        part = np.zeros(size)
        part[at] = np.minimum(_FARTHER * short / charged[bad] + _LEAST, 1.0)
        if number < _NEAR[search.sideways]:
            held, short = search.highest(factors), np.zeros(size)
            short[at] = part[at] * gained(search, held, np.ones(len(factors)), at)
            factors = fallen(search, factors, short)
        else:
            factors = factors * (1.0 - np.clip(search.seen(part, at), 0.0, 1.0))
    return factors
