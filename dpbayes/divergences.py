"""Hellinger distance between Dirichlet posteriors that keeps its digits at any number of records.

The affinity (Bhattacharyya coefficient) of two Dirichlet distributions factorises over the
categories up to the totals: ln BC = sum_i psi(a_i, b_i) - psi(A, B), where

    psi(a, b) = lnGamma(m) - (lnGamma(m - d) + lnGamma(m + d)) / 2,  m = (a + b)/2, d = |b - a|/2.

`psi` is never computed as that difference: for neighbours at a million records it would lose four
digits and at a hundred million all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpbayes import _validate
from dpbayes._validate import Floats
from dpbayes.log_gamma import (
    SERIES_FROM,
    between_totals,
    climbed,
    log_share,
    stirling_gap,
    stirling_series,
)

# A yardstick: two arrays of Dirichlet parameters of shape (..., k) to distances of shape (...).
Metric = Callable[[ArrayLike, ArrayLike], Floats]

METRICS = ("hellinger", "published")
_LARGEST_TOTAL = 2.0**1000  # up to here products with a logarithm stay finite
_LARGEST_SLIPPED = 1e9  # totals of that size cost the slipped formula seven digits
_SHORT = 0.25  # half a step; for shorter ones what is left of Stirling's series has no digits


def _psi_large(m: Floats, d: Floats, low: Floats) -> Floats:
    # Stirling's main terms cancel by hand: what is left is -(d^2/m)/2 to leading order and the
    # floating-point subtraction below loses a factor of three at most.
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

    mathematics: psi(a, b) = lnGamma((a+b)/2) - (lnGamma(a) + lnGamma(b))/2; book: `thm-stable`.
    Passing the step rather than b keeps a whole step exact when `a` is large and fractional.
    Not checked: `a` > 0 and `a + step` > 0 are the caller's promise.
    """
    start, move = np.asarray(a, dtype=np.float64), np.asarray(step, dtype=np.float64)
    return _affinity(start, move, np.minimum(start, start + move))


def affinity_of_counts(prior: ArrayLike, counts: ArrayLike, released: ArrayLike) -> Floats:
    """Return psi(prior + counts, prior + released) elementwise, for one category.

    A tiny prior beside a count would vanish in their sum, and with it what an empty category
    adds: prior and counts are passed apart, and added only after the smaller count is taken.
    Book: `thm-stable`. Not checked: `prior` > 0 and counts of at least 0 are the caller's promise.

    >>> float(affinity_of_counts(1e-300, 997, 0).round(6))
    -691.841653
    """
    alpha = np.asarray(prior, dtype=np.float64)
    held, other = np.asarray(counts), np.asarray(released)
    # Whole numbers are subtracted as such: beyond 2^53 floats would lose the step.
    step = (other - held).astype(np.float64)
    return _affinity(alpha + held, step, alpha + np.minimum(held, other))


def _affinity(start: Floats, move: Floats, low: Floats) -> Floats:
    # `low` is the smaller of start and start + move, which only the caller may know to full digits;
    # it has the shape that the others are broadcast to.
    first, step, least = (np.broadcast_to(part, low.shape).ravel() for part in (start, move, low))
    m, d, small = first + 0.5 * step, 0.5 * np.abs(step), least < SERIES_FROM
    shift = np.where(small, float(SERIES_FROM), 0.0)
    result = _psi_large(m + shift, d, least + shift)
    if small.any():
        result[small] += climbed(m[small], d[small], least[small])
    return result.reshape(low.shape)


def one_step_affinity(a: ArrayLike) -> Floats:
    """Return phi(a) = psi(a, a + 1), the log-affinity of one record more in a category.

    Increasing and concave in `a`, close to -1/(8a). Book: `thm-stable`.
    """
    return affinity_by_step(a, 1.0)


def _parameters(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, Floats]:
    # Both, broadcast to one shape, and the steps from the first to the second.
    _validate.same_labels(a=a, b=b)
    first, second = _validate.positive_array("a", a), _validate.positive_array("b", b)
    for name, array in (("a", first), ("b", second)):
        if array.ndim < 1 or array.shape[-1] < 2:
            raise ValueError(f"{name} must have at least 2 parameters, got shape {array.shape}")
        with np.errstate(over="ignore"):
            finite = np.isfinite(array.sum(axis=-1)).all()
        if not finite:
            raise ValueError(f"{name} must have a finite sum, got {_validate.shown(array)}")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"a and b must have the same number of parameters, got {first.shape[-1]} and "
            f"{second.shape[-1]}"
        )
    given = np.asarray(a), np.asarray(b)
    if all(one.dtype.kind in "iu" for one in given):
        # Beyond 2^53 floats would lose the step; Python's own numbers lose none at any size.
        step = (given[1].astype(object) - given[0].astype(object)).astype(np.float64)
    else:
        step = second - first
    return *np.broadcast_arrays(first, second), step


def log_affinity(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return ln BC of Dirichlet distributions with parameters a and b, shape (..., k) to (...).

    BC = integral of sqrt(p q); ln BC = sum_i psi(a_i, b_i) - psi(sum a, sum b).

    >>> round(float(log_affinity([1, 1], [2, 1])), 12)
    -0.058891517828
    """
    first, second, step = _parameters(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        by_category, by_total = (np.atleast_1d(part) for part in _affinities(first, second, step))
        result = by_category - by_total
    # Totals that differ by much take most of the sum away, and its digits with it.
    huge = np.maximum(first.sum(axis=-1), second.sum(axis=-1)) > _LARGEST_TOTAL
    lost = (by_total < 0.98 * by_category) | huge
    if lost.any():
        rows = [np.atleast_2d(part)[lost] for part in (first, second, step)]
        result[lost] = between_totals(*rows)
    return np.asarray(np.minimum(result, 0.0)).reshape(step.shape[:-1])


def _affinities(first: Floats, second: Floats, step: Floats) -> tuple[Floats, Floats]:
    # The sum of psi over the categories, and psi of the totals.
    by_category = _affinity(first, step, np.minimum(first, second)).sum(axis=-1)
    totals, change, others = first.sum(axis=-1), step.sum(axis=-1), second.sum(axis=-1)
    # Sums that agree but for rounding are compared through their difference alone.
    low = np.where(others < 0.5 * totals, others, np.minimum(totals, totals + change))
    return by_category, _affinity(totals, change, low)


def distance_from_log_affinity(log_bc: ArrayLike, exponent: float = 1.0) -> Floats:
    """Return sqrt(1 - BC^exponent) from ln BC, without cancellation for close distributions."""
    logs = np.asarray(log_bc, dtype=np.float64)
    return np.asarray(np.sqrt(0.0 - np.expm1(exponent * logs)))  # 0 - 0 has no sign


def hellinger(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the Hellinger distance of Dirichlet distributions, shape (..., k) to (...).

    H(a, b) = sqrt(1 - BC(a, b)); D, section 3; book: `def-hellinger`. Relative error below 1e-13
    for neighbouring posteriors of up to 10^12 records. Raises ValueError or TypeError for
    parameters that are not positive and finite, whose sum is not, or whose last axes or labels
    differ.

    >>> round(float(hellinger([51, 51], [52, 50])), 12)
    0.070275628559
    """
    return distance_from_log_affinity(log_affinity(a, b))


def metric_name(metric: Metric | str) -> str:
    """Return "hellinger" or "published" for a name or for the function it stands for.

    Raises ValueError for another name, TypeError for another function.
    """
    for name, function in (("hellinger", hellinger), ("published", hellinger_published)):
        if metric is function:
            return name
    return _validate.choice("metric", metric, METRICS)


def affinity_exponent(metric: Metric | str, total: float) -> float:
    """Return kappa such that the metric is sqrt(1 - BC^kappa) on posteriors of that total.

    1 for "hellinger"; 1/ln(total) for "published", the distance behind the printed curves.
    Raises ValueError for another name, and for "published" unless the total exceeds 1.
    """
    if metric_name(metric) == "hellinger":
        return 1.0
    if total <= 1.0:
        raise ValueError(f"the published metric needs a parameter total above 1, got {total!r}")
    return float(1.0 / np.log(total))


def hellinger_published(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the distance behind the published curves, which is not the one the papers define.

    Their log generalised Beta function divides by ln(sum) where lnGamma(sum) belongs as a
    subtraction; with equal totals N this gives sqrt(1 - BC^(1/ln N)). Book:
    `def-published-metric`. For unequal totals the slip is followed literally and the square is
    cut to [0, 1]. Use it only to rebuild published figures. Shapes and errors as `hellinger`;
    ValueError also for parameters whose total is at most 1.

    >>> round(float(hellinger_published([51, 51], [52, 50])), 12)
    0.032709299799
    """
    first, second, step = _parameters(a, b)
    totals, change = first.sum(axis=-1), step.sum(axis=-1)
    smallest = float(np.minimum(totals, totals + change).min(initial=np.inf))
    if smallest <= 1.0:
        raise ValueError(f"the published metric needs a parameter total above 1, got {smallest:g}")
    log_bc = _affinities(first, second, step)[0] / np.log(totals)
    unequal = np.abs(change) > 1e-9 * totals
    if np.any(unequal):
        largest = float(np.maximum(totals, totals + change)[unequal].max())
        if largest > _LARGEST_SLIPPED:
            raise ValueError(
                "the published metric takes totals that differ up to "
                f"{_LARGEST_SLIPPED:g}, got {largest:g}"
            )
        log_bc = np.array(log_bc)
        log_bc[unequal] = _slipped_log_affinity(first[unequal], second[unequal])
    return np.asarray(np.sqrt(np.clip(0.0 - np.expm1(log_bc), 0.0, 1.0)))


def _slipped_log_affinity(a: Floats, b: Floats) -> Floats:
    def log_beta(parameters: Floats) -> NDArray[Any]:
        return np.asarray(gammaln(parameters).sum(-1) / np.log(parameters.sum(-1)))

    return np.asarray(log_beta((a + b) / 2) - (log_beta(a) + log_beta(b)) / 2)
