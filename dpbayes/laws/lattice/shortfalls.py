"""What clamped categories were short of: its generating function, and the circle that reads it.

sigma = zeta / (1 + rho zeta) turns the integrand into a Laurent polynomial in zeta. Book:
`thm-clamped`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import ALIAS, Circle, fewest_nodes

_LEAST, _STEP = 0.02, 0.1
_FURTHEST = 50.0  # times 1 / (1 - rho), which is where sigma = 1
_FINER = 16
_FLAT = 3  # equal bounds are those of nothing


def payments(rho: float, level: int, zeta: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the factors of heights and of records paid, with axes as in `Link.chain`."""
    owed = (1.0 / zeta + rho)[:, None, None, None]
    return (rho * owed) ** level, owed


def readings(rho: float, zeta: NDArray[Any]) -> NDArray[Any]:
    """Return d sigma / sigma over d zeta / zeta."""
    return np.asarray(1.0 / (1.0 + rho * np.asarray(zeta)))


def short(rho: float, level: int, count: int, zeta: NDArray[Any]) -> NDArray[Any]:
    """Return what a clamped category with this true count is short of, without powers of rho.

    sigma^(-t) times the sum over d >= 0 of rho^|t - d - x| sigma^d is with q = rho / sigma
    (q / rho)^x (q + ... + q^(t - x) + 1 / (1 - rho sigma)), where the last is 1 + rho zeta.
    Powers of rho are left to the caller, and from x = t on so is its distance to t.
    """
    q = rho * (1.0 / zeta + rho)
    total, power = np.zeros_like(q), np.ones_like(q)
    for bit in f"{max(level - count, 0):b}":  # twice as many terms, and one more
        total, power = total * (1.0 + power), power**2
        if bit == "1":
            total, power = q * (1.0 + total), q * power
    return np.asarray((total + 1.0 + rho * zeta) * q ** min(count, level))


def shortfall_circle(
    log_bounds: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    rho: float,
    level: int,
    degree: int,
    alias: float = ALIAS,
) -> Circle:
    """Return the circle for the shortfall, by Chernoff bounds e^`log_bounds` at e^(places).

    The generating function is positive on the half-line; a circle near its least value loses
    no digits. The nodes are never more than the degree needs.
    """
    places = np.arange(np.log(_LEAST), np.log(_FURTHEST / (1.0 - rho)), _STEP)
    logs, gap = log_bounds(places), float(places[1] - places[0])
    least = np.flatnonzero(logs == logs.min())
    if least.size > _FLAT:  # nothing is paid: any circle reads it that is not next to an overflow
        return Circle(float(places[least[least.size // 2]]), 2)
    while gap * level > 1.0:
        best, gap = places[np.argmin(logs)], gap / _FINER
        finer = best + gap * np.delete(np.arange(1 - _FINER, _FINER), _FINER - 1)
        order = np.argsort(both := np.concatenate((places, finer)))
        logs = np.concatenate((logs, log_bounds(finer)))[order]
        places = both[order]
    return fewest_nodes(logs, places, degree, alias)
