"""Ball arithmetic: sensitivities, affinities and laws enclosed, for releases and
audits.

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
from dpbayes.posteriors import compositions
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
        # sqrt(1 - exp(phi(a) + phi(b))) with a and b the smaller parameter of each
        # category.
        return (-(self._step(left) + self._step(entered)).expm1()).sqrt()

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
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def ball(library: Any, number: Enclosed | Fraction) -> Any:
    """Return a ball around an enclosed number or a fraction."""
    if isinstance(number, Fraction):
        return library.arb(library.fmpq(number.numerator, number.denominator))
    return ball(library, number.low).union(ball(library, number.high))


def exponential(
    library: Any,
    counts: Whole,
    prior: Floats,
    epsilon: Fraction,
    factor: Fraction,
    sensitivity: Enclosed,
) -> Balls:
    """Return ln P[r], P proportional to e^(-epsilon H / (factor S)), for r in order of
    R.
    """
    n, truth = int(counts.sum()), counts.tolist()
    rate = ball(library, epsilon / factor) / ball(library, sensitivity)
    tables = affinity_tables(library, counts, prior)
    weights = []
    for row in compositions(n, counts.size).tolist():
        if row == truth:
            weights.append(library.arb(0))
            continue
        log_bc = sum(table[r] for table, r in zip(tables, row, strict=True))
        weights.append(-rate * (-log_bc.expm1()).sqrt())
    total = sum((weight.exp() for weight in weights), library.arb(0)).log()
    return [weight - total for weight in weights]


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
    # lnGamma(prior + j/2) for j = 0 … 2n: all that psi needs.
    half = library.arb(1) / 2
    return [(library.arb(prior) + j * half).lgamma() for j in range(2 * n + 1)]


def rounded_laplace(
    library: Any, counts: Whole, rate: Fraction, nearest: bool
) -> Balls:
    """Return ln P[r] of clamp(round(x + Y)), Y ~ Laplace(1/rate), for r = 0 … n; k =
    2."""
    n, x = int(counts.sum()), int(counts[0])
    # round(y) = t for t - below <= y < ...
    below = Fraction(1, 2) if nearest else Fraction(0)
    speed = ball(library, rate)

    def above(edge: Fraction | None) -> Any:  # P(Y >= edge); None is infinity
        if edge is None:
            return library.arb(0)
        tail = (-speed * ball(library, abs(edge))).exp() / 2
        return tail if edge >= 0 else 1 - tail

    masses = []
    for r in range(n + 1):
        low = None if r == 0 else Fraction(r - x) - below
        high = None if r == n else Fraction(r - x + 1) - below
        if low is None or (
            high is not None and high <= 0
        ):  # below 0 the mirror image is small
            low, high = None if high is None else -high, None if low is None else -low
        masses.append(
            (library.arb(1) if low is None else above(low) - above(high)).log()
        )
    return masses


def two_counts(counts: Whole) -> None:
    """Refuse counts that are not two: these laws are enclosed for two categories
    only."""
    if counts.size != 2:
        raise ValueError(
            f"prior must have 2 parameters for an enclosure, got {counts.size}"
        )


def truncated_geometric(library: Any, counts: Whole, epsilon: Fraction) -> Balls:
    """Return ln P[r] of x + Z clamped to [0, n], P(Z = z) proportional to e^(-epsilon
    |z|).
    """
    two_counts(counts)
    n, x = int(counts.sum()), int(counts[0])
    if n == 0:
        return [library.arb(0)]
    speed = ball(library, epsilon)
    ends = -((-speed).exp() + 1).log()
    inside = ends + (-(-speed).expm1()).log()
    return [
        -speed * abs(r - x) + (ends if r in (0, n) else inside) for r in range(n + 1)
    ]
