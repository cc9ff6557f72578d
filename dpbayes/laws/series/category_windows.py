"""The factor one category contributes to BC^s, on the window where it is not negligible.

psi(a, a + d) falls off on both sides of d = 0; BC^s makes it s times steeper. Categories with the
same posterior parameter and count share one row of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.two_categories import last_below

NEVER = -1e30
"""Stands for ln 0: finite, so that 0 * NEVER is 0."""

LARGEST_TABLE = 60_000_000
"""Tables with more numbers than this are refused (half a gigabyte)."""


@dataclass(frozen=True)
class Windows:
    """ln of the factors exp(psi_i(d)) for steps d = -down … up, one row per different category.

    `table` (g, down + up + 1) holds psi, or `NEVER` outside a category's own window or range;
    `copies` (g,) says how many categories share a row, `rows` (k,) which row each one has. Rows
    reach from -lows to highs; `cut_low` and `cut_high` (g,) mark ends that are not the end of
    what is possible.
    """

    table: NDArray[np.float64]
    down: int
    up: int
    copies: NDArray[np.int64]
    rows: NDArray[np.int64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    cut_low: NDArray[np.bool_]
    cut_high: NDArray[np.bool_]

    def slab(self, exponent: float, depth: float) -> tuple[int, int]:
        """Return how far down and up to go so that every category is past exponent * psi = -depth.

        The first step beyond is kept as well, where it is possible: it bounds all that follow.
        """
        limit = depth / exponent
        down = int(np.searchsorted(self._envelopes[0], limit, side="right"))
        up = int(np.searchsorted(self._envelopes[1], limit, side="right"))
        return min(down, self.down), min(up, self.up)

    @cached_property
    def _envelopes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # The least -psi of any category at d = 0, -1, ... and at d = 0, 1, ...: both increase.
        least = -self.table.max(axis=0)
        return least[self.down :: -1], least[self.down :]


def build_windows(
    prior: NDArray[np.float64], counts: NDArray[np.int64], exponent: float, depth: float
) -> Windows:
    """Return the windows on which exponent * psi is at least -depth, for every category.

    Book: `thm-windows`. Raises ValueError where the table would exceed `LARGEST_TABLE` numbers.
    """
    n = int(counts.sum())
    pairs = np.column_stack((prior, counts.astype(np.float64)))
    different, rows, copies = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    starts, held = different[:, 0], different[:, 1].astype(np.int64)
    limit = depth / exponent
    lows = np.array([_reach(a, x, -1, int(x), limit) for a, x in zip(starts, held, strict=True)])
    highs = np.array(
        [_reach(a, x, 1, n - int(x), limit) for a, x in zip(starts, held, strict=True)]
    )
    down, up = int(lows.max()), int(highs.max())
    if starts.size * (down + up + 1) > LARGEST_TABLE:
        raise ValueError(
            f"n = {n} records need {starts.size} windows of {down + up + 1} counts; at most "
            f"{LARGEST_TABLE // starts.size} fit in memory"
        )
    table = np.full((starts.size, down + up + 1), NEVER)
    for row in range(starts.size):
        steps = np.arange(-lows[row], highs[row] + 1)
        inside = slice(down - lows[row], down + highs[row] + 1)
        table[row, inside] = affinity_of_counts(starts[row], held[row], held[row] + steps)
    frozen = _validate.frozen(table)
    cut_low, cut_high = lows < held, highs < n - held
    return Windows(frozen, down, up, copies, rows.ravel(), lows, highs, cut_low, cut_high)


def _reach(prior: float, count: int, sign: int, most: int, limit: float) -> int:
    # One step past the last with psi >= -limit, so that the end bounds all that is left out.
    def depth(d: int) -> float:
        return -float(affinity_of_counts(prior, count, count + sign * d))

    last = last_below(depth, most, limit)
    return min(last + 1, most)
