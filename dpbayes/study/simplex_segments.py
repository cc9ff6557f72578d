"""Prices at which, for every answer, the cheapest segment around it costs what it is worth.

Three categories. An answer s with a segment P_s is given from all data with probability in
proportion to e^(-epsilon d(x, P_s)). The segment exchanges records between the two largest counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, gmres

from dpbayes.study.simplex import Simplex, ring
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_windows import inside_of, on_ring

LONGEST = 10
"""Most records that lie between the ends of a segment."""

_NEGLECTED = 1e-13  # e^(-epsilon d) times the histograms as far off that is left out of a mean
_BLOCK = 3_000_000  # distances formed at a time
_TURNS, _STEPS = 5, 120  # choices of segments, and steps of each solution at most
_CLOSE = 1e-5  # choices end where segments undercut by this part of the mean price


def segment_prices(space: Simplex, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return prices v (M,) and lengths (M,) of segments: no other segment undercuts them by much.

    The sum over x of e^(-epsilon d(x, P_s)) (H(x, s) - v_x) is about 0 for every s and the segment
    of its length, and no smaller for other lengths: Newton's method for the least of those sums.
    A starting point for a bound, no bound itself. Book: `thm-simplex-certificate`.

    >>> from dpbayes.study.simplex import simplex
    >>> space = simplex(60)
    >>> prices, lengths = segment_prices(space, 1.0)
    >>> round(space.mean(prices), 4), int(lengths.max())
    (0.2399, 2)
    """
    grid, every = Grid(space, epsilon), np.arange(len(space.rows))
    # Data around s, where the transform of a column is for data around 0 seen from the answer.
    shapes = [grid.spectrum(apart(grid.steps, one)).conj() for one in range(LONGEST + 1)]
    costs = segment_costs(space, grid.epsilon, range(LONGEST + 1))
    near = grid.times(np.ones(every.size))
    halves = np.arange(LONGEST + 1)[:, None] // 2
    ends = np.arange(LONGEST + 1)[:, None] - halves
    fits = (space.rows[:, 1] >= halves) & (space.rows[:, 2] >= ends)
    prices = grid.solve(costs[0])
    best = np.inf, prices, np.zeros(every.size, dtype=np.int64)
    for _ in range(_TURNS):
        field = grid.spread(prices)
        worth = np.array([grid.gather(field * shape) for shape in shapes])
        spare = np.where(fits, (costs - worth) / near, np.inf)
        lengths = spare.argmin(axis=0)
        over = space.mean(np.maximum(-spare.min(axis=0), 0.0))
        if over < best[0]:
            best = over, prices, lengths
        if over < _CLOSE * space.mean(prices):
            break
        used = [int(one) for one in np.unique(lengths)]

        def worths(
            vector: NDArray[np.float64], used: list[int] = used, at: NDArray[np.int64] = lengths
        ) -> NDArray[np.float64]:
            field = grid.spread(vector)
            parts = [np.where(at == one, grid.gather(field * shapes[one]), 0.0) for one in used]
            return np.asarray(sum(parts) / near)

        def undone(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            return grid.gather(grid.spread(vector * near) / grid.kernel.real)

        shape = (every.size, every.size)
        step, _ = gmres(
            LinearOperator(shape, worths, dtype=np.float64),
            spare[lengths, every],
            M=LinearOperator(shape, undone, dtype=np.float64),
            rtol=1e-6,
            restart=_STEPS // 3,
            maxiter=3,
        )
        prices = prices + step
    return best[1:]


def apart(steps: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the records to replace from s + step to the segment of `length` around s.

    `steps` are changes of the first two counts, its leading axis. The segment is s + t (0, 1, -1)
    for the whole t from -length / 2 to length / 2, for an odd length from -(length - 1) / 2 on.
    """
    first, second = steps
    lengths = [
        (np.abs(first) + np.abs(second - t) + np.abs(first + second - t)) // 2
        for t in range(-(length // 2), length - length // 2 + 1)
    ]
    return np.asarray(np.min(lengths, axis=0))


def segment_costs(space: Simplex, epsilon: float, lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return for each length the sum over x of e^(-epsilon d(x, P_s)) H(x, s), (lengths, M).

    Data farther from s than would count to 13 digits are left out.
    """
    table, found = space.affinities(space.n), np.zeros((len(lengths), len(space.rows)))
    for d in range(1, space.n + 1):
        steps = ring(3, d)
        if np.exp(-epsilon * (d - max(lengths) / 2)) * len(steps) < _NEGLECTED:
            break
        block = max(1, _BLOCK // len(steps))
        for start in range(0, len(space.rows), block):
            at = slice(start, start + block)
            inside, kept = inside_of(space.rows[at], steps)
            _, distance = on_ring(space, space.rows[at], kept, inside, table)
            near = np.array([apart(kept[:, :2].T, one) for one in lengths])
            found[:, at] += np.exp(-epsilon * near) @ distance
    return found
