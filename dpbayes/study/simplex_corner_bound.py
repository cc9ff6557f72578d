"""A lower bound for every private mechanism that answers with a histogram, from corners of boxes.

The certificate of `simplex_bound` for prices that are a convex function of the counts times one
factor for each box of data. It is checked at the corners of each box of answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from dpbayes import _validate
from dpbayes.study.simplex_box_bound import MARGIN, Shares, reach
from dpbayes.study.simplex_boxes import Boxes, alike, boxes, given
from dpbayes.study.simplex_corners import Corners, CornerWindow, Shape
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers

_AT_ONCE, _FEWEST = 100_000, 128  # data gone through together, and boxes that share, at least
_FORGET, _STEEP = 5.0, 5.0  # how shares slow down, and how much nearer steps get at first
_BEGIN, _LARGE = 0.965, 12  # where factors begin; counts to which the shape is fitted
_LEARN, _BALANCE = 2, 3  # rounds: shares alone, then each box by its own, at least
_HOLD, _LAST = 5, 3  # last rounds: by the worst corner around, at least; falls alone
_DOWN, _UP = 0.3, 0.4  # parts of a fall and of a rise that are made, by the worst corner around
_RISE, _LONGER, _MOST = 0.7, 1.3, 0.2  # by a box's own: part of a rise; the last fall; the most


@dataclass(frozen=True)
class CornerBound:
    """No epsilon-DP mechanism that answers with histograms has a mean distance below `lower`.

    The mean is over all data of n records. The prices v of the proof are `factors` (M,), one for
    each of the `boxes`, times the `shape` of the counts, less `MARGIN`.
    """

    boxes: Boxes
    shape: Shape
    epsilon: float
    radius: int
    lower: float
    factors: Array

    def prices(self, rows: Numbers) -> Array:
        """Return the prices of histograms (., k)."""
        ordered = np.sort(rows, axis=1)
        levels = self.boxes.level_of(ordered[:, :-1])
        parts = zip(self.boxes.counters().astype(np.int64), levels.T, strict=True)
        place = np.asarray(sum(column[level] for column, level in parts))
        number = np.searchsorted(self._order[0], place)
        return self.factors[self._order[1][number]] * self.shape.of_rows(ordered) - MARGIN

    @property
    def _order(self) -> tuple[Numbers, Numbers]:
        order = np.argsort(self.boxes.places)
        return self.boxes.places[order], order


def corner_bound(
    n: int,
    epsilon: float,
    k: int = 4,
    prior: float = 1.0,
    ratio: float = 1.1,
    radius: int | None = None,
    rounds: int = 15,
) -> CornerBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    Prior (a, …, a) with a > 0, each histogram with the same weight. Counts m … m `ratio` share a
    level; windows go over `radius` replaced records, by default as in `box_bound`; more `rounds`
    sharpen the bound, the best of them counts. Book: `thm-simplex-corners`.

    >>> found = corner_bound(60, 5.0)
    >>> len(found.boxes.rows), bool(0.0134 < found.lower < 0.01345)
    (1686, True)
    """
    turns = _validate.integer("rounds", rounds, minimum=_LEARN + _BALANCE + _HOLD)
    search = searched(n, epsilon, k, prior, ratio, radius)
    factors = np.minimum(np.full(len(search.boxes.rows), _BEGIN), search.ceiling)
    best, balance = (-np.inf, factors), True
    for number in range(turns):
        result = search.checked(factors, 1.0 / (1.0 + (number + 1) / _FORGET))
        # Where all prices around an answer fall by this part, nothing undercuts them there.
        kept = factors * (1.0 - float(result.missing.max()))
        lower = search.mean(kept) - MARGIN
        early = number < _LEARN + _BALANCE
        balance = balance and number < turns - _HOLD and (early or lower > best[0])
        if lower > best[0]:
            best = lower, kept
        if number < _LEARN:
            continue
        if balance:
            factors = search.balanced(factors, result)
        elif number < turns - _LAST:
            factors = search.held(factors, result)
        else:
            factors = search.lowered(factors, result, last=number >= turns - 2)
        factors = np.minimum(factors, search.ceiling)
    lower, factors = best
    return search.bound(lower, factors)


def searched(
    n: int,
    epsilon: float,
    k: int,
    prior: float,
    ratio: float,
    radius: int | None,
    beyond: int = 0,
    learned: int | None = None,
    sideways: bool = False,
    plateau: float | None = None,
) -> Search:
    """Return where a search for factors begins, with the arguments of `corner_bound`, checked.

    Prices are held against the ring that is so many rings `beyond` the last: 0, or 1. Shares are
    `learned` up to that ring, by default up to the last, and if `sideways` in a ring, too.

    >>> searched(60, 5.0, 4, 1.0, 1.1, None).radius
    3
    """
    size, budget, parts, a, wide = given(n, epsilon, k, prior, ratio)
    far = reach(size, budget) if radius is None else radius
    far = _validate.integer("radius", far, minimum=1, maximum=size)
    found = boxes(size, parts, wide, 2 * far if size > 2 * parts * far + parts else size)
    near = far if learned is None else learned
    near = _validate.integer("learned", near, minimum=1, maximum=far)
    return Search(found, budget, a, far, beyond, near, sideways, plateau)


@dataclass
class _Checked:
    # `value` is V at each corner, `rise` V over what a factor of 1 adds to what is taken from it,
    # `apart` the sum of e^(-epsilon d) H around, all (V,); `change` (M,) the least rise of a box.
    value: Array
    rise: Array
    apart: Array
    change: Array

    @property
    def missing(self) -> Array:
        """By which part all prices around must fall for `value` not to be negative, (V,)."""
        short = np.maximum(-self.value, 0.0)
        return np.asarray(short / np.maximum(self.apart + short, 1e-300))


class Search:
    """Boxes with their corners, rings of data around them, and the shape of their prices.

    `means` (M,) is the mean of the shape over each box, at least; no factor may be above `ceiling`.
    `local` (V,) is the mean distance around each corner under the noise e^(-epsilon d).
    """

    def __init__(
        self,
        found: Boxes,
        epsilon: float,
        prior: float,
        radius: int,
        beyond: int = 0,
        learned: int | None = None,
        sideways: bool = False,
        plateau: float | None = None,
    ) -> None:
        self.plateau = plateau
        self.boxes, self.epsilon, self.radius, self.sideways = found, epsilon, radius, sideways
        self.q = float(np.exp(-epsilon))
        self.corners = Corners(found, radius, prior)
        # Prices are convex above 0 only, and the largest count is no level of its own.
        self.corners.require_largest(radius + 1)
        every = [Ring(found.k, d) for d in range(radius + 1)]
        near = radius if learned is None else learned
        self.rings, self.far = every[: near + 1], every[near + 1 :]
        self.most = self.corners.spans(self.rings)
        # Data on the rings beyond are spread over more levels.
        self.all_most = self.most + (self.corners.spans(every) if self.far else ())
        self.shape, self.local = self._fitted(prior)
        self.means = self.corners.means(self.shape)
        # No price may be above the distance to an answer beyond the window.
        worth = self.shape.of_rows(self.corners.counts)
        edge = Corners(found, radius + beyond, prior) if beyond else self.corners
        nearest = edge.nearest()
        self.ceiling = (nearest / worth)[self.corners.of_box].min(axis=1)

    @cached_property
    def shares(self) -> list[Shares]:
        """What boxes that are alike pass on, at first."""
        largest = max(len(one.steps) for one in self.rings)
        groups = alike(self.boxes.levels, max(_FEWEST, _AT_ONCE // largest))
        return [Shares(at, self._first_shares(at)) for at in groups]

    def mean(self, factors: Array) -> float:
        """Return a lower bound of the mean price over all data."""
        return self.boxes.mean(factors * self.means)

    def highest(self, factors: Array) -> Array:
        """Return the highest factor that data near each place have, as `OwnWindow` takes it."""
        return np.concatenate([self.corners.highest(factors, most) for most in self.all_most])

    def highest_box(self, factors: Array) -> tuple[Array, Numbers]:
        """Return the highest factor that data near each place have, and the box that has it."""
        order = np.argsort(factors)
        rank = np.empty(len(order))
        rank[order] = np.arange(len(order))
        top = self.highest(rank)
        box = order[np.where(np.isfinite(top), top, 0.0).astype(np.int64)]
        return np.where(np.isfinite(top), factors[box], -np.inf), box

    def fall(self, asked: Array) -> Array:
        """Return for each box the largest of what is `asked` at the places it is `highest` for.

        Of all data, or of those near alone, whose tables come first.
        """
        parts = zip(asked.reshape(-1, self.boxes.size), self.all_most, strict=False)
        found = np.max([self.corners.spread(part, most) for part, most in parts], axis=0)
        return np.asarray(found[self.boxes.places])

    def bound(self, lower: float, factors: Array) -> CornerBound:
        """Return the bound that factors prove."""
        kept = _validate.frozen(factors)
        return CornerBound(self.boxes, self.shape, self.epsilon, self.radius, lower, kept)

    def _first_shares(self, at: Numbers) -> list[Array]:
        # What is nearer to the answer gets more.
        rings, parts = self.rings, [np.empty(0)]
        window = CornerWindow(self.corners, np.unique(self.corners.of_box[at]))
        scale = float(window.distances(rings[1].steps).mean()) / _STEEP
        for d in range(1, len(rings)):
            near = window.distances(rings[d - 1].steps).mean(axis=1)
            wanted = np.exp((near.min() - near) / scale) + 1e-6
            parts.append(rings[d].of_each(rings[d].straight * wanted[rings[d].end]))
        return parts

    def _fitted(self, prior: float) -> tuple[Shape, Array]:
        # The shape that is next to local means of the noise e^(-epsilon d), and these means.
        corners, rings = self.corners, self.rings
        means = np.empty(len(corners.places))
        for at in np.array_split(np.arange(len(means)), len(means) // 1000 + 1):
            window, total, apart = CornerWindow(corners, at), np.zeros(at.size), np.zeros(at.size)
            for d, one in enumerate(rings):
                inside = window.inside(one.steps)
                distance = window.distances(one.steps)
                total += self.q**d * inside.sum(axis=0)
                apart += self.q**d * np.where(inside, distance, 0.0).sum(axis=0)
            means[at] = apart / total
        large = corners.counts[:, 0] >= min(_LARGE, int(corners.counts[:, 0].max()))
        alone = [Shape(1.0, 0.0, prior), Shape(0.0, 1.0, prior)]
        parts = [one.of_rows(corners.counts[large]) / means[large] for one in alone]
        pairs, whole = nnls(np.column_stack(parts), np.ones(int(large.sum())))[0]
        return Shape(float(pairs), float(whole), prior), means

    def checked(self, factors: Array, rate: float) -> _Checked:
        """Return the recursion; a corner of boxes that do not share has its least."""
        corners, size = self.corners, len(self.corners.places)
        held = self.highest(factors)
        value, rise, apart = (np.full(size, np.inf) for _ in range(3))
        result = _Checked(value, rise, apart, np.empty(len(factors)))
        for some in self.shares:
            at, number = np.unique(corners.of_box[some.at], return_inverse=True)
            value, whole, apart, least = self._around(CornerWindow(corners, at), held, some)
            result.value[at] = np.minimum(result.value[at], value)
            result.apart[at] = np.minimum(result.apart[at], apart)
            rise = value / whole
            result.rise[at] = np.minimum(result.rise[at], rise)
            result.change[some.at] = rise[number.reshape(len(some.at), -1)].min(axis=1)
            scale = float(self.shape.of_rows(corners.counts[at]).mean())
            some.learn(self.rings, least, scale / rate)
        return result

    def _around(
        self, window: CornerWindow, held: Array, some: Shares
    ) -> tuple[Array, Array, Array, list[Array]]:
        rings, apart = self.rings, np.zeros(1)
        least = [np.empty(0)] * len(rings)
        passed = whole = np.zeros((1, 1))
        for d in range(len(rings) - 1, -1, -1):
            steps = rings[d].steps
            inside = window.inside(steps)
            distance = np.where(inside, window.distances(steps), 0.0)
            apart = apart + self.q**d * distance.sum(axis=0)
            worth = window.worth(self.shape, steps, inside)
            place = window.places(steps, window.low_levels) + window.table
            price = np.where(inside, held[place], 0.0) * worth
            left, whole = distance - price + passed, worth + whole
            if d:
                factor = np.where(left >= 0.0, self.q, 1.0 / self.q)
                least[d] = left.min(axis=1)
                passed = rings[d].moved(some.rings[d], left * factor)
                whole = rings[d].moved(some.rings[d], whole * factor)
        return left[0], whole[0], apart, least

    def balanced(self, factors: Array, result: _Checked) -> Array:
        """Move by what is left over, in the mean over boxes nearby: rough factors cost much."""
        near, change = self.corners.neighbours, result.change / factors
        part = np.clip(np.where(change < 0.0, 1.0, _RISE) * change, -_MOST, _MOST)
        return np.asarray((factors * (1.0 + part))[near].mean(axis=1))

    def held(self, factors: Array, result: _Checked) -> Array:
        """Move by what the worst corner that looks at a box asks for, or allows."""
        room = np.clip(-self.seen(-result.rise), -_MOST, _MOST)
        return np.asarray(factors * (1.0 + np.where(room < 0.0, _DOWN, _UP) * room))

    def lowered(self, factors: Array, result: _Checked, last: bool) -> Array:
        """Fall by a little more than corners ask for; at last by so much that all hold."""
        part = result.missing
        if not last:
            part = np.minimum(part, _LONGER * np.maximum(-result.rise, 0.0) + 1e-6)
        return np.asarray(factors * (1.0 - self.seen(part)))

    def seen(self, values: Array) -> Array:
        """Return for each box the largest value (V,) of a corner that looks at it, (M,)."""
        worst = np.full(2 * self.boxes.size, -np.inf)
        for at in np.array_split(np.arange(len(values)), len(values) // 512 + 1):
            window = CornerWindow(self.corners, at)
            for one in self.rings:
                inside = window.inside(one.steps)
                place = window.places(one.steps, window.low_levels) + window.table
                asked = np.broadcast_to(values[at], place.shape)
                np.maximum.at(worst, place[inside], asked[inside])
        return self.fall(worst)
