"""Bounds on the loss of an exponential mechanism from outputs shifted with the truth.

Output r of the truth x is set against output r + 1 of the truth x + 1: the two are about as far
from their truths, so the sums of the weights differ little, however far the weights reach. Two
categories, scores by the Hellinger distance. Book: `thm-shifted`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma

from dpbayes.auditing.score_tables import TwoCategories

Array = NDArray[np.float64]

_SINGLE, _FINE = 12, 200
_ROUNDING, _RELATIVE = 1e-9, 1e-12  # of a loss, and of the rate, which distances are multiplied by
_AT_ONCE = 1 << 14  # so many numbers stay in the cache between one operation and the next
_WIDEST = 700.0  # a number of which the exponential is finite


def offsets(n: int, growth: float | None = None) -> list[int]:
    """Return the offsets from a truth at which weights are computed, 1 first and at most n.

    >>> offsets(40, 1.5)
    [1, 2, 3, 4, 6, 9, 13, 19, 28]
    """
    found = [1]
    while True:
        last = found[-1]
        coarse = 1.0 if last < _SINGLE else 1.2 if last < _FINE else 2.0
        found.append(max(last + 1, int((growth or coarse) * last)))
        if found[-1] > n:
            return found[:-1]


def shifted_bounds(
    table: TwoCategories, all_rates: Array, pairs: tuple[int, int], growth: float | None = None
) -> Array:
    """Return a bound on the loss, either way, of the pairs x, x + 1 of first counts in a stretch.

    `pairs` are its first x and the one behind its last; `all_rates` (n + 1,) belong to all counts.
    The offsets grow by the factor `growth`, and by larger ones where it is left out.
    """
    (first, last), n = pairs, table.first.n
    forward = _forward(table, all_rates, first, last, growth)
    mirrored = TwoCategories(table.second, table.first)
    turned = np.ascontiguousarray(all_rates[::-1])
    whole = first == 0 and last == n and table.first is table.second
    if whole and np.array_equal(turned, all_rates):
        backward = forward[::-1]
    else:
        backward = _forward(mirrored, turned, n - last, n - first, growth)[::-1]
    rounding = _ROUNDING + _RELATIVE * float(np.max(all_rates[first : last + 1]))
    return np.asarray(np.maximum(forward, backward) + rounding)


def _forward(
    table: TwoCategories, all_rates: Array, first: int, last: int, growth: float | None
) -> Array:
    """Bound ln P_x(r) - ln P_(x+1)(r) over all r, for x = first … last - 1."""
    ratios = _curvature_ratios(table)
    corners = np.sqrt(-np.expm1(table.row(0)))
    blocks = ((begin, min(begin + _AT_ONCE, last)) for begin in range(first, last, _AT_ONCE))
    return np.concatenate(
        [_block(table, all_rates, ratios, corners, *block, growth) for block in blocks]
    )


def _block(
    table: TwoCategories,
    all_rates: Array,
    ratios: Array,
    corners: Array,
    first: int,
    last: int,
    growth: float | None,
) -> Array:
    n, truths = table.first.n, np.arange(first, last)
    here, there = all_rates[first:last], all_rates[first + 1 : last + 1]
    rise = np.maximum(there - here, 0.0)
    rising = np.flatnonzero(rise)
    up = slice(rising[0], rising[-1] + 1) if rising.size else slice(0, 0)
    # Of lambda' H' - lambda H; the truth itself has H = 0.
    largest = np.maximum(there * np.sqrt(-np.expm1(table.steps(1, first, last))), rise)
    # Of the sum of the weights of x, and of what that of x + 1 has more, its corner first.
    least = np.ones(last - first)
    more = np.exp(-there * corners[first + 1 : last + 1])
    starts = offsets(n, growth)
    near = _both_sides(table, 1, first, last)
    for before, by, end in zip([0, *starts], starts, [*starts[1:], n + 1], strict=False):
        far = _both_sides(table, end, first, last)
        for right in (True, False):
            close = near[right]
            distant = close if end == by + 1 else far[right]
            room = (n - truths if right else truths) - (by - 1)
            outputs = np.clip(room, 0, end - by)
            ratio = ratios[truths if right else np.maximum(truths - (end - 1), 0)]
            weights = np.exp(-here * close.distance)
            least += (by - before) * weights * (outputs > 0)
            change = here - there * np.sqrt(_least_share(ratio, close, distant))
            growths = np.minimum(np.maximum(change, 0.0) * distant.distance, _WIDEST)
            more += outputs * weights * np.expm1(growths)
        left, begin = near[False].distance[up], first + up.start - by
        longer = _reach(table, by + 1, begin, begin + left.size).distance - left
        outermost = near if end == by + 1 else far
        loss = there[up] * longer + rise[up] * outermost[False].distance[up]
        largest[up] = np.maximum(largest[up], np.where(truths[up] >= by, loss, 0.0))
        near = far
    return np.asarray(largest + np.log1p(more / least))


def _curvature_ratios(table: TwoCategories) -> Array:
    """Return q(m + 1) / q(m) for m = 0 … n - 1; q is the sum of the two trigamma functions."""
    first, second = (polygamma(1, part.grid[::2]) for part in (table.first, table.second))
    q = first + second[::-1]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(q[1:] / q[:-1], nan=0.0, posinf=np.inf))


@dataclass(frozen=True)
class _Reach:
    """s = -ln BC and H = sqrt(1 - e^-s) between truths and the outputs at one offset.

    Where there is no such output s is infinite and H is 1.
    """

    exponent: Array
    distance: Array


def _reach(table: TwoCategories, by: int, begin: int, end: int) -> _Reach:
    """Return the reach between y and y + by for y = begin … end - 1."""
    low, high = max(begin, 0), min(end, table.first.n + 1 - by)
    exponent, distance = np.full(end - begin, np.inf), np.ones(end - begin)
    if low < high:
        inside = slice(low - begin, high - begin)
        logs = table.steps(by, low, high)
        np.negative(logs, out=exponent[inside])
        np.sqrt(-np.expm1(logs), out=distance[inside])
    return _Reach(exponent, distance)


def _both_sides(table: TwoCategories, by: int, first: int, last: int) -> tuple[_Reach, _Reach]:
    """Return the reaches of x - by and of x + by, for x = first … last - 1."""
    size = last - first
    if by > size:
        return _reach(table, by, first - by, last - by), _reach(table, by, first, last)
    both = _reach(table, by, first - by, last)  # one table serves both sides
    left = _Reach(both.exponent[:size], both.distance[:size])
    return left, _Reach(both.exponent[by:], both.distance[by:])


def _least_share(ratio: Array, near: _Reach, far: _Reach) -> Array:
    """Bound (1 - e^(-ratio s)) / (1 - e^-s) from below, for s from `near` to `far`."""
    # It rises with s where the ratio is below 1, and falls where it is above.
    shrinks = ratio < 1.0
    exponent = np.where(shrinks, near.exponent, far.exponent)
    distance = np.where(shrinks, near.distance, far.distance)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = -np.expm1(-ratio * exponent) / distance**2
    return np.asarray(np.where(np.isfinite(share), share, 0.0))
