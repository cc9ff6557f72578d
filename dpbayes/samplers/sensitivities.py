"""Sensitivities in ball arithmetic: a rigorous interval around LS, GS or S, for releases.

The candidates for the maximum are those of `dpbayes.sensitivity` (of order k^2, whatever n is).
All that are within a millionth of the largest are evaluated in balls and the largest taken, so
nothing rests on which one wins in floats: they leave out only what is far below, and start from
numbers that are rounded from balls.
Book: `thm-smooth-corners`, `thm-exact-candidates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.samplers.candidates import flint
from dpbayes.sensitivity import corners, drains

_PRECISION = 256
_NARROW = Fraction(1, 2**100)
_FAR_BELOW = 1e-6  # of the largest value; floats know each to 1e-12


@dataclass(frozen=True)
class Enclosed:
    """Two fractions with the exact number between them."""

    low: Fraction
    high: Fraction

    @property
    def middle(self) -> Fraction:
        """The fraction halfway."""
        return (self.low + self.high) / 2

    @property
    def relative_error(self) -> Fraction:
        """The most by which the number can differ from `middle`, in units of `middle`."""
        return (self.high - self.low) / (self.high + self.low)


def local(counts: ArrayLike, prior: ArrayLike) -> Enclosed:
    """Return LS(x) enclosed to a relative 2^-100; `counts` (k,) hold at least one record.

    >>> enclosed = local([50, 50], [1, 1])
    >>> round(float(enclosed.middle), 12), enclosed.relative_error < 2**-100
    (0.070275628559, True)
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    return _narrowed(lambda library: _largest(_locals(_Distances(library), x, alpha)))


def largest(n: int, prior: ArrayLike) -> Enclosed:
    """Return GS, the largest LS of n >= 1 records, enclosed to a relative 2^-100."""
    size, alpha = _validate.integer("n", n, minimum=1), _validate.prior("prior", prior)

    def value(library: Any) -> Any:
        distances = _Distances(library)
        return _largest([v for x in corners(size, alpha) for v in _locals(distances, x, alpha)])

    return _narrowed(value)


def smooth(
    counts: ArrayLike,
    prior: ArrayLike,
    gamma: float,
    form: str = "reciprocal",
    distance: str = "hamming",
) -> Enclosed:
    """Return the smooth sensitivity S(x) for exactly this gamma, enclosed to a relative 2^-100."""
    x, alpha = _validate.counts_and_prior(counts, prior)
    rate = Fraction(_validate.positive("gamma", gamma)) * (2 if distance == "l1" else 1)
    _validate.choice("form", form, ("reciprocal", "exponential"))

    def value(library: Any) -> Any:
        speed = library.arb(library.fmpq(rate.numerator, rate.denominator))
        plans, distances, values = drains(x, alpha), _Distances(library), []
        kept = x[plans.source] - plans.from_source - 1, x[plans.target] - plans.from_target
        priors = alpha[plans.source], alpha[plans.target]
        cells = [list(zip(*side, strict=True)) for side in zip(priors, kept, strict=True)]
        away = np.asarray(float(rate) * plans.records, dtype=np.float64)
        for row in _not_far_below(distances.in_floats(*cells), away, form):
            here = distances.between(cells[0][row], cells[1][row])
            far = speed * int(plans.records[row])
            values.append(1 / (1 / here + far) if form == "reciprocal" else here * (-far).exp())
        return _largest(values)

    return _narrowed(value)


def _not_far_below(here: NDArray[np.float64], away: NDArray[np.float64], form: str) -> list[int]:
    """Return the rows whose value may be the largest; all of them where floats are not finite."""
    with np.errstate(all="ignore"):
        values = 1.0 / (1.0 / here + away) if form == "reciprocal" else here * np.exp(-away)
    far_below = values < (1.0 - _FAR_BELOW) * values.max()
    return [int(row) for row in np.flatnonzero(~far_below)]


def _locals(distances: _Distances, x: NDArray[np.int64], alpha: NDArray[np.float64]) -> list[Any]:
    cells = [(float(a), int(c)) for a, c in zip(alpha, x, strict=True)]
    return [
        distances.between((source[0], source[1] - 1), target)
        for i, source in enumerate(cells)
        for j, target in enumerate(cells)
        if i != j and source[1] > 0
    ]


class _Distances:
    """Distances of neighbours at the present precision, one evaluation for each prior and count."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._steps: dict[tuple[float, int], Any] = {}

    def between(self, left: tuple[float, int], entered: tuple[float, int]) -> Any:
        # sqrt(1 - exp(phi(a) + phi(b))) with a and b the smaller parameter of each category.
        return (-(self._step(left) + self._step(entered)).expm1()).sqrt()

    def in_floats(
        self, left: list[tuple[float, int]], entered: list[tuple[float, int]]
    ) -> NDArray[np.float64]:
        """Return the distances of many pairs, rounded."""
        steps = {cell: float(self._step(cell)) for cell in {*left, *entered}}
        pairs = zip(left, entered, strict=True)
        logs = np.array([steps[one] + steps[other] for one, other in pairs])
        return np.asarray(np.sqrt(-np.expm1(logs)))

    def _step(self, cell: tuple[float, int]) -> Any:
        # phi(a) = lnGamma(a + 1/2) - lnGamma(a) - ln(a)/2, a = prior + count.
        found = self._steps.get(cell)
        if found is None:
            a = self._library.arb(cell[0]) + cell[1]
            found = (a + self._library.arb(1) / 2).lgamma() - a.lgamma() - a.log() / 2
            self._steps[cell] = found
        return found


def _largest(values: list[Any]) -> Any:
    best = values[0]
    for value in values[1:]:
        best = best.max(value)
    return best


def _narrowed(value: Any) -> Enclosed:
    library = flint()
    precision = _PRECISION
    while True:
        with library.ctx.workprec(precision):
            ball = value(library)
            if ball.is_finite() and ball > 0:
                enclosed = Enclosed(_fraction(ball.lower()), _fraction(ball.upper()))
                if enclosed.relative_error <= _NARROW:
                    return enclosed
        precision *= 2


def _fraction(point: Any) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
