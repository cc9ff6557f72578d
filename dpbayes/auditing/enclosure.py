"""epsilon and delta(epsilon) between rigorous bounds: the exact audit in ball
arithmetic.

The float audit computes the same numbers with an unstated rounding error; here every
step is an interval, so "epsilon is at most 0.3197" is a statement about the mechanism
as it is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.rows import checked, moves
from dpbayes.mechanisms.capabilities import Encloses, own
from dpbayes.mechanisms.protocol import Mechanism, upper_float
from dpbayes.posteriors import check_candidates, compositions
from dpbayes.samplers.balls import flint

WIDTH = 1e-12
"""No interval is wider than this."""

LARGEST = 100_000
"""Most probabilities, data sets times outputs, that are enclosed: n = 315 at k = 2."""

Laws = list[list[Any]]
Pairs = list[tuple[int, int]]

_PRECISION = 160
_MOST_PRECISION = 4 * _PRECISION


@dataclass(frozen=True)
class Bounds:
    """Two floats, rounded outward, with the exact number between them."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance of the two."""
        return self.high - self.low


@dataclass(frozen=True)
class Enclosure:
    """The privacy loss of a mechanism on all data sets of n records, enclosed; see
    `enclose`.
    """

    n: int
    prior: NDArray[np.float64]
    epsilon: Bounds
    _mechanism: Mechanism = field(repr=False)

    def delta(self, epsilon: float) -> Bounds:
        """Return bounds of the least delta for which the mechanism is (epsilon,
        delta)-DP.
        """
        limit = Fraction(_validate.non_negative("epsilon", epsilon))
        return _narrow(self._mechanism, self.n, self.prior, partial(_delta, limit))


def enclose(mechanism: Mechanism, n: int, prior: ArrayLike) -> Enclosure:
    """Return bounds of the actual epsilon of a mechanism, no more than `WIDTH` apart.

    The epsilon is that of `audit`, for the exponential family (any k), the two-sided
    Laplace family, geometric and lattice (k = 2). Needs the extra `tables`. Raises
    TypeError for a mechanism without a law in ball arithmetic. Book: `def-actual-loss`.

    >>> from dpbayes.mechanisms import mechanism
    >>> bounds = enclose(mechanism("expMech-smooth", 1.0), 10, [1, 1]).epsilon
    >>> round(bounds.low, 9), bounds.width < 1e-12
    (0.318101659, True)
    """
    size, alpha = checked(mechanism, n, prior)
    _encloses(mechanism)
    check_candidates(size, alpha.size, math.isqrt(LARGEST), "an enclosure")
    return Enclosure(size, alpha, _narrow(mechanism, size, alpha, _epsilon), mechanism)


def _encloses(mechanism: Mechanism) -> Encloses:
    known = own(mechanism, Encloses)
    if known is None:
        raise TypeError(
            f"mechanism must have a law in ball arithmetic, got {mechanism!r}"
        )
    return known


def _narrow(
    mechanism: Mechanism, n: int, prior: NDArray[np.float64], answer: Any
) -> Bounds:
    library, precision, known = flint(), _PRECISION, _encloses(mechanism)
    counts = compositions(n, prior.size)
    first, second = moves(counts)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    while precision <= _MOST_PRECISION:
        with library.ctx.workprec(precision):
            laws = [known.enclosed_law(library, x, prior) for x in counts]
            ball = answer(library, laws, pairs)
            bounds = Bounds(
                0.0 - upper_float(-_fraction(ball.lower())),
                upper_float(_fraction(ball.upper())),
            )
        if bounds.width <= WIDTH:
            return bounds
        precision *= 2
    raise ArithmeticError(
        f"the bounds {bounds.low!r} and {bounds.high!r} at n = {n} are wider than"
        f" {WIDTH}"
    )


def _epsilon(library: Any, laws: Laws, pairs: Pairs) -> Any:
    best = library.arb(0)
    for i, j in pairs:
        for p, q in zip(laws[i], laws[j], strict=True):
            best = best.max(abs(p - q))
    return best


def _delta(epsilon: Fraction, library: Any, laws: Laws, pairs: Pairs) -> Any:
    # (p - e^epsilon q)_+ = max(0, p - e^epsilon q), term by term, in both directions.
    growth = library.arb(library.fmpq(epsilon.numerator, epsilon.denominator)).exp()
    masses = [[log_p.exp() for log_p in law] for law in laws]
    best, nothing = library.arb(0), library.arb(0)
    for i, j in pairs:
        for a, b in ((masses[i], masses[j]), (masses[j], masses[i])):
            parts = (nothing.max(p - growth * q) for p, q in zip(a, b, strict=True))
            best = best.max(sum(parts, nothing))
    return best


def _fraction(point: Any) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
