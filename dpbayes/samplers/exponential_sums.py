"""A weight e^(-rate H) below a short sum of powers of the affinity, proved in ball arithmetic.

With u = -ln BC the weight is g(u) = e^(-rate h(u)), h(u) = sqrt(1 - e^-u). Where to put the powers
and how large their coefficients are is found in floats; that the sum is nowhere below g is checked
in balls, and the coefficients raised until it is. Book: `thm-exact-mixture`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

PRECISION = 128
_SPACING = 1.7  # of the powers, in standard deviations of the power that matters at each u
_STEP = 0.5  # of the points of the check, likewise
_MANTISSA = 40


@dataclass(frozen=True)
class Dominating:
    """G(u) = sum of coefficients[a] e^(-powers[a] u) >= g(u) at u = 0 and all u >= the given one.

    `at_truth` >= 0 counts at u = 0 only.
    """

    powers: tuple[Fraction, ...]
    coefficients: tuple[Fraction, ...]
    at_truth: Fraction


def dominating(library: Any, rate: Fraction, first: Any, depth: int) -> Dominating:
    """Return G for weights of `rate`, with g(u) <= G(u) at 0 and from the ball `first` > 0 on.

    Weights below 2^-depth are covered by a constant 2^-depth, and followed no further.
    """
    start = float(first.lower())
    deepest = depth * math.log(2.0)
    places = _powers(float(rate), start, deepest)
    powers = tuple(Fraction(p) for p in [*places, 0.0])
    last = _points(float(rate), start, deepest)[-1]
    least = _power_of_e(-min(deepest, float(rate) * _height(last)) + 2.0**-20)
    coefficients = _fitted(float(rate), start, deepest, powers)
    coefficients[-1] = max(coefficients[-1], least)
    with library.ctx.workprec(PRECISION):
        nodes = _checked(library, rate, first.lower(), start, deepest)
        speed, exponents = _ball(library, rate), [_ball(library, p) for p in powers]
        while True:
            terms = [(p, _ball(library, c)) for p, c in zip(exponents, coefficients, strict=True)]
            constant = _ball(library, coefficients[-1])
            short = max(_shortfall(library, speed, terms, constant, *pair) for pair in nodes)
            if short <= 0.0:
                break
            coefficients = [c * Fraction(math.exp(short) + 2.0**-20) for c in coefficients]
    spare = 1 - sum(coefficients)
    kept = [(p, c) for p, c in zip(powers, coefficients, strict=True) if c]
    return Dominating(
        tuple(p for p, _ in kept), tuple(c for _, c in kept), max(Fraction(0), Fraction(spare))
    )


def _height(u: float) -> float:
    return math.sqrt(-math.expm1(-u))


def _slopes(u: float) -> tuple[float, float]:
    # h' and -h''.
    h, b = _height(u), math.exp(-u)
    return 0.5 * b / h, 0.5 * b / h + 0.25 * b * b / h**3


def _at_power(rate: float, power: float) -> float:
    # u with rate h'(u) = power.
    c = (0.5 * rate / power) ** 2
    b = 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * c))
    return -math.log1p(-c * b * b) if c * b * b < 0.5 else -math.log(b)


def _powers(rate: float, start: float, deepest: float) -> list[float]:
    if len(_points(rate, start, deepest)) == 1:
        return []
    power = rate * _slopes(start)[0]
    found = [power]
    while power > 1.0:
        u = _at_power(rate, power)
        spread = math.sqrt(rate * _slopes(u)[1])
        power = max(power / 3.0, power - _SPACING * spread)
        found.append(power)
        if rate * _height(u) > deepest:
            break
    return found


def _points(rate: float, start: float, deepest: float) -> list[float]:
    # From `start` until the weight no longer falls, or is below the constant.
    found = [start]
    u = start
    while rate * _height(u) < deepest and rate * math.exp(-u) > 1e-3:
        u += min(0.4 * u if u < 1.0 else 0.4, _STEP / math.sqrt(rate * _slopes(u)[1]))
        found.append(u)
    if rate * _height(u) > deepest and len(found) > 1:
        found[-1] = -math.log1p(-((deepest / rate) ** 2))
    return found


def _fitted(
    rate: float, start: float, deepest: float, powers: tuple[Fraction, ...]
) -> list[Fraction]:
    u = np.array(_points(rate, start, deepest))
    logs = -np.outer(u, [float(p) for p in powers]) + rate * np.sqrt(-np.expm1(-u))[:, None]
    tops: NDArray[np.float64] = logs.max(axis=0)
    matrix = np.exp(logs - tops)
    scaled, _ = nnls(matrix, np.ones(u.size))
    smallest = float((matrix @ scaled).min())
    raised = scaled / max(smallest, 0.5)
    least = -deepest - 50.0
    return [
        _power_of_e(math.log(c) - top) if c and math.log(c) - top > least else Fraction(0)
        for top, c in zip(tops.tolist(), raised.tolist(), strict=True)
    ]


def _power_of_e(log: float) -> Fraction:
    # About e^log, also where floats have no such number.
    exponent = log / math.log(2.0)
    whole = math.floor(exponent)
    mantissa = math.ceil(2.0 ** (exponent - whole + _MANTISSA))
    return Fraction(mantissa) * Fraction(2) ** (whole - _MANTISSA)


def _checked(
    library: Any, rate: Fraction, lowest: Any, start: float, deepest: float
) -> list[tuple[Any, Any]]:
    # Intervals of u that together reach from the lowest point to where the constant is enough.
    points = [library.arb(u) for u in _points(float(rate), start, deepest)]
    pairs = list(pairwise([lowest, *points[1:]]))
    return [*pairs, (points[-1] if len(points) > 1 else lowest, None)]


def _shortfall(
    library: Any, speed: Any, terms: list[tuple[Any, Any]], constant: Any, left: Any, right: Any
) -> float:
    """Return 0 where G >= g is certain on [left, right], or a bound on ln g - ln G there.

    `terms` are the powers and coefficients of G, `constant` the coefficient of power 0. Without
    `right` all points from `left` on are meant. ln G and ln g are convex: G is above its tangent,
    g below its chord. From `left` on G is at least its constant, and g at most g(left).
    """

    def log_weight(u: Any) -> Any:
        return -speed * (-(-u).expm1()).sqrt()

    if right is None:
        gaps = [log_weight(left) - constant.log()]
    else:
        middle = (left + right) / 2
        total = slope = library.arb(0)
        for power, coefficient in terms:
            term = coefficient * (-power * middle).exp()
            total += term
            slope -= term * power
        log_total, slope = total.log(), slope / total
        gaps = [log_weight(u) - log_total - slope * (u - middle) for u in (left, right)]
    return max(0.0 if bool(gap <= 0) else float(gap.upper()) + 2.0**-40 for gap in gaps)


def _ball(library: Any, value: Fraction) -> Any:
    return library.arb(library.fmpq(value.numerator, value.denominator))
