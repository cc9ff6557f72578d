"""A lower bound for every private mechanism that answers with a histogram, for many records.

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
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_segments import segment_prices
from dpbayes.study.simplex_windows import Array, Numbers, Windows, inside_of, on_ring

MARGIN = 1e-9
"""Taken off a bound for rounding, which is below 1e-12 in every sum that is formed."""

_BLOCK = 2_000_000  # data gone through together, in windows around some answers
_PART, _STEP = 0.97, 3  # where prices begin, and how much radii in a block may differ
_SEGMENTS = 1.0  # least epsilon at which prices begin with segments: wider noise meets the edges
_CYCLE, _RAISING = 12, 8  # rounds of a cycle, and those of them that may raise numbers
_WIDTHS, _NARROWER = (0.3, 0.08), 0.9  # below which part of its price V counts as 0: first, last
_SHARES = 16  # first rounds, in which only shares move
_LOWERINGS = 12  # steps in which the fall of prices is found that answers ask for
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
    prices, lengths, radii = _first_prices(space, budget)
    windows = _all_windows(space, radii, _reach(space, budget), lengths)
    q, best, grid = float(np.exp(-budget)), (-np.inf, prices), Grid(space, budget)
    kernel = grid.times(np.ones(len(prices)))
    weights, values = np.asarray(1.0 / kernel), np.full(len(prices), -np.inf)
    for number in range(rounds):
        turn = number - _SHARES
        raising = turn >= 0 and turn % _CYCLE < _RAISING
        width = max(_WIDTHS[0] * _NARROWER**number, _WIDTHS[1])
        given = weights if raising else None
        found, above, covered = _round(windows, prices, q, width, given)
        # While prices stay each answer keeps the shares that were best for it.
        values = np.maximum(values, found) if turn <= 0 else found
        if turn >= -1 or number == rounds - 1:
            lowered = prices - fall(grid, values, kernel) - MARGIN
            lower = space.mean(lowered)
            if lower > best[0]:
                best = lower, lowered
        if turn < 0:
            continue
        if raising:
            # The weights with which answers are given must add up to one at every data set: where
            # they do not yet, the price rises.
            missing = 1.0 - covered / space.copies
            prices = prices * np.exp(np.clip(_COVER * missing, -0.1, 0.1) / (1 + turn / _SETTLE))
        # Wide noise is unsteady under long steps.
        prices = prices + (1.0 if raising else 1.5 if budget >= 1.0 else 0.7) * above
    if not nothing_outside(space, [ended(one) for one in windows], best[1]):
        raise ArithmeticError("the windows of the certificate are too small for these records")
    return SimplexBound(space.n, space.k, budget, best[0], _validate.frozen(best[1]))


def _first_prices(space: Simplex, epsilon: float) -> tuple[Array, Numbers, Numbers]:
    # Means under the noise e^(-epsilon d), or what segments cost; the lengths of the segments; and
    # how far data are nearer than that mean.
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
    if space.k == 3 and epsilon >= _SEGMENTS:
        return *segment_prices(space, epsilon), radii
    return _PART * prices, np.zeros_like(radii), radii


def _reach(space: Simplex, epsilon: float) -> int:
    return min(space.n, int(np.ceil(_REACH / epsilon)) + 2)


def _blocks(space: Simplex, at: Numbers, radius: int) -> list[Numbers]:
    # Classes one after the other are alike, so that windows of a block have few places unused.
    size = sum(len(ring(space.k, d)) for d in range(radius + 1))
    return np.split(at, range(0, at.size, int(np.clip(_BLOCK // size, 32, 4_000))))[1:]


def _all_windows(space: Simplex, radii: Numbers, reach: int, lengths: Numbers) -> list[Windows]:
    table, found = space.affinities(space.n), []
    for length in np.unique(lengths):
        for top in range(int(radii.min()), int(radii.max()) + _STEP, _STEP):
            alike = (radii > top - _STEP) & (radii <= top) & (lengths == length)
            at, radius = np.flatnonzero(alike), min(top + reach, space.n)
            for part in _blocks(space, at, radius):
                found.append(Windows(space, part, radius, top + _STEP, table, int(length)))
    return found


def _round(
    windows: list[Windows], prices: Array, q: float, width: float, weights: Array | None
) -> tuple[Array, Array, Array]:
    # V at each s; what is left over at each class, in the mean over answers; and how much the
    # answers cover. Answers that leave something over lose weight; without weights only those
    # count at which V is negative.
    size = len(prices) + 1
    above, covered, values = np.zeros(size), np.full(size, 1e-30), np.empty(size - 1)
    for one in windows:
        found, factors = one.values(prices, q)
        columns, value = one.columns(factors), found[0][one.middle]
        whole = sum(u.sum(axis=0) for u in columns)
        spare, values[one.at] = value / whole, value
        scale = one.copies * (value < 0.0) / whole
        if weights is not None:
            weights[one.at] *= np.exp(np.clip(-spare / prices[one.at], -0.3, 0.3))
            scale = one.copies * weights[one.at]
        for u, near in zip(columns, one.rings, strict=True):
            mass, place = u * scale, near.place.ravel()
            covered += np.bincount(place, mass.ravel(), size)
            above += np.bincount(place, (mass * spare).ravel(), size)
        one.learn(found, prices, q, width)
    return values, (above / covered)[:-1], covered[:-1]


def fall(grid: Grid, values: Array, kernel: Array) -> Array:
    """Return by how much prices must fall (M,) where V is `values`; `kernel` is K times ones.

    Some b >= 0 with the sum of e^(-epsilon d(x, s)) b_x at least -V(s) for every s; at first where
    V is negative, in the end the same everywhere.
    """
    short, lowered = np.maximum(-values, 0.0), np.zeros(len(values))
    for _ in range(_LOWERINGS):
        lowered += np.maximum(short - grid.times(lowered), 0.0) / 2.0
    return np.asarray(lowered + max(0.0, float(((short - grid.times(lowered)) / kernel).max())))


@dataclass(frozen=True)
class End:
    """Answers of the classes `at`, how far their windows reach, and what is nearest beyond (B,)."""

    at: Numbers
    radius: int
    nearest: Array


def ended(one: Windows) -> End:
    """Return where windows end."""
    return End(one.at, len(one.rings) - 1, one.nearest_outside())


def nothing_outside(space: Simplex, ends: list[End], prices: Array) -> bool:
    """Return whether every price beyond the window of an answer is at most the distance to it."""
    table, every = space.affinities(space.n), all_rows(space.n, space.k)
    highest: dict[int, Array] = {}
    held = prices[space.place[tuple(every[:, :-1].T)]]
    for one in ends:
        if one.radius >= space.n:
            continue
        for s in _doubtful(space, one, prices, table, highest):
            logs = sum(
                table[x, space.n - x :][column]
                for x, column in zip(space.rows[s], every.T, strict=True)
            )
            away = np.abs(every - space.rows[s]).sum(axis=1) > 2 * one.radius
            if np.any(away & (distance_from_log_affinity(-logs) < held)):
                return False
    return True


def _doubtful(
    space: Simplex, one: End, prices: Array, table: Array, highest: dict[int, Array]
) -> Numbers:
    # The classes for which a bound by rings does not exclude a higher price outside. Beyond ring
    # D of s the distance is at least that on ring D; there some count rises by D / (k - 1) or
    # more and some other falls by that much.
    field = np.append(prices, -np.inf)[space.place]
    radius, rows, doubtful = one.radius, space.rows[one.at], np.zeros(len(one.at), bool)
    least = one.nearest
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
