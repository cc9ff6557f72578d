"""Prices by boxes checked at single answers, in whole numbers: a second road.

Each answer has its own data around it, with their own distances and prices. What the bound by
boxes says of all answers of a box at once is not used.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.study.simplex import ring
from dpbayes.study.simplex_box_bound import BoxBound, reach
from dpbayes.study.simplex_check import least_around
from dpbayes.study.simplex_corner_bound import CornerBound
from dpbayes.study.simplex_windows import Numbers

_FINE = 1e-9  # prices are rounded down to units of at most this part of their mean


class BoxCheck:
    """The prices of a bound by boxes, rounded down to whole units; flat prior."""

    def __init__(self, bound: BoxBound) -> None:
        self.boxes, self.epsilon = bound.boxes, bound.epsilon
        self.bits = int(np.ceil(-np.log2(_FINE * bound.lower)))
        self.units = np.floor(bound.prices * 2.0**self.bits).astype(np.int64)
        self._number = np.full(self.boxes.size, -1)
        self._number[self.boxes.places] = np.arange(len(self.units))
        radius = reach(self.boxes.n, self.epsilon)
        self._reaching(radius, radius)

    def _reaching(self, radius: int, last: int) -> None:
        self._ring = ring(self.boxes.k, last)
        self._steps = np.concatenate([ring(self.boxes.k, d) for d in range(radius + 1)])

    @property
    def lower(self) -> float:
        """The mean of the rounded prices over all data: the bound, if no answer undercuts them."""
        sold = sum(
            u * m for u, m in zip(self.units.tolist(), self.boxes.rows.tolist(), strict=True)
        )
        return float(Fraction(sold, int(self.boxes.rows.sum()) << self.bits))

    def least(self, s: Numbers) -> float:
        """Return what V(s) is at least for the answer s (k,), or -inf if a price reaches too far.

        A price reaches too far if it is above the distance to some answer on the last ring around
        its data; where corners are asked, on the next ring. Book: `thm-simplex-certificate`, with
        shares 0 and 1, `thm-simplex-boxes`, `thm-simplex-corners`.

        >>> from dpbayes.study.simplex_box_bound import box_bound
        >>> check = BoxCheck(box_bound(60, 5.0))
        >>> bool(check.least(np.array([0, 3, 20, 37])) > 0.0)
        True
        """
        last = s + self._ring
        edge = last[np.all(last >= 0, axis=1)]
        moves = (edge - s).astype(np.float64)
        logs = sum(affinity_by_step(1.0 + m, z) for m, z in zip(s, moves.T, strict=True))
        nearest = distance_from_log_affinity(np.asarray(logs)).min(initial=1.0)
        if self._units(s[None])[0] > nearest * 2.0**self.bits:
            return -np.inf
        around = s + self._steps
        around = around[np.all(around >= 0, axis=1)]
        return least_around(s, around, self._units(around).tolist(), self.bits, self.epsilon)

    def least_of_some(self, count: int, random: np.random.Generator) -> float:
        """Return the smallest of `least` for so many answers, in boxes drawn with equal chances.

        >>> from dpbayes.study.simplex_box_bound import box_bound
        >>> check = BoxCheck(box_bound(60, 5.0))
        >>> bool(check.least_of_some(5, np.random.default_rng(1)) > 0.0)
        True
        """
        return min(self.least(self._drawn(random)) for _ in range(count))

    def _drawn(self, random: np.random.Generator) -> Numbers:
        # An answer between the ends of a box; draws that are no histogram are thrown away.
        at = int(random.integers(len(self.boxes.rows)))
        low, high = self.boxes.low[at], self.boxes.high[at]
        while True:
            row = np.sort(random.integers(low[:-1], high[:-1] + 1))
            last = self.boxes.n - int(row.sum())
            if last >= row[-1]:
                return np.append(row, last)

    def _units(self, rows: Numbers) -> Numbers:
        levels = self.boxes.level_of(np.sort(rows, axis=1)[:, :-1])
        parts = zip(self.boxes.counters().astype(np.int64), levels.T, strict=True)
        places = np.asarray(sum(column[level] for column, level in parts))
        return np.asarray(self.units[self._number[places]])


class CornerCheck(BoxCheck):
    """The prices of a bound from corners, each rounded down to whole units; flat prior.

    >>> from dpbayes.study.simplex_corner_bound import corner_bound
    >>> check = CornerCheck(corner_bound(60, 5.0))
    >>> bool(check.least_of_some(5, np.random.default_rng(1)) > 0.0)
    True
    """

    def __init__(self, bound: CornerBound) -> None:
        self.boxes, self.epsilon, self.bound = bound.boxes, bound.epsilon, bound
        self.bits = int(np.ceil(-np.log2(_FINE * bound.lower)))
        self._reaching(bound.radius, bound.radius + 1)

    @property
    def lower(self) -> float:
        """At most the mean of the rounded prices over all data, by `thm-simplex-corners`."""
        return self.bound.lower - 2.0**-self.bits

    def mean_of_some(self, count: int, random: np.random.Generator) -> tuple[float, float]:
        """Return the mean of the prices of `count` histograms, each as likely, and its error.

        >>> from dpbayes.study.simplex_corner_bound import corner_bound
        >>> check = CornerCheck(corner_bound(60, 5.0))
        >>> mean, error = check.mean_of_some(1000, np.random.default_rng(1))
        >>> bool(mean + 5.0 * error > check.lower)
        True
        """
        n, k = self.boxes.n, self.boxes.k
        # k - 1 of n + k - 1 places are bars: what lies between them are the counts.
        places = [random.choice(n + k - 1, k - 1, replace=False) for _ in range(count)]
        bars = np.sort(np.array(places), axis=1)
        ends = np.full((count, 1), n + k - 1)
        rows = np.diff(np.column_stack([np.full((count, 1), -1), bars, ends]), axis=1) - 1
        prices = self._units(rows) / 2.0**self.bits
        return float(prices.mean()), float(prices.std(ddof=1) / np.sqrt(count))

    def _units(self, rows: Numbers) -> Numbers:
        return np.floor(self.bound.prices(rows) * 2.0**self.bits).astype(np.int64)
