"""A lower bound for every private mechanism that answers with a histogram, a thousand records on.

The certificate of `simplex_bound` with one price for each box of data, and one condition for each
box of answers. The conditions hold for the worst corner, and so for every answer of the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.study.simplex import ring
from dpbayes.study.simplex_boxes import Boxes, alike, boxes, given
from dpbayes.study.simplex_rings import Ring
from dpbayes.study.simplex_windows import Array, Numbers

MARGIN = 1e-9
"""Taken off a bound for rounding, which is below 1e-12 in every sum that is formed."""

_AT_ONCE = 100_000  # data gone through together, in windows around some boxes
_FEWEST = 128  # boxes that share what they pass on, at least
_REACH = 12.0  # windows reach this many times 1/epsilon
_LEARN, _FORGET = 1.0, 5.0  # how fast shares follow what is left over, and how that slows down
_LEAST, _STEEP = 1e-5, 5.0  # least weight of a share, and how much nearer steps get at first
_LOWEST = 3.0  # how far prices fall that are too high, at most: times what a unit more would cure
_MOST = 0.2  # by which part prices fall at most
_BOTH = 1  # rounds in which prices rise as well as fall
_TURNS = 11  # last rounds, in which prices move
_REPAIRS = 3  # last rounds, in which prices are lowered around the answers that undercut


@dataclass(frozen=True)
class BoxBound:
    """No epsilon-DP mechanism that answers with histograms has a mean distance below `lower`.

    The mean is over all data of n records. `prices` (M,) are the numbers v of the proof,
    one for each of the `boxes`.
    """

    boxes: Boxes
    epsilon: float
    lower: float
    prices: Array


def box_bound(
    n: int,
    epsilon: float,
    k: int = 4,
    prior: float = 1.0,
    ratio: float = 1.05,
    rounds: int = 10,
    fall: float = 1.0,
) -> BoxBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    Prior (a, …, a) with a > 0, each histogram with the same weight. Counts m … m `ratio` share a
    level; more `rounds` sharpen the bound, the best of them counts. Prices that are too high fall
    by `fall` > 0 times epsilon in a round, at most 3: with very many boxes 1.5 ends higher than 1.
    Book: `thm-simplex-boxes`.

    >>> found = box_bound(60, 5.0)
    >>> len(found.boxes.rows), bool(0.01340 < found.lower < 0.01345)
    (1906, True)
    """
    size, budget, parts, a, wide = given(n, epsilon, k, prior, ratio)
    turns = _validate.integer("rounds", rounds, minimum=4)
    radius = reach(size, budget)
    found = boxes(size, parts, wide, 2 * radius if size > 2 * parts * radius + parts else size)
    rings = [Ring(parts, d) for d in range(radius + 1)]
    prices, best = np.zeros(len(found.rows)), (-np.inf, np.empty(0))
    shares: list[Shares] = []
    factor = min(_validate.positive("fall", fall) * budget, _LOWEST)
    for number in range(turns + 1):
        if number < 2:
            shares = first_shares(found, rings, prices, a)
        rate = _LEARN / (1.0 + number / _FORGET) if number else 0.0
        one = checked(found, prices, budget, a, shares, rings, rate)
        if number:
            # Where all prices around an answer fall by this part, nothing undercuts them there.
            part = max(0.0, float(one.missing.max()))
            lower = found.mean(prices) * (1.0 - part) - MARGIN
            if lower > best[0] and bool(np.all(prices <= one.nearest)):
                best = lower, prices * (1.0 - part) - MARGIN
        if 0 < number <= turns - _TURNS:
            continue  # shares are learned before prices move
        if number < turns - _REPAIRS:
            change = one.value / one.whole
            if number > 0:
                both = number <= _BOTH + max(0, turns - _TURNS)
                factors = np.where(change < 0.0, 1.0 if both else factor, float(both))
                change = np.maximum(change * factors, -_MOST * prices)
            prices = np.minimum(prices + change, one.nearest)
        else:
            prices = repaired(found, prices, one, rings, a, wide=number == turns - 1)
    return BoxBound(found, budget, best[0], _validate.frozen(best[1]))


def reach(n: int, epsilon: float) -> int:
    """Return how many replaced records the windows of `box_bound` reach.

    >>> reach(1000, 5.0), reach(2, 5.0)
    (3, 2)
    """
    return min(n, int(np.ceil(_REACH / epsilon)))


@dataclass
class Shares:
    """How the boxes `at`, which are alike, pass on inwards; learned from one round to the next."""

    at: Numbers
    rings: list[Array]

    def learn(self, rings: list[Ring], least: list[Array], scale: float) -> None:
        """Give more to the steps where less is left over, `least` of any box of these."""
        for d in range(2, len(rings)):
            one, share = rings[d], self.rings[d]
            inner = least[d - 1][one.end]
            mean = np.bincount(one.start, share * inner)[one.start]
            change = np.exp(np.clip((mean - inner) / scale, -1.0, 1.0))
            self.rings[d] = one.of_each(np.maximum(share * change, _LEAST))


@dataclass
class Checked:
    """What the recursion says about each box of answers, all (M,).

    `value` is a lower bound of V at every answer of the box, `whole` what one unit more at all
    data around adds to it, `apart` the sum of e^(-epsilon d) H around, and `nearest` a lower bound
    of the distance to everything beyond the window.
    """

    value: Array
    whole: Array
    apart: Array
    nearest: Array

    @property
    def missing(self) -> Array:
        """By which part all prices around the answers must fall for `value` not to be negative."""
        short = np.maximum(-self.value, 0.0)
        return np.asarray(short / np.maximum(self.apart + short, 1e-300))


def checked(
    found: Boxes,
    prices: Array,
    epsilon: float,
    prior: float,
    shares: list[Shares],
    rings: list[Ring],
    rate: float = 0.0,
) -> Checked:
    """Return the recursion of `thm-simplex-boxes` for all boxes of answers.

    With a `rate` above 0 the shares are learned from it, for the next round.
    """
    radius = len(rings) - 1
    held = _highest_near(found, prices, rings)
    q = float(np.exp(-epsilon))
    result = Checked(*(np.empty(len(prices)) for _ in range(4)))
    for some in shares:
        at, window = some.at, Window(found, some.at, radius, prior)
        least: list[Array] = [np.empty(0)] * len(rings)
        passed, whole = np.zeros((1, 1)), np.zeros((1, 1))
        result.apart[at] = 0.0
        for d in range(radius, -1, -1):
            steps = rings[d].steps
            inside = window.inside(steps)
            distance = np.where(inside, window.distances(steps), 0.0)
            result.apart[at] += q**d * distance.sum(axis=0)
            if d == radius:
                result.nearest[at] = np.where(inside, distance, np.inf).min(axis=0)
            place = window.places(steps, window.low_levels) + window.table
            price = np.where(inside, held[place], 0.0)
            left, whole = distance - price + passed, inside + whole
            if d:
                factor, least[d] = np.where(left >= 0.0, q, 1.0 / q), left.min(axis=1)
                passed = rings[d].moved(some.rings[d], left * factor)
                whole = rings[d].moved(some.rings[d], whole * factor)
        result.value[at], result.whole[at] = left[0], whole[0]
        if rate:
            some.learn(rings, least, float(prices[at].mean()) / rate)
    return result


def repaired(
    found: Boxes, prices: Array, result: Checked, rings: list[Ring], prior: float, wide: bool
) -> Array:
    """Return prices lowered around every answer that undercuts, by as much as it asks for.

    At the ends of the boxes that its data can lie in; if `wide`, in all boxes that count for it, so
    that nothing undercuts afterwards.
    """
    missing, radius = result.missing, len(rings) - 1
    bad, worst = np.flatnonzero(missing > 0.0), np.zeros(2 * found.size)
    for some in _blocks(len(bad), _FEWEST):
        at = bad[some]
        window = Window(found, at, radius, prior)
        for one in rings:
            inside = window.inside(one.steps)
            for levels in window.low_levels, window.high_levels:
                place = window.places(one.steps, levels) + window.table
                asked = np.broadcast_to(missing[at], place.shape)
                np.maximum.at(worst, place[inside], asked[inside])
    every = zip(np.split(worst, 2), _spans(found, radius) if wide else (0, 0), strict=True)
    fall = np.max([found.spread(part, _exact(found, radius), most) for part, most in every], axis=0)
    return np.asarray(prices * (1.0 - fall[found.places]))


def _highest_near(found: Boxes, prices: Array, rings: list[Ring]) -> Array:
    # What the prices at the data of a box are below, by the place of its lower corner; and again
    # where the largest count stays the largest.
    radius = len(rings) - 1
    exact, spans = _exact(found, radius), _spans(found, radius)
    return np.concatenate([found.highest(prices, exact, most) for most in spans])


def _exact(found: Boxes, radius: int) -> int:
    # Levels below this one are the same for all data of a box, moved alike.
    return found.n + 1 if len(found.starts) == found.n + 1 else radius


@lru_cache(maxsize=1)
def _spans(found: Boxes, radius: int) -> tuple[int, int]:
    # Over how many levels more than one the moved data of a box lie at most: where the largest
    # count may not stay the largest, and where it does and no level spreads over more than its own
    # move.
    rings, most = [ring(found.k, d) for d in range(radius + 1)], 0
    for some in _blocks(len(found.rows), 4 * _FEWEST):
        window = Window(found, some, radius)
        at = np.arange(some.start, min(some.stop, len(found.rows)))[window.table == 0]
        if not at.size:
            continue
        window = Window(found, at, radius)
        for steps in rings:
            low = window.sorted_levels(steps, window.low_levels)
            high = window.sorted_levels(steps, window.high_levels)
            for below, above in zip(low[:-1], high[:-1], strict=True):
                most = max(most, int((above - below).max()))
    return most, found.span(radius)


def first_shares(found: Boxes, rings: list[Ring], prices: Array, prior: float) -> list[Shares]:
    """Return shares that prefer what is nearer to the answer."""
    most, made = max(len(one.steps) for one in rings), []
    for at in alike(found.levels, max(_FEWEST, _AT_ONCE // most)):
        window, parts = Window(found, at, len(rings) - 1, prior), [np.empty(0)]
        for d in range(1, len(rings)):
            near = window.distances(rings[d - 1].steps).mean(axis=1)
            scale = max(float(prices[at].mean()), 1e-9) / _STEEP
            wanted = np.exp((near.min() - near) / scale) + 1e-6
            parts.append(rings[d].of_each(rings[d].straight * wanted[rings[d].end]))
        made.append(Shares(at, parts))
    return made


@lru_cache(maxsize=1)
def _log_affinities(n: int, radius: int, prior: float) -> Array:
    # ln BC of each count m and m + move, (2 radius + 1, n + 1); that of m + move = 0 below it.
    moves, counts = np.arange(-radius, radius + 1)[:, None], np.arange(n + 1)
    found = affinity_by_step(prior + counts, np.maximum(moves, -counts).astype(np.float64))
    return _validate.frozen(found)


def _blocks(size: int, step: int) -> Iterator[slice]:
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


class Window:
    """Boxes of answers s, with the data s + z around all of them at once."""

    def __init__(self, found: Boxes, at: slice | Numbers, radius: int, prior: float = 1.0) -> None:
        moves = np.arange(-radius, radius + 1)[:, None]
        self.low, self.radius, self.counters = found.low[at], radius, found.counters()
        high = found.high[at]
        # Each of shape (2 radius + 1, B), one for each category.
        table = _log_affinities(found.n, radius, prior)
        self.logs = [table[:, top] for top in high.T]
        self.low_levels = [found.level_of(bottom + moves) for bottom in self.low.T]
        self.high_levels = [found.level_of(top + moves) for top in high.T]
        # Where the largest count stays the largest, each level moves by itself.
        clear = high[:, -2] + radius < self.low[:, -1] - radius
        self.table = np.where(clear, found.size, 0)

    def inside(self, steps: Numbers) -> NDArray[np.bool_]:
        """Return where s + z is a histogram, for all s of the box or for none, (P, B)."""
        inside = np.ones((len(steps), len(self.low)), dtype=bool)
        if self.low.min() < self.radius:
            for bottom, z in zip(self.low.T, steps.T, strict=True):
                inside &= z[:, None] >= -bottom
        return inside

    def distances(self, steps: Numbers) -> Array:
        """Return at most H(s + z, s) for all s of the box, where s + z is a histogram, (P, B)."""
        logs = sum(log[z + self.radius] for log, z in zip(self.logs, steps.T, strict=True))
        return distance_from_log_affinity(logs)

    def places(self, steps: Numbers, levels: list[NDArray[np.int16]]) -> NDArray[np.int64]:
        """Return the place of the sorted levels of the corner moved by z, (P, B)."""
        parts = zip(self.counters, self.sorted_levels(steps, levels)[:-1], strict=True)
        return np.asarray(sum(column[row] for column, row in parts), dtype=np.int64)

    def sorted_levels(
        self, steps: Numbers, levels: list[NDArray[np.int16]]
    ) -> list[NDArray[np.int16]]:
        """Return the sorted levels of the corner moved by z, one array a column."""
        rows = [level[z + self.radius] for level, z in zip(levels, steps.T, strict=True)]
        for last in range(len(rows) - 1, 0, -1):
            for i in range(last):
                rows[i], rows[i + 1] = np.minimum(*rows[i : i + 2]), np.maximum(*rows[i : i + 2])
        return rows
