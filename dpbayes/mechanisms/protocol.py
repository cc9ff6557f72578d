"""What a mechanism must offer, what it may add, and what is promised about it, in exact
numbers.

A mechanism needs `name`, `epsilon` and `law`. What else it may offer is in
`capabilities`, one protocol for each; the promise is `Promises`, here. All are read by
`own`, from the exact type of a mechanism only.

A guarantee of epsilon, where nothing else is said: for all count vectors x, x' of n
records that differ by replacing one record, and every set S of posteriors, P[M(x) in S]
<= e^epsilon P[M(x') in S]; with delta, that plus delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._values import Shown
from dpbayes.laws.law import Law
from dpbayes.mechanisms.capabilities import own

Epsilon = float | str | Fraction | Decimal
"""A privacy parameter: a number, or its exact value as text, fraction or decimal."""

NEIGHBOURS = {
    "replace-one": (
        "count vectors x, x' of n records that differ by replacing one record",
        "; n itself is public",
    ),
    "add-or-remove": ("count vectors x, x' that differ by one record more or less", ""),
}
"""The relations a promise can be for, and what is said beside it."""

_DIGITS = 12
_LARGEST_POWER = 300  # powers of ten beyond this are refused


class Mechanism(Protocol):
    """A frozen description of a release: its name, nominal epsilon and law; audits say
    its cost.

    >>> from dpbayes.mechanisms import REGISTRY
    >>> REGISTRY["lattice"](0.5).name
    'lattice'
    """

    @property
    def name(self) -> str:
        """The name that figures, tables and errors call it by, as in `REGISTRY`."""

    @property
    def epsilon(self) -> float:
        """The nominal privacy parameter, positive and finite: what the noise is scaled
        by.

        What is proved at this value is `guarantee(mechanism, k)`, what it costs on n
        records `dpbayes.audit`; both may differ from it.
        """

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Law:
        """Return the exact law of the released histogram r, given counts x and prior
        alpha.

        `counts` (k,) are whole numbers of at least 0, `prior` (k,) is positive, k >= 2.
        The law gives P[M(x) = r] and the distribution of the distance H(Dir(alpha + x),
        Dir(alpha + r)) between the true and the released posterior. `law.why` says how
        it was computed. Raises ValueError or TypeError for other input, and ValueError
        where no way of computing it takes data of this size.
        """


class ExactEpsilon(float):
    """A float that remembers the exact number it was made from, in `exact`.

    Arithmetic with it gives plain floats. `given_epsilon` makes one of "0.1", which no
    float is; promises and draws use the fraction.

    >>> given_epsilon("0.1") == 0.1, given_epsilon("0.1").exact
    (True, Fraction(1, 10))
    """

    exact: Fraction

    def __new__(cls, exact: Fraction) -> ExactEpsilon:
        """Make the nearest float, which keeps the fraction."""
        value = super().__new__(cls, float(exact))
        value.exact = exact
        return value

    def __getnewargs__(self) -> tuple[Any]:
        return (self.exact,)


def given_epsilon(value: Epsilon) -> float:
    """Return a privacy parameter as a float; text, fractions and decimals keep their
    exact value.

    >>> given_epsilon("0.1").exact
    Fraction(1, 10)
    """
    if not isinstance(value, (str, Fraction, Decimal)):
        number = _validate.positive("epsilon", value)
        return value if isinstance(value, (int, float)) else number
    exact = _fraction(value)
    if exact <= 0:
        raise ValueError(f"epsilon must be positive and finite, got {value!r}")
    if not 1e-300 < exact < 1e300:
        raise ValueError(f"epsilon must be between 1e-300 and 1e300, got {value!r}")
    return ExactEpsilon(exact)


def _fraction(value: str | Fraction | Decimal) -> Fraction:
    if isinstance(value, Fraction):
        return value
    above, slash, below = str(value).partition("/")
    # Python reads 0_5 as 5 and other alphabets' digits, too: slips that would cost
    # privacy.
    plain = "_" not in str(value) and str(value).isascii()
    try:
        numbers = (Decimal(above if plain else ""), Decimal(below if slash else 1))
    except InvalidOperation:
        numbers = (Decimal("nan"), Decimal(1))
    if not all(n.is_finite() for n in numbers) or not numbers[1]:
        raise ValueError(f"epsilon must be a positive number, got {value!r}")
    if any(abs(n.adjusted()) > _LARGEST_POWER for n in numbers):
        raise ValueError(f"epsilon must be between 1e-300 and 1e300, got {value!r}")
    return Fraction(numbers[0]) / Fraction(numbers[1])


def exact_epsilon(epsilon: float) -> Fraction:
    """Return the fraction a privacy parameter stands for: what it was given as, if that
    is exact.

    A float counts as its binary value or as the decimal it prints as, whichever is
    smaller.

    >>> exact_epsilon(0.1)
    Fraction(1, 10)
    """
    if isinstance(epsilon, ExactEpsilon):
        return epsilon.exact
    return min(Fraction(epsilon), Fraction(repr(float(epsilon))))


def upper_float(value: Fraction) -> float:
    """Return the smallest float that is at least this fraction.

    >>> upper_float(Fraction(1, 10)) == 0.1, upper_float(Fraction(2, 3)) > 2 / 3
    (True, True)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def rounded_up(value: Fraction) -> str:
    """Return a decimal of at most 12 digits that is at least this positive number.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction("1.0000004"))
    ('0.333333333334', '1.0000004')
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    plain = decimal.normalize(context)
    return f"{plain:f}" if -6 <= plain.adjusted() < _DIGITS else f"{plain:e}"


@dataclass(frozen=True, repr=False)
class Guarantee(Shown):
    """A proved bound on the privacy loss when one record changes; `basis` says why it
    holds.

    `bound` is its exact epsilon, None where nothing is proved; `basis` then says what
    is missing. `theorem` is the label of the proof in the book, `failure` the delta of
    a guarantee that holds but for events of that probability. `neighbours` is the
    relation: "replace-one" with n public, or "add-or-remove" with n secret.

    >>> Guarantee(Fraction(1, 3), "an example").sentence[-51:]
    "P[M(x') in S]; n itself is public. Why: an example."
    """

    bound: Fraction | None
    basis: str
    theorem: str | None = None
    failure: Fraction = Fraction(0)
    neighbours: str = "replace-one"

    @property
    def epsilon(self) -> float | None:
        """The bound as the smallest float that is no less, or None where nothing is
        proved.

        Rounded up, because a promise of less would be false: a float below the fraction
        is not covered by the proof.
        """
        return None if self.bound is None else upper_float(self.bound)

    @property
    def delta(self) -> float:
        """The delta as the smallest float that is no less; 0 for pure differential
        privacy.
        """
        return upper_float(self.failure)

    @property
    def sentence(self) -> str:
        """The guarantee as a quantified sentence that names the neighbour relation.

        "For all count vectors x, x' of n records that differ by replacing one record,
        and every set S of outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] + delta; n
        itself is public. Why: ..."; numbers are rounded up to 12 digits. "No guarantee:
        ..." where the bound is None.
        """
        if self.bound is None:
            return f"No guarantee: {self.basis}."
        differ, public = NEIGHBOURS[self.neighbours]
        return (
            f"{quantified(differ, self.bound, self.failure)}{public}. Why:"
            f" {self.basis}."
        )


def quantified(differ: str, bound: Fraction, failure: Fraction = Fraction(0)) -> str:
    """Return the promise for all pairs that `differ`, with its numbers rounded up; no
    full stop.

    >>> quantified("tables x, x' that differ by one row", Fraction(1, 3))[-46:]
    "P[M(x) in S] <= e^0.333333333334 P[M(x') in S]"
    """
    slack = f" + {rounded_up(failure)}" if failure else ""
    return (
        f"For all {differ}, and every set S of outputs, "
        f"P[M(x) in S] <= e^{rounded_up(bound)} P[M(x') in S]{slack}"
    )


class Promises(Protocol):
    """It states what is proved about it, or why nothing is.

    The statement is for the noisy value that is drawn; what is released is made from it
    without a look at the data (`thm-post-processing`), and so are posteriors, means and
    intervals.
    """

    def guarantee(self, k: int) -> Guarantee:
        """Return the promise for k >= 2 categories, as a `Guarantee`.

        It holds for every n >= 1 and every prior (k,), which are public, for all pairs
        of neighbours that `Guarantee.neighbours` names, and for every set of outputs.
        Its `bound` is an exact fraction, None where nothing is proved. Raises
        ValueError for k below 2.
        """


def guarantee(mechanism: object, k: int) -> Guarantee:
    """Return what a mechanism promises for k categories, as its exact type states it.

    A mechanism without a statement of its own promises nothing, and the answer says so.
    The promise is for all pairs of neighbours and every set of outputs, as in
    `Guarantee.sentence`; k is at least 2.

    >>> from dpbayes.mechanisms import mechanism
    >>> guarantee(mechanism("lattice", 0.5), 4).epsilon
    0.5
    >>> guarantee(mechanism("expMech-local", 0.5), 4).epsilon is None
    True
    """
    stated = own(mechanism, Promises)
    if stated is not None:
        return stated.guarantee(_validate.integer("k", k, minimum=2))
    name = getattr(mechanism, "name", type(mechanism).__name__)
    if hasattr(mechanism, "guarantee"):
        return Guarantee(
            None,
            f"{name} changes a mechanism that has a proof, which does not cover the"
            f" change: {type(mechanism).__name__} states no guarantee of its own",
        )
    return Guarantee(None, f"no proof is recorded for the mechanism {name}")
