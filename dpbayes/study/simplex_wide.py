"""A lower bound for wide noise and many records of three categories, block by block of answers.

Prices come from a mesh. For every answer shares are learned while prices stay, and forgotten again:
so no more than some answers with all data around them is held at once.
"""

from __future__ import annotations

import numpy as np

from dpbayes import _validate
from dpbayes.study.simplex import Simplex, simplex
from dpbayes.study.simplex_bound import MARGIN, SimplexBound, ended, nothing_outside
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_mesh import cores, mesh_prices, radii, windows
from dpbayes.study.simplex_windows import Array, Numbers, Windows

_WIDTHS, _NARROWER = (0.3, 0.08), 0.9  # below which part of its price V counts as 0: first, last
_WIDE, _NARROW = 60, 60  # steps in which the fall of prices is found, at first around answers
_AT_ONCE = 1.0 / 16.0  # part of what is missing that an answer's own price falls by in a step


def wide_bound(n: int, epsilon: float, turns: int = 25, rounds: int = 24) -> SimplexBound:
    """Return a proved lower bound on the mean distance over all data of n records, k = 3.

    Flat prior, each data set with the same weight. `turns` of the search for prices, and `rounds`
    in which shares are learned for them. Book: `thm-simplex-certificate`.

    >>> found = wide_bound(30, 0.5, 6)
    >>> bool(0.46 < found.lower < 0.4784)
    True
    """
    _validate.integer("rounds", rounds, minimum=1)
    space = simplex(n, 3)
    prices, lengths = mesh_prices(space, epsilon, turns)
    return proved(space, epsilon, prices, lengths, rounds)


def proved(
    space: Simplex, epsilon: float, prices: Array, lengths: Numbers, rounds: int
) -> SimplexBound:
    """Return what prices (M,) prove, lowered by what answers ask for.

    `lengths` (M,) are those of the segments that are the cores of the answers. Any numbers give a
    proof; good ones a sharp one. Raises ArithmeticError where a price beyond a window is above the
    distance. Book: `thm-simplex-certificate`.
    """
    every, q = np.arange(len(space.rows)), float(np.exp(-epsilon))
    values, ends = np.empty(every.size), []
    for one in windows(space, epsilon, every, cores(space, lengths), radii(space, prices)):
        values[one.at] = _best_values(one, prices, q, rounds)
        ends.append(ended(one))
    lowered = prices - gentle_fall(Grid(space, epsilon), values) - MARGIN
    if not nothing_outside(space, ends, lowered):
        raise ArithmeticError("the windows of the certificate are too small for these records")
    lowered = _validate.frozen(lowered)
    return SimplexBound(space.n, space.k, epsilon, space.mean(lowered), lowered)


def _best_values(one: Windows, prices: Array, q: float, rounds: int) -> Array:
    # The largest V at each answer with the shares of any round: each answer keeps its own.
    best = np.full(one.at.size, -np.inf)
    for number in range(rounds):
        found, _ = one.values(prices, q)
        best = np.maximum(best, found[0][one.middle])
        if best.min() >= 0.0:
            break
        one.learn(found, prices, q, max(_WIDTHS[0] * _NARROWER**number, _WIDTHS[1]))
    return best


def gentle_fall(grid: Grid, values: Array) -> Array:
    """Return by how much prices must fall (M,) where V is `values`, with a small mean.

    Some b >= 0 with the sum of e^(-epsilon d(x, s)) b_x at least -V(s) for every s, as in
    `simplex_bound.fall`, but in steps that suit answers which undercut together with their
    neighbours.

    >>> from dpbayes.study.simplex import simplex
    >>> grid = Grid(simplex(30), 0.5)
    >>> fall = gentle_fall(grid, np.full(91, -0.1))
    >>> bool(np.all(grid.times(fall) >= 0.1 - 1e-12))
    True
    """
    kernel, short = grid.times(np.ones(len(values))), np.maximum(-values, 0.0)
    found, best = np.zeros(len(values)), np.full(len(values), np.inf)
    for step in range(_WIDE + _NARROW):
        missing = np.maximum(short - grid.times(found), 0.0)
        found = found + missing * (1.0 / kernel if step < _WIDE else _AT_ONCE)
        whole = found + max(0.0, float(((short - grid.times(found)) / kernel).max()))
        if grid.space.mean(whole) < grid.space.mean(best):
            best = whole
    return best
