"""Coefficients of the power series of an exponential mechanism's weight, at a real index.

    exp(-rate sqrt(1 - z)) = sum_j p_j z^j,     p_j >= 0, sum p_j = 1.

This is the Laplace transform of a Levy density read as a mixture of Poisson laws, so
p_j = sqrt(2/pi) rate^(j+1/2) K_{j-1/2}(rate) / (2^j j!) with the modified Bessel function K. It
extends smoothly to real j, which is what lets a few nodes stand for a block of terms.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.log_gamma import stirling_series

_DEBYE_TERMS = 14
_RECURRENCE_TO = 64


def log_coefficients(
    rate: float, indices: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln p_j and -rate d(ln p_j)/d(rate) at the indices j, which are whole below 32.

    Below 64 whole indices follow p_{j+1} = ((2j-1) p_j + rate^2 p_{j-1} / (2j)) / (2(j+1)), all
    terms positive from j = 1; elsewhere Debye's uniform expansion of K is used, with everything
    that grows cancelled by hand. Book: `thm-series`. `rate` is positive.

    >>> [round(float(v), 12) for v in np.exp(log_coefficients(2.0, [0, 1, 2])[0])]
    [0.135335283237, 0.135335283237, 0.101501462427]
    """
    lam = _validate.positive("rate", rate)
    j = np.asarray(indices, dtype=np.float64)
    logs, slopes = np.empty(j.shape), np.empty(j.shape)
    low = (j < _RECURRENCE_TO) & (j == np.floor(j))
    if np.any(low):
        table = _by_recurrence(lam, int(j[low].max()))
        chosen = j[low].astype(np.int64)
        logs[low], slopes[low] = table[0][chosen], table[1][chosen]
    if not np.all(low):
        logs[~low], slopes[~low] = _by_debye(lam, j[~low])
    return logs, slopes


def _by_recurrence(rate: float, last: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # ratio = p_{j+1} / p_j, and -rate p_j'/p_j = rate^2 p_{j-1} / (2 j p_j) - 1.
    logs = [-rate]
    slopes = [rate]
    ratio = 0.5 * rate
    for j in range(1, last + 1):
        logs.append(logs[-1] + float(np.log(ratio)))
        slopes.append(rate * (rate / (2.0 * j * ratio)) - 1.0)
        ratio = ((2.0 * j - 1.0) + rate * (rate / (2.0 * j * ratio))) / (2.0 * (j + 1.0))
    return np.array(logs), np.array(slopes)


@lru_cache(maxsize=1)
def _debye_polynomials() -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    # U_k of the expansion of K and V_k - U_k of that of K' (Olver, 10.7 and 10.41 of the DLMF).
    terms: list[NDArray[np.float64]] = [np.array([1.0])]
    differences: list[NDArray[np.float64]] = [np.array([0.0])]
    for _ in range(_DEBYE_TERMS):
        u = terms[-1]
        slope = polynomial.polyder(u)
        inner = polynomial.polyint(polynomial.polymul([1.0, 0.0, -5.0], u))
        grown = polynomial.polymul([0.0, 0.0, 0.5, 0.0, -0.5], slope)
        terms.append(np.asarray(polynomial.polyadd(grown, 0.125 * inner), dtype=np.float64))
        mixed = polynomial.polyadd(0.5 * u, polynomial.polymulx(slope))
        change = polynomial.polymul([0.0, -1.0, 0.0, 1.0], mixed)
        differences.append(np.asarray(change, dtype=np.float64))
    return terms, differences


def _by_debye(
    rate: float, j: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nu = j - 0.5
    x = rate / nu
    q = np.hypot(1.0, x)
    q_less_one = x * (x / (1.0 + q))
    sums, differences = np.zeros_like(nu), np.zeros_like(nu)
    for u, v in zip(*(group[::-1] for group in _debye_polynomials()), strict=True):
        sums = polynomial.polyval(1.0 / q, u) - sums / nu
        differences = polynomial.polyval(1.0 / q, v) - differences / nu
    logs = np.log(rate) - 1.5 * np.log(nu) - 0.5 * np.log(q) + np.log(sums) - np.log(2.0)
    logs += nu * (np.log1p(0.5 * q_less_one) - q_less_one) - 0.5 * np.log(np.pi)
    # Stirling's (j + 1/2) ln j - j + rest of ln j!, written around nu.
    logs += 0.5 - (nu + 1.0) * np.log1p(0.5 / nu) - stirling_series(j)
    slopes = nu * q_less_one + nu * q * (differences / sums) - 1.0
    return logs, slopes
