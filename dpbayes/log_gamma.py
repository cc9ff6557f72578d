"""What Stirling's formula leaves over, the one delicate part of every difference of log-gammas.

lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z). Differences of lnGamma lose digits in
proportion to z; with the main terms cancelled by hand only differences of s, which is small,
remain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
