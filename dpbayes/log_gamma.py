"""Differences of log-gammas without cancellation: what Stirling's formula leaves over.

lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z). Differences of lnGamma lose digits in
proportion to z; with the main terms cancelled by hand only differences of s, which is small,
remain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py

SERIES_FROM = 16
"""From here on Stirling's series is right to the last digit; the recurrence leads up to it."""

# Coefficients of z^-1, z^-3, ...: B_2j / (2j (2j - 1)).
_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def stirling_series(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return s(z) by Stirling's series, for z of at least `SERIES_FROM`; any shape.

    Relative error below 1e-15. Not checked: z >= 16 is the caller's promise.

    >>> float(round(stirling_series(np.array([16.0]))[0], 15))
    0.00520765591961
    """
    inverse = 1.0 / z
    square = inverse * inverse
    total: NDArray[np.float64] = square * _COEFFICIENTS[-1]
    total += _COEFFICIENTS[-2]
    for coefficient in _COEFFICIENTS[-3::-1]:
        total *= square
        total += coefficient
    total *= inverse
    return total


def stirling_gap(
    m: NDArray[np.float64], d: NDArray[np.float64], low: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return s(m) - (s(low) + s(m + d))/2 with low = m - d, to full digits however small d is.

    With u = d/m = tanh t each term of the series has (1 - u)^-p + (1 + u)^-p - 2
    = 2 (((1 - u^2)^(-p/2) - 1) cosh(pt) + 2 sinh(pt/2)^2), a sum of positive terms; for u above 1/2
    nothing cancels in the difference itself. Not checked: low >= 16 is the caller's promise.

    >>> f"{stirling_gap(np.array([20.0]), np.array([2e-8]), np.array([20.0]))[0]:.3e}"
    '-4.165e-21'
    """
    u = d / m
    far = u > 0.5
    t, log = np.arctanh(np.where(far, 0.0, u)), np.log1p(-np.square(np.where(far, 0.0, u)))
    total: NDArray[np.float64] = np.zeros(np.shape(m))
    for place, coefficient in enumerate(_COEFFICIENTS):
        p = 2.0 * place + 1.0
        spread = np.expm1(-0.5 * p * log) * np.cosh(p * t) + 2.0 * np.sinh(0.5 * p * t) ** 2
        total -= coefficient * m**-p * spread
    if np.any(far):
        apart = stirling_series(m) - 0.5 * (stirling_series(low) + stirling_series(m + d))
        total = np.where(far, apart, total)
    return total


def climbed(
    m: NDArray[np.float64], d: NDArray[np.float64], low: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return psi(a, b) - psi(a + 16, b + 16), m = (a + b)/2, d = |b - a|/2, low = min(a, b).

    psi(a, b) = lnGamma(m) - (lnGamma(a) + lnGamma(b))/2. Gamma(z + 1) = z Gamma(z) makes each of
    the 16 steps ln(ab/m^2)/2: all are negative, so that nothing cancels. The smaller parameter
    enters as it is: m - d would have lost the digits of a tiny one.

    >>> climbed(np.array([1.5]), np.array([0.5]), np.array([1.0])).round(8)
    array([-0.11343036])
    """
    total = np.zeros(m.shape)
    for step in range(SERIES_FROM):
        u = d / (m + step)
        far = u > 0.7
        logs = np.log1p(-np.square(np.where(far, 0.0, u)))
        if far.any():
            logs[far] = np.log(low[far] + step) - np.log(m[far] + step) + np.log1p(u[far])
        total += logs
    return 0.5 * total


def stirling_remainder(z: ArrayLike) -> NDArray[np.float64]:
    """Return s(z) = lnGamma(z) - (z - 1/2) ln z + z - ln(2 pi)/2 for z > 0, any shape.

    Below 16 the recurrence s(z) = s(z + 1) + (z + 1/2) log1p(1/z) - 1 leads up to the series; every
    term added is positive. Not checked: z > 0 is the caller's promise.

    >>> float(round(stirling_remainder([1.0])[0], 15))
    0.081061466795327
    """
    start = np.atleast_1d(np.asarray(z, dtype=np.float64))
    shift = np.where(start < SERIES_FROM, np.ceil(SERIES_FROM - start), 0.0)
    total = stirling_series(start + shift)
    for step in range(SERIES_FROM):
        low = start[shift > step] + step
        total[shift > step] += (low + 0.5) * np.log1p(1.0 / low) - 1.0
    return total


def between_totals(
    a: NDArray[np.float64], b: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln BC of the rows (N, k) of a and b = a + step, whose totals differ.

    Subtracting what the totals have in common would lose as many digits as they are large.
    With all parameters in Stirling's range, where the recurrence brings them, m = (a + b)/2,
    u = (b - a)/(2m), and U the same of the totals, ln BC is

        -sum_i m_i KL(u_i | U) + (sum_i ln(1 - u_i^2) - ln(1 - U^2))/4 + what Stirling leaves over;

    KL compares coins with chances (1 + u)/2. Both terms are at most 0 and neither cancels.
    """
    small = np.minimum(a, b) < SERIES_FROM
    climbs = np.zeros(a.shape)
    parts = a + 0.5 * step, 0.5 * np.abs(step), np.minimum(a, b)
    climbs[small] = climbed(*(part[small] for part in parts))
    up = np.where(small, float(SERIES_FROM), 0.0)
    total_a, total_b = a.sum(axis=-1), b.sum(axis=-1)
    result = climbs.sum(axis=-1)
    steps = up.sum(axis=-1)
    change = step.sum(axis=-1)
    for i in range(int(steps.max())):  # the totals climb by as much
        some = i < steps
        result[some] -= 0.5 * _log_share(total_a[some] + i, total_b[some] + i, change[some])
    a, b, total_a, total_b = a + up, b + up, total_a + steps, total_b + steps
    # Everything is divided by a power of two, exactly, so that no product overflows.
    unit = np.ldexp(1.0, -1 - np.frexp(np.maximum(total_a, total_b))[1])
    m, lean = a + 0.5 * step, _leanings(a * unit[:, None], step * unit[:, None])
    near = 2.0 * (m * unit[:, None])
    shares = [total * unit for total in (total_b, total_a)]
    both = (shares[0] + shares[1])[:, None]
    for share, sign in zip(shares, (1.0, -1.0), strict=True):
        part = share[:, None]
        with np.errstate(over="ignore"):  # infinitely far apart in logarithms
            result -= (m * (part / both) * _entropy(sign * lean / near / part)).sum(axis=-1)
    result += 0.25 * (_log_share(a, b, step).sum(axis=-1) - _log_share(total_a, total_b, change))
    gaps = stirling_gap(m, 0.5 * np.abs(step), np.minimum(a, b)).sum(axis=-1)
    middle = total_a + 0.5 * change
    low = np.minimum(total_a, total_b)
    return np.asarray(result + gaps - stirling_gap(middle, 0.5 * np.abs(change), low))


def _log_share(
    a: NDArray[np.float64], b: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    # ln(1 - u^2) = ln(4ab/(a + b)^2), from whichever form keeps its digits.
    m = a + 0.5 * step
    u = 0.5 * step / m
    near = np.abs(u) < 0.7
    far = np.log(a) + np.log(b) - 2.0 * np.log(m)
    return np.where(near, np.log1p(-np.square(np.where(near, u, 0.0))), far)


def _leanings(a: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
    # sum_j (d_i a_j - a_i d_j), each difference of products with the rounding errors of both
    # (Dekker 1971): proportional parameters leave a part in 10^16 of either product.
    result = np.zeros(a.shape)
    for j in range(a.shape[-1]):
        left, left_error = _product(d, a[:, j : j + 1])
        right, right_error = _product(a, d[:, j : j + 1])
        result += (left - right) + (left_error - right_error)
    return result


def _product(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    product = np.asarray(x * y)
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    rest = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, rest


def _halves(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = x * (2.0**27 + 1.0)
    high = scaled - (scaled - x)
    return high, x - high


def _entropy(t: NDArray[np.float64]) -> NDArray[np.float64]:
    # (1 + t) ln(1 + t) - t for t >= -1. Near 0 with y = t/(2 + t), of which ln(1 + t) = 2 artanh y:
    # 2 (y^2 + (1 + y)(y^3/3 + y^5/5 + ...))/(1 - y); |y| <= 1/7 leaves 10^-17 after ten terms.
    t = np.maximum(t, -1.0)
    near = np.abs(t) < 0.25
    y = np.where(near, t, 0.0)
    y = y / (2.0 + y)
    square = y * y
    odd = np.zeros(y.shape)
    for power in range(21, 1, -2):
        odd = odd * square + 1.0 / power
    close = 2.0 * square * (1.0 + (1.0 + y) * y * odd) / (1.0 - y)
    return np.where(near, close, xlog1py(1.0 + t, np.where(near, 0.0, t)) - t)
