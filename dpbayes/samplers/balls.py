"""Ball arithmetic: sensitivities and affinities enclosed, for releases.

A ball holds the exact number. What is decided by a comparison of balls holds for all
numbers in them; where they overlap, the caller asks for more digits. Book:
`thm-exact-candidates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes.sensitivity import corners, drains

Balls = list[Any]

# Bits that are tried first; doubled until a comparison is decided
FIRST_PRECISION = 128
_NARROW = Fraction(1, 2**100)


def flint() -> Any:
    """Return the module of ball arithmetic, or say how to get it."""
    try:
        import flint as module
    except ImportError as error:
        raise ImportError(
            "a release of an exponential mechanism needs ball arithmetic: install"
            " python-flint, for example as the extra dpbayes[tables]"
        ) from error
    return module


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
        """The most by which the number can differ from `middle`, in units of
        `middle`."""
        return (self.high - self.low) / (self.high + self.low)


def local(counts: ArrayLike, prior: ArrayLike) -> Enclosed:
    """Return LS(x) enclosed to a relative 2^-100; `counts` (k,) hold at least one
    record.

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
        return _largest(
            [v for x in corners(size, alpha) for v in _locals(distances, x, alpha)]
        )

    return _narrowed(value)


def smooth(
    counts: ArrayLike,
    prior: ArrayLike,
    gamma: float,
    form: str = "reciprocal",
    distance: str = "hamming",
) -> Enclosed:
    """Return the smooth sensitivity S(x) for exactly this gamma, enclosed to a relative
    2^-100.
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    rate = Fraction(_validate.positive("gamma", gamma)) * (2 if distance == "l1" else 1)
    _validate.choice("form", form, ("reciprocal", "exponential"))

    def value(library: Any) -> Any:
        speed = library.arb(library.fmpq(rate.numerator, rate.denominator))
        plans, distances, values = drains(x, alpha), _Distances(library), []
        kept = (
            x[plans.source] - plans.from_source - 1,
            x[plans.target] - plans.from_target,
        )
        priors = alpha[plans.source], alpha[plans.target]
        for row, records in enumerate(plans.records.tolist()):
            sides = ((float(priors[s][row]), int(kept[s][row])) for s in (0, 1))
            here, far = distances.between(*sides), speed * records
            values.append(
                1 / (1 / here + far) if form == "reciprocal" else here * (-far).exp()
            )
        return _largest(values)

    return _narrowed(value)


def _locals(distances: _Distances, x: Whole, alpha: Floats) -> list[Any]:
    """Return the distances to all neighbours of x, one ball for each move of a record.

    A record leaves a category that holds one and enters another, so that the smaller
    parameters of the two are alpha_i + x_i - 1 and alpha_j + x_j.
    """
    cells = [(float(a), int(c)) for a, c in zip(alpha, x, strict=True)]
    return [
        distances.between((source[0], source[1] - 1), target)
        for i, source in enumerate(cells)
        for j, target in enumerate(cells)
        if i != j and source[1] > 0
    ]


class _Distances:
    """Distances of neighbours at the present precision, one evaluation for each prior
    and count.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._steps: dict[tuple[float, int], Any] = {}

    def between(self, left: tuple[float, int], entered: tuple[float, int]) -> Any:
        """Return sqrt(1 - exp(phi(a) + phi(b))) of two categories, each a prior and a
        count.

        a = prior + count is the smaller parameter of the category that a record leaves,
        b that of the one it enters.
        """
        return (-(self._step(left) + self._step(entered)).expm1()).sqrt()

    def _step(self, cell: tuple[float, int]) -> Any:
        """Return phi(a) = lnGamma(a + 1/2) - lnGamma(a) - ln(a)/2, a = prior + count.

        Prior and count are added as balls: a float of their sum would lose a tiny
        prior.
        """
        found = self._steps.get(cell)
        if found is None:
            a = self._library.arb(cell[0]) + cell[1]
            found = (a + self._library.arb(1) / 2).lgamma() - a.lgamma() - a.log() / 2
            self._steps[cell] = found
        return found


def _largest(values: list[Any]) -> Any:
    """Return a ball that holds the largest of the numbers in the balls."""
    best = values[0]
    for value in values[1:]:
        best = best.max(value)
    return best


def _narrowed(value: Any) -> Enclosed:
    """Return `value` as fractions, computed with ever more bits until it is narrow
    enough.

    `value(library)` is evaluated at 256 bits, then 512 and so on, until the ball is
    finite, positive, and known to a relative 2^-100.
    """
    library = flint()
    precision = 2 * FIRST_PRECISION
    while True:
        with library.ctx.workprec(precision):
            ball = value(library)
            if ball.is_finite() and ball > 0:
                enclosed = Enclosed(_fraction(ball.lower()), _fraction(ball.upper()))
                if enclosed.relative_error <= _NARROW:
                    return enclosed
        precision *= 2


def _fraction(point: Any) -> Fraction:
    """Return an end of a ball, mantissa times a power of two, as an exact fraction."""
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def affinity_tables(library: Any, counts: Whole, prior: Floats) -> list[Balls]:
    """Return enclosures of psi for every category and every released count 0 … n.

    psi(a, b) = lnGamma((a + b)/2) - (lnGamma(a) + lnGamma(b))/2; the digits that cancel
    are far fewer than the precision carries.
    """
    n, tables = int(counts.sum()), []
    for alpha, x in zip(prior.tolist(), counts.tolist(), strict=True):
        grid = _log_gammas(library, alpha, n, library.ctx.prec)
        tables.append(
            [grid[x + r] - (grid[2 * x] + grid[2 * r]) / 2 for r in range(n + 1)]
        )
    return tables


@lru_cache(maxsize=64)
def _log_gammas(library: Any, prior: float, n: int, precision: int) -> Balls:
    """Return lnGamma(prior + j/2) for j = 0 … 2n as balls: all that psi needs.

    `precision` is that of the library as it is called; it tells entries of the cache
    apart.
    """
    half = library.arb(1) / 2
    return [(library.arb(prior) + j * half).lgamma() for j in range(2 * n + 1)]
