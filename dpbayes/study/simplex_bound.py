"""A lower bound for every private mechanism over three categories, for many records.

One number v(x) for each data set, and for each answer s a way to share what is left over among the
data sets around s. What is checked at the end does not depend on how the numbers were found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.simplex import Simplex, ring, simplex

MARGIN = 1e-9
"""Taken off a bound for rounding, which is below 1e-12 in every sum that is formed."""

_BLOCK = 4_000  # data sets gone through together
_CYCLE, _RAISING = 12, 8  # rounds of a cycle, and those of them that may raise numbers
_LEARN, _FORGET = 0.3, 20.0  # how fast shares follow what is left over, and how that slows down
_REACH = 10.0  # windows go this many times 1/epsilon beyond what is nearer than v

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SimplexBound:
    """No epsilon-DP mechanism has a mean distance below `lower` over all data of n records, k = 3.

    `prices` (M,) are the numbers v of the proof, one for each class of data sets.
    """

    n: int
    epsilon: float
    lower: float
    prices: Array


def _on_ring(
    space: Simplex, at: NDArray[np.int64], d: int, table: Array
) -> tuple[NDArray[np.bool_], Array, NDArray[np.int32]]:
    # Of the data d steps from each class: whether it is a histogram, its distance, its class.
    rows, middle = space.rows[at][:, None, :], table.shape[1] // 2
    data = rows + ring(d)
    inside = np.all(data >= 0, axis=2)
    data = np.where(inside[:, :, None], data, rows)
    logs = -sum(table[rows[:, :, i], (data - rows)[:, :, i] + middle] for i in range(3))
    return inside, distance_from_log_affinity(logs), space.place[data[:, :, 0], data[:, :, 1]]


class _Windows:
    """Data sets s of numbers `at`, each with all data within `radius` replaced records, by rings.

    Ring d is an array (data sets, 6, d): sides and places, see `ring`. `left[d]` are the logits of
    the shares that go to the place before, one ring further in.
    """

    def __init__(self, space: Simplex, at: NDArray[np.int64], radius: int, table: Array) -> None:
        self.at, self.copies = at, space.copies[at]
        self.inside, self.place, self.distance, self.left = [], [], [], []
        for d in range(radius + 1):
            shape = (len(at), 6, d) if d else (len(at), 1, 1)
            inside, distance, place = _on_ring(space, at, d, table)
            self.inside.append(inside.reshape(shape))
            self.distance.append(distance.reshape(shape))
            self.place.append(place.reshape(shape))
            self.left.append(np.zeros(shape if d > 1 else 0, dtype=np.float32))

    def nearest_outside(self) -> Array:
        """Return the least distance on the last ring: nothing beyond it is nearer to s."""
        last = np.where(self.inside[-1], self.distance[-1], np.inf)
        return np.asarray(last.min(axis=(1, 2)))

    def values(self, prices: Array, q: float) -> tuple[list[Array], list[Array]]:
        """Return V on every ring, and the factor with which each V was passed on inwards."""
        radius = len(self.distance) - 1
        found: list[Array] = [np.empty(0)] * (radius + 1)
        factors, passed = found.copy(), np.zeros(1)
        for d in range(radius, -1, -1):
            rest = np.where(self.inside[d], self.distance[d] - prices[self.place[d]], 0.0)
            found[d] = rest + passed
            if d:
                factors[d] = np.where(found[d] >= 0.0, q, 1.0 / q)
                passed = self.inwards(found[d] * factors[d], d)
        return found, factors

    def kernel(self, q: float) -> Array:
        """Return the sum over the window of q^d, (data sets,)."""
        return np.asarray(sum(q**d * one.sum(axis=(1, 2)) for d, one in enumerate(self.inside)))

    def columns(self, factors: list[Array]) -> list[Array]:
        """Return on every ring what one unit there adds to V at s."""
        found = [np.ones((len(self.at), 1, 1))]
        for d in range(1, len(self.distance)):
            if d == 1:
                spread = np.repeat(found[0], 6, axis=1)
            else:
                before, after = _neighbours(found[-1])
                share = self._shares(d)
                spread = before * share + after * (1.0 - share)
            found.append(spread * factors[d])
        return [u * one for u, one in zip(found, self.inside, strict=True)]

    def inwards(self, given: Array, d: int) -> Array:
        """Return what ring d - 1 gets from ring d."""
        if d == 1:
            return np.asarray(given.sum(axis=(1, 2))[:, None, None])
        left = given * self._shares(d)
        right = given - left
        got = right[:, :, : d - 1] + left[:, :, 1:]
        got[:, :, 0] += left[:, :, 0] + np.roll(right[:, :, d - 1], 1, axis=1)
        return np.asarray(got)

    def learn(self, found: list[Array], prices: Array, rate: float) -> None:
        """Give more to the neighbour that has less left over."""
        scale = prices[self.at][:, None, None] / rate
        for d in range(2, len(self.distance)):
            before, after = _neighbours(found[d - 1])
            change = np.clip((before - after) / scale, -2.0 * rate, 2.0 * rate)
            self.left[d] = np.clip(self.left[d] - change, -9.0, 9.0).astype(np.float32)

    def _shares(self, d: int) -> Array:
        return 1.0 / (1.0 + np.exp(-self.left[d].astype(np.float64)))


def _neighbours(inner: Array) -> tuple[Array, Array]:
    # For each place of the next ring outwards: the values one ring in at the place before, after.
    after = np.concatenate([inner, np.roll(inner[:, :, :1], -1, axis=1)], axis=2)
    return np.concatenate([after[:, :, :1], inner], axis=2), after


def simplex_bound(n: int, epsilon: float, prior: float = 1.0, rounds: int = 48) -> SimplexBound:
    """Return a proved lower bound on the mean distance over all data of n records, k = 3.

    Prior (a, a, a) with a > 0, each data set with the same weight. More `rounds` sharpen the bound;
    every round's numbers are a proof of their own, and the best is returned. Book:
    `thm-simplex-certificate`.

    >>> found = simplex_bound(8, 1.0)
    >>> bool(0.350 < found.lower < 0.3531)
    True
    """
    budget = _validate.positive("epsilon", epsilon)
    _validate.integer("rounds", rounds, minimum=1)
    space = simplex(n, prior)
    prices, radii = _first_prices(space, budget)
    windows = _all_windows(space, radii)
    q, best = float(np.exp(-budget)), (-np.inf, prices)
    kernel = np.empty(len(prices))
    for one in windows:
        kernel[one.at] = one.kernel(q)
    for number in range(rounds):
        raising = number % _CYCLE < _RAISING
        rate = _LEARN / (1.0 + number / _FORGET)
        lowest, change = _round(windows, prices, q, kernel, rate, raising)
        lower = space.mean(prices) - max(0.0, -lowest) - MARGIN
        if lower > best[0]:
            best = lower, prices - max(0.0, -lowest) - MARGIN
        # Wide noise is unsteady under long steps.
        prices = prices + (1.3 if not raising else 1.5 if budget >= 1.0 else 0.7) * change
    if not _nothing_outside(space, windows, best[1]):
        raise ArithmeticError("the windows of the certificate are too small for these records")
    return SimplexBound(space.n, budget, best[0], _validate.frozen(best[1]))


def _first_prices(space: Simplex, epsilon: float) -> tuple[Array, NDArray[np.int64]]:
    # Means under the noise e^(-epsilon d), and how far data are nearer than that.
    reach, q = min(space.n, int(np.ceil(_REACH / epsilon)) + 2), float(np.exp(-epsilon))
    table, count = space.affinities(space.n), len(space.rows)
    total, mean = np.zeros(count), np.zeros(count)
    for start in range(0, count, _BLOCK):
        at = np.arange(start, min(start + _BLOCK, count))
        for d in range(reach + 1):
            inside, distance, _ = _on_ring(space, at, d, table)
            total[at] += q**d * inside.sum(axis=1)
            mean[at] += q**d * (distance * inside).sum(axis=1)
    prices, radii, live = mean / total, np.zeros(count, dtype=np.int64), np.arange(count)
    for d in range(1, space.n + 1):
        near = np.zeros(live.size, dtype=bool)
        for start in range(0, live.size, _BLOCK):
            at = live[start : start + _BLOCK]
            inside, distance, place = _on_ring(space, at, d, table)
            near[start : start + _BLOCK] = ((distance < prices[place]) & inside).any(axis=1)
        live = live[near]
        radii[live] = d
        if not live.size:
            break
    return 0.97 * prices, np.minimum(radii + reach, space.n)


def _all_windows(space: Simplex, radii: NDArray[np.int64]) -> list[_Windows]:
    table, found = space.affinities(int(radii.max()) + 3), []
    for top in range(int(radii.min()), int(radii.max()) + 3, 3):
        at = np.flatnonzero((radii > top - 3) & (radii <= top))
        for start in range(0, at.size, _BLOCK):
            part = at[start : start + _BLOCK]
            found.append(_Windows(space, part, min(top, space.n), table))
    return found


def _round(
    windows: list[_Windows], prices: Array, q: float, kernel: Array, rate: float, raising: bool
) -> tuple[float, Array]:
    # The least V at any s over the kernel's sum there, and a change of the prices.
    above, weight, lowest = np.zeros(len(prices)), np.full(len(prices), 1e-30), np.inf
    for one in windows:
        found, factors = one.values(prices, q)
        columns, value = one.columns(factors), found[0][:, 0, 0]
        share = value / sum(u.sum(axis=(1, 2)) for u in columns)
        lowest = min(lowest, float((value / kernel[one.at]).min()))
        used = np.full(value.size, True) if raising else value < 0.0
        scale = one.copies * used / sum(u.sum(axis=(1, 2)) for u in columns)
        for u, place in zip(columns, one.place, strict=True):
            mass = u * scale[:, None, None]
            weight += np.bincount(place.ravel(), mass.ravel(), len(prices))
            given = (mass * share[:, None, None]).ravel()
            above += np.bincount(place.ravel(), given, len(prices))
        one.learn(found, prices, rate)
    return lowest, above / weight


def _nothing_outside(space: Simplex, windows: list[_Windows], prices: Array) -> bool:
    # Beyond ring R of s the distance is at least that on ring R: it must reach the largest price
    # within 2 R of s, for the radius R of the window, then for 2 R, and so on.
    field = np.where(space.place >= 0, prices[np.maximum(space.place, 0)], -np.inf)
    bounds: dict[int, Array] = {}
    table = space.affinities(space.n)
    for one in windows:
        radius, at, least = len(one.distance) - 1, one.at, one.nearest_outside()
        while radius < space.n:
            if 2 * radius not in bounds:
                bounds[2 * radius] = maximum_filter(field, 4 * radius + 1, mode="nearest")
            rows = space.rows[at]
            most = bounds[2 * radius][rows[:, 0], rows[:, 1]]
            if np.any(most > least):
                return False
            # Data sets at which no price at all is larger are done.
            at, radius = at[least < field.max()], 2 * radius
            if not at.size or radius >= space.n:
                break
            least = np.concatenate(
                [_least_on_ring(space, part, radius, table) for part in np.array_split(at, 16)]
            )
    return True


def _least_on_ring(space: Simplex, at: NDArray[np.int64], d: int, table: Array) -> Array:
    inside, distance, _ = _on_ring(space, at, d, table)
    return np.asarray(np.where(inside, distance, np.inf).min(axis=1, initial=np.inf))
