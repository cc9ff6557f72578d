"""A lower bound for every private mechanism over k categories, for many records.

One number v(x) for each data set, and for each answer s a way to share what is left over among the
data sets around s. What is checked at the end does not depend on how the numbers were found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.simplex import Simplex, all_rows, ring, simplex
from dpbayes.study.simplex_windows import Array, Numbers, Windows, inside_of, on_ring

MARGIN = 1e-9
"""Taken off a bound for rounding, which is below 1e-12 in every sum that is formed."""

_BLOCK = 2_000_000  # data gone through together, in windows around some answers
_PART, _STEP = 0.97, 3  # where prices begin, and how much radii in a block may differ
_CYCLE, _RAISING = 12, 8  # rounds of a cycle, and those of them that may raise numbers
_LEARN, _FORGET = 0.3, 20.0  # how fast shares follow what is left over, and how that slows down
_COVER, _SETTLE = 0.004, 50.0  # how fast prices follow the answers' weights, and how that slows
_REACH = 10.0  # windows go this many times 1/epsilon beyond what is nearer than v


@dataclass(frozen=True)
class SimplexBound:
    """No epsilon-DP mechanism that answers with histograms has a mean distance below `lower`.

    The mean is over all data of n records. `prices` (M,) are the numbers v of the proof,
    one for each class of data sets.
    """

    n: int
    k: int
    epsilon: float
    lower: float
    prices: Array


def simplex_bound(
    n: int, epsilon: float, prior: float = 1.0, rounds: int = 48, k: int = 3
) -> SimplexBound:
    """Return a proved lower bound on the mean distance over all data of n records, k categories.

    Prior (a, a, a) with a > 0, each data set with the same weight. More `rounds` sharpen the bound;
    every round's numbers are a proof of their own, and the best is returned. Book:
    `thm-simplex-certificate`.

    >>> found = simplex_bound(8, 1.0)
    >>> bool(0.350 < found.lower < 0.3531)
    True
    """
    budget = _validate.positive("epsilon", epsilon)
    _validate.integer("rounds", rounds, minimum=1)
    space = simplex(n, k, prior)
    prices, radii = _first_prices(space, budget)
    windows = _all_windows(space, radii, _reach(space, budget))
    q, best = float(np.exp(-budget)), (-np.inf, prices)
    kernel = np.empty(len(prices))
    for one in windows:
        kernel[one.at] = one.kernel(q)
    weights = np.asarray(1.0 / kernel)
    for number in range(rounds):
        raising = number % _CYCLE < _RAISING
        rate = _LEARN / (1.0 + number / _FORGET)
        given = weights if raising else None
        lowest, above, covered = _round(windows, prices, q, kernel, rate, given)
        lower = space.mean(prices) - max(0.0, -lowest) - MARGIN
        if lower > best[0]:
            best = lower, prices - max(0.0, -lowest) - MARGIN
        if raising:
            # The weights with which answers are given must add up to one at every data set: where
            # they do not yet, the price rises.
            missing = 1.0 - covered / space.copies
            prices = prices * np.exp(np.clip(_COVER * missing, -0.1, 0.1) / (1 + number / _SETTLE))
        # Wide noise is unsteady under long steps.
        prices = prices + (1.0 if raising else 1.5 if budget >= 1.0 else 0.7) * above
    if not _nothing_outside(space, windows, best[1]):
        raise ArithmeticError("the windows of the certificate are too small for these records")
    return SimplexBound(space.n, space.k, budget, best[0], _validate.frozen(best[1]))


def _first_prices(space: Simplex, epsilon: float) -> tuple[Array, Numbers]:
    # Means under the noise e^(-epsilon d), and how far data are nearer than that.
    q, table = float(np.exp(-epsilon)), space.affinities(space.n)
    every, reach = np.arange(len(space.rows)), _reach(space, epsilon)
    total, mean = np.zeros(every.size), np.zeros(every.size)
    for at in _blocks(space, every, reach):
        for d in range(reach + 1):
            inside, kept = inside_of(space.rows[at], ring(space.k, d))
            _, distance = on_ring(space, space.rows[at], kept, inside, table)
            total[at] += q**d * inside.sum(axis=0)
            mean[at] += q**d * distance.sum(axis=0)
    prices, radii = mean / total, np.zeros(every.size, dtype=np.int64)
    for live in _blocks(space, every, reach):
        for d in range(1, space.n + 1):
            inside, kept = inside_of(space.rows[live], ring(space.k, d))
            place, distance = on_ring(space, space.rows[live], kept, inside, table)
            live = live[(inside & (distance < np.append(prices, 0.0)[place])).any(axis=0)]
            radii[live] = d
            if not live.size:
                break
    return _PART * prices, radii


def _reach(space: Simplex, epsilon: float) -> int:
    return min(space.n, int(np.ceil(_REACH / epsilon)) + 2)


def _blocks(space: Simplex, at: Numbers, radius: int) -> list[Numbers]:
    # Classes one after the other are alike, so that windows of a block have few places unused.
    size = sum(len(ring(space.k, d)) for d in range(radius + 1))
    return np.split(at, range(0, at.size, int(np.clip(_BLOCK // size, 32, 4_000))))[1:]


def _all_windows(space: Simplex, radii: Numbers, reach: int) -> list[Windows]:
    table, found = space.affinities(space.n), []
    for top in range(int(radii.min()), int(radii.max()) + _STEP, _STEP):
        at, radius = np.flatnonzero((radii > top - _STEP) & (radii <= top)), top + reach
        for part in _blocks(space, at, min(radius, space.n)):
            found.append(Windows(space, part, min(radius, space.n), top + _STEP, table))
    return found


def _round(
    windows: list[Windows],
    prices: Array,
    q: float,
    kernel: Array,
    rate: float,
    weights: Array | None,
) -> tuple[float, Array, Array]:
    # The least V at any s over the kernel's sum there; what is left over at each class, in the
    # mean over answers; and how much the answers cover. Answers that leave something over lose
    # weight; without weights only those count at which V is negative.
    size = len(prices) + 1
    above, covered, lowest = np.zeros(size), np.full(size, 1e-30), np.inf
    for one in windows:
        found, factors = one.values(prices, q)
        columns, value = one.columns(factors), found[0][0]
        whole = sum(u.sum(axis=0) for u in columns)
        spare = value / whole
        lowest = min(lowest, float((value / kernel[one.at]).min()))
        scale = one.copies * (value < 0.0) / whole
        if weights is not None:
            weights[one.at] *= np.exp(np.clip(-spare / prices[one.at], -0.3, 0.3))
            scale = one.copies * weights[one.at]
        for u, near in zip(columns, one.rings, strict=True):
            mass, place = u * scale, near.place.ravel()
            covered += np.bincount(place, mass.ravel(), size)
            above += np.bincount(place, (mass * spare).ravel(), size)
        one.learn(found, prices, rate)
    return lowest, (above / covered)[:-1], covered[:-1]


def _nothing_outside(space: Simplex, windows: list[Windows], prices: Array) -> bool:
    # Every price beyond the window of s has to be at most the distance to s.
    table, every = space.affinities(space.n), all_rows(space.n, space.k)
    highest: dict[int, Array] = {}
    held = prices[space.place[tuple(every[:, :-1].T)]]
    for one in windows:
        radius = len(one.rings) - 1
        if radius >= space.n:
            continue
        for s in _doubtful(space, one, prices, table, highest):
            logs = sum(
                table[x, space.n - x :][column]
                for x, column in zip(space.rows[s], every.T, strict=True)
            )
            away = np.abs(every - space.rows[s]).sum(axis=1) > 2 * radius
            if np.any(away & (distance_from_log_affinity(-logs) < held)):
                return False
    return True


def _doubtful(
    space: Simplex, one: Windows, prices: Array, table: Array, highest: dict[int, Array]
) -> Numbers:
    # The classes for which a bound by rings does not exclude a higher price outside. Beyond ring
    # D of s the distance is at least that on ring D; there some count rises by D / (k - 1) or
    # more and some other falls by that much.
    field = np.append(prices, -np.inf)[space.place]
    radius, rows, doubtful = len(one.rings) - 1, space.rows[one.at], np.zeros(len(one.at), bool)
    least = one.nearest_outside()
    while radius < space.n:
        if radius not in highest:
            highest[radius] = maximum_filter(field, 4 * radius + 1, mode="nearest")
        doubtful |= highest[radius][tuple(rows[:, :-1].T)] > least
        radius *= 2
        step = min(-(-radius // (space.k - 1)), space.n)
        rise, fall = table[rows, space.n + step], table[rows, space.n - step]
        fall = np.where(rows >= step, fall, np.inf)
        least = distance_from_log_affinity(-rise.min(axis=1) - fall.min(axis=1))
    return one.at[doubtful]
