"""Noise of one shape at every data set that never leaves the histograms: the lattice noise, folded.

For k = 2 this is the truncated geometric mechanism. `mechanisms.folded` solves small systems as
they are and is what releases; here transforms take as many records as `simplex`, for means alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.study.simplex import Simplex, ring
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_windows import inside_of, on_ring

_NEGLECTED = 1e-13  # e^(-epsilon d) times the histograms as far off that is left out of a mean
_BLOCK = 3_000_000  # distances formed at a time


@dataclass(frozen=True)
class Folded:
    """Answers r with probability weights[r] e^(-epsilon d(x, r)), over all data of n records.

    `weights` (M,) one for each class of answers, `distances` (M,) the mean distance at each class
    of data, `mean` over all data, `off` the largest difference of a sum of probabilities from 1.
    `prices` (M,) are the numbers v of `thm-folded`, with `mean` as their mean as well. No weight is
    wrong by more than `error`. With a negative weight there is no such mechanism: see `exists`.
    """

    weights: NDArray[np.float64]
    distances: NDArray[np.float64]
    mean: float
    off: float
    prices: NDArray[np.float64]
    error: float

    @property
    def exists(self) -> bool:
        """Whether no weight is negative.

        Raises ArithmeticError where the smallest weight is no farther from 0 than `error`, so that
        its sign is not decided. `samplers.folded.enclosed_weights` decides it for few classes.
        """
        least = float(self.weights.min())
        if abs(least) <= self.error:
            raise ArithmeticError(
                f"whether folded noise exists is not decided: the smallest weight is {least:g} and "
                f"may be wrong by {self.error:g}"
            )
        return least > 0.0


def folded(space: Simplex, epsilon: float) -> Folded:
    """Return the weights with which folded noise adds up to one at every data set, and its means.

    Book: `thm-folded`, `thm-folded-error`. Answers of probability 1e-13 at most, the farthest, are
    left out of the means. Raises ValueError where the grid has more than
    `simplex_grid.LARGEST_GRID` places, and ArithmeticError where `simplex_grid.Grid.solve` does not
    solve the system: nothing is decided then.

    >>> from dpbayes.study.simplex import simplex
    >>> found = folded(simplex(8), 3.0)
    >>> found.exists, round(found.mean, 6)
    (True, 0.068269)
    """
    grid = Grid(space, epsilon)
    ones = np.ones(len(space.rows))
    weights = grid.solve(ones)
    distances, alike = _sums(space, grid.epsilon, weights)
    return Folded(
        _validate.frozen(weights),
        _validate.frozen(distances),
        space.mean(distances),
        float(np.abs(grid.times(weights) - 1.0).max()),
        _validate.frozen(grid.solve(alike)),
        grid.error(weights, ones),
    )


def _sums(
    space: Simplex, epsilon: float, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # The sums over y of e^(-epsilon d(x, y)) H(x, y), with and without the weight of y.
    table, held = space.affinities(space.n), np.append(weights, 0.0)
    heavy, alike = np.zeros(len(space.rows)), np.zeros(len(space.rows))
    for d in range(1, space.n + 1):
        steps, factor = ring(space.k, d), float(np.exp(-epsilon * d))
        if factor * len(steps) < _NEGLECTED:
            break
        block = max(1, _BLOCK // len(steps))
        for start in range(0, len(space.rows), block):
            at = slice(start, start + block)
            inside, kept = inside_of(space.rows[at], steps)
            place, distance = on_ring(space, space.rows[at], kept, inside, table)
            alike[at] += factor * distance.sum(axis=0)
            heavy[at] += factor * (distance * held[place]).sum(axis=0)
    return heavy, alike
