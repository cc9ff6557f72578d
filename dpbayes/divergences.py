"""Hellinger distance between Dirichlet posteriors that keeps its digits at any number
of records.

The affinity (Bhattacharyya coefficient) of two Dirichlet distributions factorises over
the categories up to the totals: ln BC = sum_i psi(a_i, b_i) - psi(A, B), where

    psi(a, b) = lnGamma(m) - (lnGamma(m - d) + lnGamma(m + d)) / 2,
    m = (a + b)/2,  d = |b - a|/2.

`psi` is never computed as that difference, which at a hundred million records has no
digit left: lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z), all but s is cancelled
by hand. Beside m and d goes low = min(a, b): m - d loses the digits of a tiny one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py

from dpbayes import _validate
from dpbayes._stirling import (
    SERIES_FROM,
    climbed,
    log_share,
    stirling_gap,
    stirling_series,
)
from dpbayes._validate import Floats
from dpbayes._values import plain

# One vector of parameters, and several. An array is neither by its type, which does not
# say how many dimensions it has: what it gives may be a float or an array.
Vector = Sequence[float]
Rows = Sequence[Sequence[float]]
# Two arrays of Dirichlet parameters of shape (..., k) to distances of shape (...).
Metric = Callable[[ArrayLike, ArrayLike], Floats]

_LARGEST_TOTAL = 2.0**1000  # up to here products with a logarithm stay finite
_LARGEST_SLIPPED = 1e9  # totals of that size cost the slipped formula seven digits
# half a step; for shorter ones what is left of Stirling's series has no digits
_SHORT = 0.25


def between_totals(a: Floats, b: Floats, step: Floats) -> Floats:
    """Return ln BC of the rows (N, k) of a and b = a + step, whose totals differ.

    With all parameters in Stirling's range, where the recurrence brings them, m = (a +
    b)/2, u = (b - a)/(2m), and U the same of the totals, ln BC is

        -sum_i m_i KL(u_i | U) + (sum_i ln(1 - u_i^2) - ln(1 - U^2))/4 + what Stirling
        leaves over;

    KL compares coins with chances (1 + u)/2. Both terms are at most 0.
    """
    d, change = 0.5 * np.abs(step), step.sum(axis=-1)
    # 1. Small parameters climb by 16, where Stirling's series is right; what that
    # changes of psi is added first.
    small = np.minimum(a, b) < SERIES_FROM
    climbs = np.zeros(a.shape)
    climbs[small] = climbed(
        *(part[small] for part in (a + 0.5 * step, d, np.minimum(a, b)))
    )
    up = np.where(small, float(SERIES_FROM), 0.0)
    total_a, total_b, steps = a.sum(axis=-1), b.sum(axis=-1), up.sum(axis=-1)
    result, total_d = climbs.sum(axis=-1), 0.5 * np.abs(change)
    # The totals climb by as many steps as their categories do together, so that they
    # stay the sums of the parameters; psi of the totals is subtracted in ln BC.
    for i in range(int(steps.max())):
        some = i < steps
        low = np.minimum(total_a, total_b)[some] + i
        middle = total_a[some] + i + 0.5 * change[some]
        result[some] -= 0.5 * log_share(middle, total_d[some], low)
    a, b, total_a, total_b = a + up, b + up, total_a + steps, total_b + steps
    # 2. The terms m_i KL(u_i | U), with u_i - U = lean_i / (m_i (A + B)) for totals A,
    # B: `_leanings` has the numerators, which cancel where parameters are proportional.
    # Everything is divided by a power of two, exactly, so that no product overflows.
    unit = np.ldexp(1.0, -1 - np.frexp(np.maximum(total_a, total_b))[1])
    # A step beyond the smaller end was rounded (Sterbenz); d_i a_j - a_i d_j = b_i a_j
    # - a_i b_j.
    far = (np.abs(step) > np.minimum(a, b)).any(axis=-1, keepdims=True)
    m = a + 0.5 * step
    lean = _leanings(a * unit[:, None], np.where(far, b, step) * unit[:, None])
    # KL(u | U) is the mean of `_entropy` at the relative changes +-(u - U) / (1 +- U)
    # of both chances (1 +- U) / 2; 1 + U = 2B / (A + B) and 1 - U = 2A / (A + B).
    shares = [total * unit for total in (total_b, total_a)]
    both = (shares[0] + shares[1])[:, None]
    for share, sign in zip(shares, (1.0, -1.0), strict=True):
        part = share[:, None]
        with np.errstate(over="ignore"):  # infinitely far apart in logarithms
            away = _entropy(sign * lean / (2.0 * (m * unit[:, None])) / part)
            result -= (m * (part / both) * away).sum(axis=-1)
    # 3. The quarter of the logarithms, and 4. what Stirling's series leaves over.
    lows = np.minimum(a, b), np.minimum(total_a, total_b)
    middle = total_a + 0.5 * change
    result += 0.25 * (
        log_share(m, d, lows[0]).sum(axis=-1) - log_share(middle, total_d, lows[1])
    )
    gaps = stirling_gap(m, d, lows[0]).sum(axis=-1)
    return np.asarray(result + gaps - stirling_gap(middle, total_d, lows[1]))


def _leanings(a: Floats, d: Floats) -> Floats:
    # sum_j (d_i a_j - a_i d_j), each difference of products with the rounding errors of
    # both (Dekker 1971): proportional parameters leave a part in 10^16 of either
    # product.
    result = np.zeros(a.shape)
    for j in range(a.shape[-1]):
        left, left_error = _product(d, a[:, j : j + 1])
        right, right_error = _product(a, d[:, j : j + 1])
        result += (left - right) + (left_error - right_error)
    return result


def _product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    product = np.asarray(x * y)
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return (
        product,
        ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low,
    )


def _halves(x: Floats) -> tuple[Floats, Floats]:
    scaled = x * (2.0**27 + 1.0)
    high = scaled - (scaled - x)
    return high, x - high


def _entropy(t: Floats) -> Floats:
    # (1 + t) ln(1 + t) - t for t >= -1: near 0 the series of t^j / (j (1 - j)) with
    # signs.
    t = np.maximum(t, -1.0)
    near = np.abs(t) < 0.25
    y, series = np.where(near, t, 0.0), np.zeros(t.shape)
    for j in range(28, 1, -1):  # 4^-28 is 1e-17
        series = 1.0 / (j * (j - 1)) - y * series
    return np.where(near, y * y * series, xlog1py(1.0 + t, np.where(near, 0.0, t)) - t)


def _psi_large(m: Floats, d: Floats, low: Floats) -> Floats:
    # Stirling's main terms cancel by hand: what is left is -(d^2/m)/2 to leading order
    # and the floating-point subtraction below loses a factor of three at most.
    u = d / m
    far = u >= 0.7
    half_log = np.arctanh(np.where(far, 0.0, u))
    if far.any():
        half_log[far] = 0.5 * np.log((m[far] + d[far]) / low[far])
    main = -0.5 * ((m - 0.5) * log_share(m, d, low) + 2.0 * d * half_log)
    main = np.where(u < 1e-150, -0.5 * d * u, main)  # the square of u underflows
    middle, below, above = stirling_series(np.stack((m, low, m + d)))
    gap = middle - 0.5 * (below + above)  # far smaller than either part of it
    short = (d < _SHORT) & (d > 0.0)  # without a step there is no gap
    if short.any():
        gap[short] = stirling_gap(m[short], d[short], low[short])
    return np.asarray(main + gap)


def affinity_by_step(a: ArrayLike, step: ArrayLike) -> Floats:
    """Return psi(a, a + step) elementwise, the log-affinity one category contributes.

    psi(a, b) = lnGamma((a+b)/2) - (lnGamma(a) + lnGamma(b))/2; book: `thm-stable`. A
    whole step stays exact when `a` is large and fractional. Not checked: `a` > 0 and `a
    + step` > 0.
    """
    start, move = np.asarray(a, dtype=np.float64), np.asarray(step, dtype=np.float64)
    return _affinity(start, move, np.minimum(start, start + move))


def affinity_of_counts(
    prior: ArrayLike, counts: ArrayLike, released: ArrayLike
) -> Floats:
    """Return psi(prior + counts, prior + released) elementwise, for one category.

    They are passed apart because a tiny prior would vanish in its sum with a count.
    Book: `thm-stable`. Not checked: `prior` > 0 and counts of at least 0.
    """
    alpha = np.asarray(prior, dtype=np.float64)
    held, other = np.asarray(counts), np.asarray(released)
    # Whole numbers are subtracted as such: beyond 2^53 floats would lose the step.
    step = (other - held).astype(np.float64)
    return _affinity(alpha + held, step, alpha + np.minimum(held, other))


def _affinity(start: Floats, move: Floats, low: Floats) -> Floats:
    # `low` is the smaller of start and start + move, which only the caller may know to
    # full digits; it has the shape that the others are broadcast to.
    first, step, least = (
        np.broadcast_to(part, low.shape).ravel() for part in (start, move, low)
    )
    m, d, small = first + 0.5 * step, 0.5 * np.abs(step), least < SERIES_FROM
    shift = np.where(small, float(SERIES_FROM), 0.0)
    result = _psi_large(m + shift, d, least + shift)
    if small.any():
        result[small] += climbed(m[small], d[small], least[small])
    return result.reshape(low.shape)


def one_step_affinity(a: ArrayLike) -> Floats:
    """Return phi(a) = psi(a, a + 1), increasing and concave, near -1/(8a). Book:
    `thm-stable`.
    """
    return affinity_by_step(a, 1.0)


def _parameters(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, Floats]:
    # Both, broadcast to one shape, and the steps from the first to the second.
    _validate.same_labels(a=a, b=b)
    first, second = _validate.positive_array("a", a), _validate.positive_array("b", b)
    for name, array in (("a", first), ("b", second)):
        if array.ndim < 1 or array.shape[-1] < 2:
            raise ValueError(
                f"{name} must have at least 2 parameters, got shape {array.shape}"
            )
        with np.errstate(over="ignore"):
            if not np.isfinite(array.sum(axis=-1)).all():
                raise ValueError(
                    f"{name} must have a finite sum, got {_validate.shown(array)}"
                )
    sizes = first.shape[-1], second.shape[-1]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"a and b must have the same number of parameters, got {sizes}"
        )
    given = np.asarray(a), np.asarray(b)
    if all(one.dtype.kind in "iu" for one in given):
        # Beyond 2^53 floats would lose the step; Python's own numbers lose none at any
        # size.
        step = (given[1].astype(object) - given[0].astype(object)).astype(np.float64)
    else:
        step = second - first
    return *np.broadcast_arrays(first, second), step


@overload
def log_affinity(a: Vector, b: Vector) -> float: ...
@overload
def log_affinity(a: Rows, b: ArrayLike) -> Floats: ...
@overload
def log_affinity(a: ArrayLike, b: Rows) -> Floats: ...
@overload
def log_affinity(a: ArrayLike, b: ArrayLike) -> Any: ...
def log_affinity(a: ArrayLike, b: ArrayLike) -> Any:
    """Return ln BC of Dirichlet distributions with parameters a and b, shape (..., k)
    to (...).

    BC = integral of sqrt(p q); ln BC = sum_i psi(a_i, b_i) - psi(sum a, sum b). A float
    for two vectors, else an array.

    >>> round(log_affinity([1, 1], [2, 1]), 12)
    -0.058891517828
    """
    first, second, step = _parameters(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        by_category, by_total = map(np.atleast_1d, _affinities(first, second, step))
        result = by_category - by_total
    # Totals that differ by much take most of the sum away, and its digits with it.
    huge = np.maximum(first.sum(axis=-1), second.sum(axis=-1)) > _LARGEST_TOTAL
    lost = (by_total < 0.98 * by_category) | huge
    if lost.any():
        rows = [np.atleast_2d(part)[lost] for part in (first, second, step)]
        result[lost] = between_totals(*rows)
    return plain(np.asarray(np.minimum(result, 0.0)).reshape(step.shape[:-1]))


def _affinities(first: Floats, second: Floats, step: Floats) -> tuple[Floats, Floats]:
    # The sum of psi over the categories, and psi of the totals.
    by_category = _affinity(first, step, np.minimum(first, second)).sum(axis=-1)
    totals, change, others = first.sum(axis=-1), step.sum(axis=-1), second.sum(axis=-1)
    # Sums that agree but for rounding are compared through their difference alone.
    low = np.where(others < 0.5 * totals, others, np.minimum(totals, totals + change))
    return by_category, _affinity(totals, change, low)


def distance_from_log_affinity(log_bc: ArrayLike, exponent: float = 1.0) -> Floats:
    """Return sqrt(1 - BC^exponent) from ln BC, without cancellation for close
    distributions.
    """
    logs = np.asarray(log_bc, dtype=np.float64)
    return np.asarray(np.sqrt(0.0 - np.expm1(exponent * logs)))  # 0 - 0 has no sign


@overload
def hellinger(a: Vector, b: Vector) -> float: ...
@overload
def hellinger(a: Rows, b: ArrayLike) -> Floats: ...
@overload
def hellinger(a: ArrayLike, b: Rows) -> Floats: ...
@overload
def hellinger(a: ArrayLike, b: ArrayLike) -> Any: ...
def hellinger(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the Hellinger distance of Dirichlet distributions, shape (..., k) to
    (...), a float for two vectors.

    H(a, b) = sqrt(1 - BC(a, b)); D, section 3; book: `def-hellinger`. Relative error
    below 1e-13. Parameters and their sums are positive and finite, k is at least 2 and
    the same for both.

    >>> round(hellinger([51, 51], [52, 50]), 12)
    0.070275628559
    """
    return plain(distance_from_log_affinity(log_affinity(a, b)))


def metric_name(metric: Metric | str) -> str:
    """Return "hellinger" or "published" for a name or for the function it stands
    for."""
    functions = {"hellinger": hellinger, "published": hellinger_published}
    for name, function in functions.items():
        if metric is function:
            return name
    return _validate.choice("metric", metric, functions)


def affinity_exponent(metric: Metric | str, total: float) -> float:
    """Return kappa such that the metric is sqrt(1 - BC^kappa) at that total.

    1 for "hellinger"; 1/ln(total) for "published", where the total must exceed 1.
    """
    if metric_name(metric) == "hellinger":
        return 1.0
    if total <= 1.0:
        raise ValueError(
            f"the published metric needs a parameter total above 1, got {total!r}"
        )
    return float(1.0 / np.log(total))


@overload
def hellinger_published(a: Vector, b: Vector) -> float: ...
@overload
def hellinger_published(a: Rows, b: ArrayLike) -> Floats: ...
@overload
def hellinger_published(a: ArrayLike, b: Rows) -> Floats: ...
@overload
def hellinger_published(a: ArrayLike, b: ArrayLike) -> Any: ...
def hellinger_published(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the distance of the published curves, not the one the papers define.

    Their log generalised Beta function divides by ln(sum) where lnGamma(sum) belongs as
    a subtraction; with equal totals N this gives sqrt(1 - BC^(1/ln N)). Book:
    `def-published-metric`. For unequal totals, up to 1e9, the slip is followed
    literally and the square is cut to [0, 1]. Arguments as `hellinger`, with totals
    above 1.

    >>> round(hellinger_published([51, 51], [52, 50]), 12)
    0.032709299799
    """
    first, second, step = _parameters(a, b)
    totals, change = first.sum(axis=-1), step.sum(axis=-1)
    smallest = float(np.minimum(totals, totals + change).min(initial=np.inf))
    affinity_exponent("published", smallest)  # or it is refused
    log_bc = _affinities(first, second, step)[0] / np.log(totals)
    unequal = np.abs(change) > 1e-9 * totals
    if np.any(unequal):
        largest = np.maximum(totals, totals + change)[unequal].max()
        if largest > _LARGEST_SLIPPED:
            raise ValueError(
                f"the published metric takes unequal totals to 1e9, got {largest:g}"
            )
        middle, *ends = (
            gammaln(part).sum(axis=-1) / np.log(part.sum(axis=-1))
            for part in ((first + second) / 2, first, second)
        )
        log_bc = np.where(unequal, middle - sum(ends) / 2, log_bc)
    return plain(np.sqrt(np.clip(0.0 - np.expm1(log_bc), 0.0, 1.0)))
