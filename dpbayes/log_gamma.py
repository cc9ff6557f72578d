"""Differences of log-gammas without cancellation: what Stirling's formula leaves over.

lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z). Differences of lnGamma lose digits in
proportion to z; with the main terms cancelled by hand only differences of s, which is small,
remain. Two parameters a and b enter as m = (a + b)/2, d = |b - a|/2 and low = min(a, b): m - d
would have lost the digits of a tiny one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py

from dpbayes._validate import Floats

# From here on Stirling's series is right to the last digit; the recurrence leads up to it.
SERIES_FROM = 16
_AT_ONCE = 1 << 9  # parameters that climb at once: what their steps take stays in the cache
# Coefficients of z^-1, z^-3, ...: B_2j / (2j (2j - 1)).
_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def stirling_series(z: Floats) -> Floats:
    """Return s(z) by Stirling's series, relative error below 1e-15, for z >= `SERIES_FROM`.

    >>> float(round(stirling_series(np.array([16.0]))[0], 15))
    0.00520765591961
    """
    inverse = 1.0 / z
    return np.asarray(inverse * np.polyval(_COEFFICIENTS[::-1], inverse * inverse))


def stirling_gap(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return s(m) - (s(low) + s(m + d))/2 to full digits however small d is, for low >= 16.

    With u = d/m = tanh t each term of the series has (1 - u)^-p + (1 + u)^-p - 2
    = 2 (((1 - u^2)^(-p/2) - 1) cosh(pt) + 2 sinh(pt/2)^2), a sum of positive terms; for u above 1/2
    nothing cancels in the difference itself.

    >>> f"{stirling_gap(np.array([20.0]), np.array([2e-8]), np.array([20.0]))[0]:.3e}"
    '-4.165e-21'
    """
    far = d > 0.5 * m
    u = np.where(far, 0.0, d / m)
    t, log = np.arctanh(u), np.log1p(-u * u)
    total = np.zeros(np.shape(m))
    for place, coefficient in enumerate(_COEFFICIENTS):
        p = 2.0 * place + 1.0
        spread = np.expm1(-0.5 * p * log) * np.cosh(p * t) + 2.0 * np.sinh(0.5 * p * t) ** 2
        total -= coefficient * m**-p * spread
    if np.any(far):
        apart = stirling_series(m) - 0.5 * (stirling_series(low) + stirling_series(m + d))
        total = np.where(far, apart, total)
    return total


def log_share(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return ln(1 - (d/m)^2) = ln(ab/m^2), from whichever form keeps its digits.

    >>> log_share(np.array([1.5]), np.array([0.5]), np.array([1.0])).round(8)
    array([-0.11778304])
    """
    u = d / m
    near = u < 0.7
    result = np.log1p(-np.square(np.where(near, u, 0.0)))
    if not near.all():
        far = ~near
        small, middle = low[far], m[far]
        with np.errstate(divide="ignore"):  # below 1 a quotient may underflow; logarithms do not
            ratio = np.where(small < 1.0, np.log(small) - np.log(middle), np.log(small / middle))
        result[far] = ratio + np.log1p(u[far])
    return result


def climbed(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return psi(a, b) - psi(a + 16, b + 16), psi(a, b) = lnGamma(m) - (lnGamma(a) + lnGamma(b))/2.

    Gamma(z + 1) = z Gamma(z) makes each of the 16 steps ln(ab/m^2)/2: all are negative, so that
    nothing cancels.
    """
    steps, logs = np.arange(float(SERIES_FROM))[:, None], np.zeros(m.size)
    for first in range(0, m.size, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        middle = m[some] + steps
        logs[some] = log_share(
            middle, np.broadcast_to(d[some], middle.shape), low[some] + steps
        ).sum(0)
    return 0.5 * logs


def stirling_remainder(z: ArrayLike) -> Floats:
    """Return s(z) = lnGamma(z) - (z - 1/2) ln z + z - ln(2 pi)/2 for z > 0, any shape.

    Below 16 the recurrence s(z) = s(z + 1) + (z + 1/2) log1p(1/z) - 1 leads up to the series; every
    term added is positive.

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


def between_totals(a: Floats, b: Floats, step: Floats) -> Floats:
    """Return ln BC of the rows (N, k) of a and b = a + step, whose totals differ.

    Subtracting what the totals have in common would lose as many digits as they are large.
    With all parameters in Stirling's range, where the recurrence brings them, m = (a + b)/2,
    u = (b - a)/(2m), and U the same of the totals, ln BC is

        -sum_i m_i KL(u_i | U) + (sum_i ln(1 - u_i^2) - ln(1 - U^2))/4 + what Stirling leaves over;

    KL compares coins with chances (1 + u)/2. Both terms are at most 0 and neither cancels.
    """
    d, change = 0.5 * np.abs(step), step.sum(axis=-1)
    small = np.minimum(a, b) < SERIES_FROM
    climbs = np.zeros(a.shape)
    climbs[small] = climbed(*(part[small] for part in (a + 0.5 * step, d, np.minimum(a, b))))
    up = np.where(small, float(SERIES_FROM), 0.0)
    total_a, total_b, steps = a.sum(axis=-1), b.sum(axis=-1), up.sum(axis=-1)
    result, total_d = climbs.sum(axis=-1), 0.5 * np.abs(change)
    for i in range(int(steps.max())):  # the totals climb by as much
        some = i < steps
        low = np.minimum(total_a, total_b)[some] + i
        middle = total_a[some] + i + 0.5 * change[some]
        result[some] -= 0.5 * log_share(middle, total_d[some], low)
    a, b, total_a, total_b = a + up, b + up, total_a + steps, total_b + steps
    # Everything is divided by a power of two, exactly, so that no product overflows.
    unit = np.ldexp(1.0, -1 - np.frexp(np.maximum(total_a, total_b))[1])
    m, lean = a + 0.5 * step, _leanings(a * unit[:, None], step * unit[:, None])
    shares = [total * unit for total in (total_b, total_a)]
    both = (shares[0] + shares[1])[:, None]
    for share, sign in zip(shares, (1.0, -1.0), strict=True):
        part = share[:, None]
        with np.errstate(over="ignore"):  # infinitely far apart in logarithms
            away = _entropy(sign * lean / (2.0 * (m * unit[:, None])) / part)
            result -= (m * (part / both) * away).sum(axis=-1)
    lows = np.minimum(a, b), np.minimum(total_a, total_b)
    middle = total_a + 0.5 * change
    result += 0.25 * (log_share(m, d, lows[0]).sum(axis=-1) - log_share(middle, total_d, lows[1]))
    return np.asarray(
        result + stirling_gap(m, d, lows[0]).sum(axis=-1) - stirling_gap(middle, total_d, lows[1])
    )


def _leanings(a: Floats, d: Floats) -> Floats:
    # sum_j (d_i a_j - a_i d_j), each difference of products with the rounding errors of both
    # (Dekker 1971): proportional parameters leave a part in 10^16 of either product.
    result = np.zeros(a.shape)
    for j in range(a.shape[-1]):
        left, left_error = _product(d, a[:, j : j + 1])
        right, right_error = _product(a, d[:, j : j + 1])
        result += (left - right) + (left_error - right_error)
    return result


def _product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    product = np.asarray(x * y)
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _halves(x: Floats) -> tuple[Floats, Floats]:
    scaled = x * (2.0**27 + 1.0)
    high = scaled - (scaled - x)
    return high, x - high


def _entropy(t: Floats) -> Floats:
    # (1 + t) ln(1 + t) - t for t >= -1: near 0 the series of t^j / (j (1 - j)) with signs.
    t = np.maximum(t, -1.0)
    near = np.abs(t) < 0.25
    y, series = np.where(near, t, 0.0), np.zeros(t.shape)
    for j in range(28, 1, -1):  # 4^-28 is 1e-17
        series = 1.0 / (j * (j - 1)) - y * series
    return np.where(near, y * y * series, xlog1py(1.0 + t, np.where(near, 0.0, t)) - t)
