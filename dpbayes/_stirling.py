"""Stirling's formula where it cancels: what is left of lnGamma when its main terms are
taken out by hand.

lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z). Here are s, differences of it that
keep their digits, and the recurrence Gamma(z + 1) = z Gamma(z) that leads to where its
series is exact. m, d and low are those of `divergences`: mean, half the difference and
the smaller of two parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbayes._validate import Floats

# From here on Stirling's series is right to the last digit; the recurrence leads up to
# it.
SERIES_FROM = 16
# Coefficients of z^-1, z^-3, ...: B_2j / (2j (2j - 1)).
_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def stirling_series(z: Floats) -> Floats:
    """Return s(z) by Stirling's series, relative error below 1e-15, for z >=
    `SERIES_FROM`.
    """
    inverse = 1.0 / z
    return np.asarray(inverse * np.polyval(_COEFFICIENTS[::-1], inverse * inverse))


def stirling_gap(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return s(m) - (s(low) + s(m + d))/2 to full digits however small d is, for low >=
    16.
    """
    # With u = d/m = tanh t each term of the series has (1 - u)^-p + (1 + u)^-p - 2 = 2
    # (((1 - u^2)^(-p/2) - 1) cosh(pt) + 2 sinh(pt/2)^2), a sum of positive terms; for u
    # above 1/2 nothing cancels in the difference itself.
    far = d > 0.5 * m
    u = np.where(far, 0.0, d / m)
    t, log = np.arctanh(u), np.log1p(-u * u)
    total = np.zeros(np.shape(m))
    for p, coefficient in zip(range(1, 12, 2), _COEFFICIENTS, strict=True):
        spread = (
            np.expm1(-0.5 * p * log) * np.cosh(p * t) + 2.0 * np.sinh(0.5 * p * t) ** 2
        )
        total -= coefficient * m ** -float(p) * spread
    apart = stirling_series(m) - 0.5 * (stirling_series(low) + stirling_series(m + d))
    return np.where(far, apart, total)


def log_share(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return ln(1 - (d/m)^2) = ln(ab/m^2), from whichever form keeps its digits."""
    u = d / m
    near = u < 0.7
    result = np.log1p(-np.square(np.where(near, u, 0.0)))
    if not near.all():
        far = ~near
        small, middle = low[far], m[far]
        with np.errstate(
            divide="ignore"
        ):  # below 1 a quotient may underflow; logarithms do not
            ratio = np.where(
                small < 1.0, np.log(small) - np.log(middle), np.log(small / middle)
            )
        result[far] = ratio + np.log1p(u[far])
    return result


def climbed(m: Floats, d: Floats, low: Floats) -> Floats:
    """Return psi(a, b) - psi(a + 16, b + 16), by Gamma(z + 1) = z Gamma(z)."""
    steps = (log_share(m + step, d, low + step) for step in range(SERIES_FROM))
    return np.asarray(0.5 * sum(steps, np.zeros(m.shape)))


def stirling_remainder(z: ArrayLike) -> Floats:
    """Return s(z) = lnGamma(z) - (z - 1/2) ln z + z - ln(2 pi)/2 for z > 0, any shape.

    Below 16 the recurrence s(z) = s(z + 1) + (z + 1/2) log1p(1/z) - 1 leads up
    to it.

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
