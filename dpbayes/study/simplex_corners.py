"""Corners of boxes of data sets, and a convex shape of prices: what is checked there holds inside.

A level begins at its first count, and a box of levels has corners at these counts and at those of
the levels above. What is left over inside a box is at least a mean of what is left over at its
corners, so wide boxes lose little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_by_step
from dpbayes.study.simplex import ring
from dpbayes.study.simplex_box_bound import Window
from dpbayes.study.simplex_boxes import Boxes, boxes_from, sorted_rows
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers

_SHIFT, _NONE = 0.8, 0.2  # 1 / (m + prior + shift) for counts above 0, and this / prior for 0
_SPLIT = 3  # parts of each level where means over boxes are bounded


@dataclass(frozen=True)
class Shape:
    """A(x): `pairs` times sum of sqrt(r_i + r_j), i < j, plus `all` times sqrt(sum of r_i).

    r_i = `inverse` of x_i. Convex in the counts above 0: see `thm-simplex-corners`.
    """

    pairs: float
    all: float
    prior: float

    def of_inverses(self, r: list[Array]) -> Array:
        """Return A from r_i, one array a category."""
        pairs = sum(np.sqrt(one + other) for one, other in combinations(r, 2))
        return np.asarray(self.pairs * pairs + self.all * np.sqrt(sum(r)))

    def of_rows(self, rows: NDArray[np.number]) -> Array:
        """Return A of rows of counts (., k), which need not be whole."""
        return self.of_inverses([inverse(x, self.prior) for x in rows.T])

    def slopes(self, rows: Array) -> Array:
        """Return the derivative of A by each count, (., k), where counts are above 0 or stay 0."""
        r = [inverse(x, self.prior) for x in rows.T]
        whole = 0.5 * self.all / np.sqrt(sum(r))
        found = np.empty(rows.shape)
        for i, one in enumerate(r):
            pairs = sum(0.5 / np.sqrt(one + other) for j, other in enumerate(r) if j != i)
            found[:, i] = -(self.pairs * pairs + whole) * one**2
        return found


def inverse(counts: NDArray[np.number], prior: float) -> Array:
    """Return 1 / (m + prior + 0.8) for counts m above 0, and 0.2 / prior for 0.

    >>> inverse(np.array([0, 1, 8]), 1.0).round(4).tolist()
    [0.2, 0.3571, 0.102]
    """
    return np.where(counts > 0, 1.0 / (counts + prior + _SHIFT), _NONE / prior)


class Corners:
    """The corners of boxes: rows of levels (V, k - 1), each level standing for its first count.

    `of_box` (M, 2^(k-1)) says which corners a box has; where fewer, its lowest stands again.
    `counts` (V, k) are the histograms at the corners, `stars` the answers of all boxes around each.
    Raises ValueError where a largest count at a corner is below the `radius`.
    """

    def __init__(self, found: Boxes, radius: int, prior: float) -> None:
        self.boxes, self.radius, self.prior = found, radius, prior
        columns, starts = found.k - 1, found.starts
        self.wide = np.append(np.diff(starts) > 1, True)
        self._counters = found.counters().astype(np.int64)
        places = [self._moved(np.array(up)) for up in product((0, 1), repeat=columns)]
        self.places, number = np.unique(np.column_stack(places), return_inverse=True)
        self.of_box = number.reshape(len(found.places), -1)
        self.levels = sorted_rows(len(starts), columns)[self.places].astype(np.int64)
        counts = starts[self.levels]
        self.counts = np.column_stack([counts, found.n - counts.sum(axis=1)])
        self.require_largest(radius)
        first, last = self._ends
        low, high = first[self.levels], last[self.levels]
        rest = np.maximum(
            found.n - high.sum(axis=1), np.maximum(low[:, -1], -(-found.n // found.k))
        )
        self.stars = replace(
            found,
            levels=self.levels.astype(np.int16),
            low=np.column_stack([low, rest]),
            high=np.column_stack([high, found.n - low.sum(axis=1)]),
            rows=np.ones(len(counts), dtype=np.int64),
            places=self.places,
        )

    def require_largest(self, least: int) -> None:
        """Raise ValueError where levels are wide and a corner's largest count is below `least`."""
        if self.wide[self.boxes.levels].any() and int(self.counts[:, -1].min()) < least:
            raise ValueError("levels are so wide that a corner has no largest count: shorten them")

    def nearest(self) -> Array:
        """Return at most the distance between each corner and what is `radius` away or more, (V,).

        >>> from dpbayes.study.simplex_boxes import boxes
        >>> found = Corners(boxes(40, 3, 1.1, 40), 4, 1.0)
        >>> found.counts[-1].tolist(), round(float(found.nearest()[-1]), 3)
        ([0, 20, 20], 0.423)
        """
        found, last = np.empty(len(self.places)), ring(self.boxes.k, self.radius)
        for at in np.array_split(np.arange(len(found)), len(found) // 1000 + 1):
            window = CornerWindow(self, at)
            # Where the ring has no histogram, nothing lies beyond it.
            away = np.where(window.inside(last), window.distances(last), 1.0)
            found[at] = away.min(axis=0)
        return found

    def _moved(self, up: Numbers) -> Numbers:
        # The place of a corner of each box, or of its lowest one where that is not in order.
        levels = self.boxes.levels.astype(np.int64)
        moved = levels + up * self.wide[levels]
        moved = np.where(np.all(np.diff(moved, axis=1) >= 0, axis=1)[:, None], moved, levels)
        if int(moved.max()) >= len(self.boxes.starts):
            raise ValueError("the last level is so wide that it has no end: shorten it")
        return np.asarray(sum(one[row] for one, row in zip(self._counters, moved.T, strict=True)))

    @cached_property
    def _ends(self) -> tuple[Numbers, Numbers]:
        # The first and the last count of the levels that meet where each begins.
        starts, ends = self.boxes.starts, self.boxes.ends
        below = np.append(False, self.wide[:-1])
        first = np.where(below, np.append(0, starts[:-1]), starts)
        return first, np.where(self.wide, ends, starts)

    @cached_property
    def logs(self) -> Array:
        """Ln BC of the counts m and m + z, (2 radius + 1, n + 1)."""
        z, m = np.arange(-self.radius, self.radius + 1)[:, None], np.arange(self.boxes.n + 1)
        return np.asarray(affinity_by_step(self.prior + m, np.maximum(z, -m).astype(np.float64)))

    @cached_property
    def losses(self) -> Array:
        """By which part -ln BC of each category falls below its mean over the corners, (V, k).

        Of the boxes around, at most. The largest count moves with one of the others after another.
        """
        starts, size = np.append(self.boxes.starts, self.boxes.n), len(self.boxes.starts)
        widths = np.where(self.wide, np.diff(starts), 0)
        used = np.unique(self.boxes.levels)
        rises = {width: self._rises(width) for width in np.unique(widths[used]).tolist()}
        each = np.zeros(size)
        for level in used[self.wide[used]].tolist():
            each[level] = self._loss(int(starts[level]), int(starts[level + 1]))
        found = np.maximum(each, np.append(0.0, each[:-1]))[self.levels]
        low, kept = self.counts[self.of_box, -1].min(axis=1), np.ones(len(self.of_box))
        for column in widths[self.boxes.levels].T:
            for width in np.unique(column[column > 1]).tolist():
                at = column == width
                kept[at] /= 1.0 + rises[width][low[at]]
        worst = np.zeros(len(self.places))
        for corner in self.of_box.T:
            np.maximum.at(worst, corner, 1.0 - kept)
        return np.column_stack([found, worst])

    def _rises(self, width: int) -> Array:
        # By which part chords of this width that begin at a count (n + 1,), or above, are too high.
        g = -np.delete(self.logs, self.radius, axis=0)
        worst, last = np.zeros(g.shape[1]), g.shape[1] - width
        for step in range(1, width):
            part = step / width
            chord = g[:, :last] * (1.0 - part) + g[:, width:] * part
            rise = (chord / g[:, step : last + step]).max(axis=0) - 1.0
            np.maximum(worst[:last], rise + 1e-12, out=worst[:last])
        # Chords from counts below the radius have no end: they are asked for nowhere.
        return np.asarray(np.maximum.accumulate(worst[::-1])[::-1])

    def _loss(self, low: int, high: int) -> float:
        g = -np.delete(self.logs[:, low : high + 1], self.radius, axis=0)
        part = np.linspace(0.0, 1.0, high - low + 1)
        chord = g[:, :1] * (1.0 - part) + g[:, -1:] * part
        return float(np.maximum(0.0, (1.0 - g / chord).max())) + 1e-12

    def spans(self, rings: list[Ring]) -> tuple[Numbers, Numbers]:
        """Return how many levels above each one (L,) the moved answers of a star reach at most.

        First where the largest count may not stay the largest, then where it does.
        """
        found, every = self.boxes, np.arange(len(self.boxes.starts))
        clear, other = np.zeros_like(every), np.zeros_like(every)
        first, last = (one[: int(self.levels.max()) + 1] for one in self._ends)
        reach = len(rings) - 1
        for z in range(-reach, reach + 1):
            below = found.level_of(first + z).astype(np.int64)
            above = found.level_of(np.minimum(last + z, found.n))
            np.maximum.at(clear, below, above - below)
        for at in np.array_split(np.arange(len(self.places)), len(self.places) // 512 + 1):
            at = at[Window(self.stars, at, self.radius).table == 0]
            if not at.size:
                continue
            window = Window(self.stars, at, self.radius)
            for one in rings:
                lows = window.sorted_levels(one.steps, window.low_levels)
                highs = window.sorted_levels(one.steps, window.high_levels)
                for a, b in zip(lows[:-1], highs[:-1], strict=True):
                    np.maximum.at(other, a.ravel(), (b - a).ravel().astype(np.int64))
        # Sorting keeps what lies between, where none ends below the end of a lower one.
        most = [np.maximum.accumulate(every + one) - every for one in (other, clear)]
        return most[0], most[1]

    def highest(self, values: Array, most: Numbers) -> Array:
        """Return for every place the largest value of boxes up to `most` (L,) levels above it."""
        found = np.full(self.boxes.size, -np.inf)
        found[self.boxes.places] = values
        for j in range(self.boxes.k - 1):
            here = found.copy()
            for at, above in self._pairs(j, most):
                found[at] = np.maximum(found[at], here[above])
        return found

    def spread(self, values: Array, most: Numbers) -> Array:
        """Return the largest value (size,) of the places from which `highest` looks at a place."""
        found = values.copy()
        for j in reversed(range(self.boxes.k - 1)):
            here = found.copy()
            for at, above in self._pairs(j, most):
                found[above] = np.maximum(found[above], here[at])
        return found

    def _pairs(self, j: int, most: Numbers) -> list[tuple[Numbers, Numbers]]:
        # Places, and those whose level in column j is one, two, … higher, up to the next column's.
        size, columns = len(self.boxes.starts), self.boxes.k - 1
        every, counter = self._every, self._counters[j]
        level = every[:, j].astype(np.int64)
        room = (size - 1 if j == columns - 1 else every[:, j + 1]) - level
        room, found = np.minimum(room, most[level]), []
        at = np.flatnonzero(room > 0)
        for up in range(1, int(most.max()) + 1):
            at = at[room[at] >= up]
            found.append((at, at + counter[level[at] + up] - counter[level[at]]))
        return found

    @cached_property
    def _every(self) -> NDArray[np.int16]:
        return sorted_rows(len(self.boxes.starts), self.boxes.k - 1)

    @cached_property
    def neighbours(self) -> Numbers:
        """The boxes next to each in wide levels, (M, 3^(k-1)); itself where there is none."""
        found, columns = self.boxes, self.boxes.k - 1
        number = np.full(found.size, -1)
        number[found.places] = np.arange(len(found.places))
        levels, every = found.levels.astype(np.int64), []
        inner = self.wide[levels] & self.wide[np.maximum(levels - 1, 0)]
        for move in product((-1, 0, 1), repeat=columns):
            near = np.sort(levels + np.array(move) * inner, axis=1)
            near = np.minimum(near, len(found.starts) - 1)
            at = number[sum(one[row] for one, row in zip(self._counters, near.T, strict=True))]
            every.append(np.where(at < 0, np.arange(len(at)), at))
        return np.column_stack(every)

    def means(self, shape: Shape) -> Array:
        """Return a lower bound of the mean of A over the histograms of each box, (M,)."""
        found, cuts = self.boxes, []
        for low, high, level in zip(found.starts, found.ends, range(found.ends.size), strict=True):
            size = int(high - low + 1)
            parts = min(_SPLIT, size) if level <= int(found.levels.max()) else 1
            cuts.append(low + np.arange(parts) * size // parts)
        fine = boxes_from(found.n, found.k, np.concatenate(cuts))
        low, high = fine.low[:, :-1], fine.high[:, :-1]
        middle = (low + high) / 2.0
        centre = np.column_stack([middle, found.n - middle.sum(axis=1)])
        values = shape.of_rows(centre)
        # A convex function has a mean of at least its value at the mean, and is above its tangents.
        cut = high[:, -1] >= found.n - high.sum(axis=1)
        slopes = shape.slopes(centre[cut])
        tilt = np.abs(slopes[:, :-1] - slopes[:, -1:]) * (high - low)[cut] / 2.0
        values[cut] -= tilt.sum(axis=1)
        owner = found.level_of(low).astype(np.int64)
        place = sum(one[row] for one, row in zip(self._counters, owner.T, strict=True))
        sums = np.bincount(np.asarray(place), values * fine.rows, found.size)[found.places]
        return np.asarray(sums / found.rows)


class CornerWindow(Window):
    """Corners of answers with the data around: true distances, lowered, and the shape of prices."""

    def __init__(self, corners: Corners, at: Numbers) -> None:
        super().__init__(corners.stars, at, corners.radius)
        self.counts, n = corners.counts[at], corners.boxes.n
        moves, kept = np.arange(-self.radius, self.radius + 1)[:, None], 1.0 - corners.losses[at]
        self.logs = [
            corners.logs[:, count] * part for count, part in zip(self.counts.T, kept.T, strict=True)
        ]
        self.inverses = [
            inverse(np.clip(count + moves, 0, n), corners.prior) for count in self.counts.T
        ]

    def inside(self, steps: Numbers) -> NDArray[np.bool_]:
        """Return where s + z is a histogram, (P, B)."""
        inside = np.ones((len(steps), len(self.counts)), dtype=bool)
        for count, z in zip(self.counts.T, steps.T, strict=True):
            if count.min() < self.radius:
                inside &= z[:, None] >= -count
        return inside

    def worth(self, shape: Shape, steps: Numbers, inside: NDArray[np.bool_]) -> Array:
        """Return A(s + z), or 0 where that is no histogram, (P, B)."""
        parts = [one[z + self.radius] for one, z in zip(self.inverses, steps.T, strict=True)]
        return np.where(inside, shape.of_inverses(parts), 0.0)
