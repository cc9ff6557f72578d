"""Folded noise with plateaus: some answers are equally likely at all data of a short segment.

Three categories. Where one count is small and two are large, exchanging records between the two
large ones costs little, and an answer may as well be given from all data along that way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from dpbayes import _validate
from dpbayes.study.simplex import Simplex
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_segments import apart, segment_costs

LONGEST = 3
"""Most records that a plateau reaches to either side."""

_NEGLECTED = 1e-13  # what a plateau must at least undercut
_POINTS = 0.01  # part of an answer's weight that begins without a plateau
_TURNS, _AROUND, _SLOWER = 16, 3, 0.7  # thinnings, how many places wide, and their exponent
_ALMOST = 0.9995  # part of the plateaus from which on no more are thinned


@dataclass(frozen=True)
class Plateaus:
    """Answers s with probability points[s] e^(-epsilon d(x, s)) + flats[s] e^(-epsilon d(x, P_s)).

    P_s are the data that exchange at most half[s] records between the two largest counts of s.
    `points`, `flats` and `half` have one entry for each class, none negative; `mean` is the mean
    distance over all data, `off` the largest difference of a sum of probabilities from 1.
    """

    points: NDArray[np.float64]
    flats: NDArray[np.float64]
    half: NDArray[np.int64]
    mean: float
    off: float


def plateaus(space: Simplex, epsilon: float, rounds: int = 200) -> Plateaus:
    """Return folded noise with plateaus wherever they undercut its prices, and its mean distance.

    Book: `thm-plateaus`. `rounds` bring the sums of probabilities near to one, before what is left
    is made good without plateaus. Raises ValueError for other than three categories, and where
    folded noise has a negative weight; ArithmeticError where that is not decided, see
    `simplex_folded`.

    >>> from dpbayes.study.simplex import simplex
    >>> space = simplex(60)
    >>> found = plateaus(space, 1.0)
    >>> bool(found.mean < folded(space, 1.0).mean), bool(found.off < 1e-10)
    (True, True)
    """
    if space.k != 3:
        raise ValueError(f"plateaus are for k = 3 categories, got {space.k}")
    _validate.integer("rounds", rounds, minimum=1)
    grid, base = Grid(space, epsilon), folded(space, epsilon)
    if not base.exists:
        raise ValueError(
            f"folded noise has a negative weight for n = {space.n}, k = 3, epsilon = "
            f"{grid.epsilon:g}, and nothing to complete plateaus with; it exists at larger epsilon"
        )
    shapes = [grid.spectrum(apart(grid.steps, 2 * half)) for half in range(LONGEST + 1)]
    ones = np.ones(len(space.rows))
    costs = segment_costs(space, grid.epsilon, range(0, 2 * LONGEST + 1, 2))
    sums = np.array([grid.gather(grid.spread(ones) * shape) for shape in shapes])
    worth = np.array([grid.gather(grid.spread(base.prices) * shape) for shape in shapes])
    spare = (costs - worth) / sums
    half = np.where(spare.min(axis=0) < -_NEGLECTED, spare.argmin(axis=0), 0)
    flat, each = half > 0, np.arange(half.size)
    points = np.where(flat, _POINTS, 1.0) * base.weights
    flats = np.where(flat, (1.0 - _POINTS) * base.weights * sums[0] / sums[half, each], 0.0)
    used = [int(one) for one in np.unique(half[flat])]

    def total(points: NDArray[np.float64], flats: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = [(np.where(half == one, flats, 0.0), shapes[one]) for one in used]
        return grid.total([(points, shapes[0]), *parts])

    for _ in range(rounds):
        spread = grid.spread(1.0 / total(points, flats))
        points = points * grid.gather(spread * shapes[0]) / sums[0]
        for one in used:
            scale = grid.gather(spread * shapes[one]) / sums[one]
            flats = np.where(half == one, flats * scale, flats)
    # Folded noise makes good what the plateaus leave. Where it would need a negative weight the
    # plateaus around become fewer, and what little is still too much is taken from all of them.
    none = np.zeros(half.size)
    best = space.mean(base.weights * costs[0]), base.weights, none
    for _ in range(_TURNS if flat.any() else 0):
        made = grid.solve(total(none, flats))
        room = np.minimum(base.weights / np.where(made > 0.0, made, 1e-300), 1.0)
        part = float(room.min())
        points = np.maximum(base.weights - part * made, 0.0)
        cost = space.mean(points * costs[0] + part * flats * costs[half, each])
        if cost < best[0]:
            best = cost, points, part * flats
        if part > _ALMOST:
            break
        flats = flats * _least_around(space, room) ** _SLOWER
    mean, points, flats = best
    return Plateaus(
        _validate.frozen(points),
        _validate.frozen(flats),
        _validate.frozen(half),
        mean,
        float(np.abs(total(points, flats) - 1.0).max()),
    )


def _least_around(space: Simplex, values: NDArray[np.float64]) -> NDArray[np.float64]:
    # The least of the values (M,) at data next to each class.
    field = minimum_filter(np.append(values, np.inf)[space.place], _AROUND, mode="nearest")
    return np.asarray(field[tuple(space.rows[:, :-1].T)])
