"""Many draws from one law by inversion: which step of a distribution function a level falls on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CELLS_PER_STEP = 32
_MOST_CELLS = 1 << 16
_FEW = 2048
"""So few levels are searched one by one."""

_AT_ONCE = 1 << 15  # levels that are worked on inside the cache


def steps_at(cumulative: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of the rising numbers `cumulative` (m,) are at most each level, shape (N,).

    What `numpy.searchsorted(cumulative, levels, side="right")` returns, sooner where there are many
    levels: [0, largest] is cut into equal cells, and in a cell without a step all levels have the
    same answer. A level is put into its cell by the same rounded arithmetic as the steps; that
    never falls, so a step in an earlier cell is below the level and one in a later cell above it.
    Levels are in [0, largest].

    >>> steps_at(np.array([0.25, 0.75, 1.0]), np.array([0.1, 0.25, 0.9]))
    array([0, 1, 2])
    """
    top = float(cumulative[-1])
    cells = min(_MOST_CELLS, 1 << int(_CELLS_PER_STEP * cumulative.size).bit_length())
    speed = cells / top if top > 0.0 else np.inf
    if levels.size <= max(_FEW, cells) or not np.isfinite(speed):
        return np.searchsorted(cumulative, levels, side="right")
    steps = np.bincount((cumulative * speed).astype(np.int64), minlength=cells + 1)
    before = np.cumsum(steps) - steps
    shared, result = steps > 0, np.empty(levels.size, dtype=np.int64)
    for first in range(0, levels.size, _AT_ONCE):
        some = levels[first : first + _AT_ONCE]
        place, found = (some * speed).astype(np.int64), result[first : first + _AT_ONCE]
        before.take(place, out=found, mode="clip")
        unsure = np.flatnonzero(shared.take(place))
        found[unsure] = np.searchsorted(cumulative, some[unsure], side="right")
    return result
