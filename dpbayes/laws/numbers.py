"""Numbers with their error, and how both were found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dpbayes._validate import Floats
from dpbayes._values import ByValue

# Standard errors that bound what is drawn, and the probability that they do.
DEVIATIONS = 4.0
FOUR_DEVIATIONS = math.erf(DEVIATIONS / math.sqrt(2.0))


class Estimate(float):
    """A number with its error, and how both were found; it is a float like any other.

    The true number is within `error` of the value. `how` is "listed" (all outputs added
    up), "window" (those within reach, the others bounded), "series" (a sum of powers or
    of quadrature nodes, measured against a finer one) or "drawn". For what is drawn the
    bound holds with the probability `confidence` over the draws, and `standard_error`
    is that of the value; for all others they are 1 and 0.

    >>> number = Estimate(0.10563, 1.4e-13, "series")
    >>> number
    0.1056 ± 2e-13 (series)
    >>> round(number + 1, 4), number.error, number.how
    (1.1056, 1.4e-13, 'series')
    >>> Estimate.drawn(0.2173, 0.0001)
    0.2173 ± 0.0004 (drawn, 99.99 %)
    """

    error: float
    how: str
    standard_error: float
    confidence: float

    def __new__(
        cls,
        value: float,
        error: float,
        how: str,
        standard_error: float = 0.0,
        confidence: float = 1.0,
    ) -> Estimate:
        """Make a float that keeps its error and how it was found."""
        number = super().__new__(cls, value)
        number.error, number.how = float(error), how
        number.standard_error = float(standard_error)
        number.confidence = float(confidence)
        return number

    @classmethod
    def drawn(cls, value: float, standard_error: float, bound: float = 0.0) -> Estimate:
        """Return the mean of many draws: its error is `bound` and four standard errors.

        A normal variable is that close to its mean with a probability of 0.99994.
        """
        error = bound + DEVIATIONS * standard_error
        return cls(value, error, "drawn", standard_error, FOUR_DEVIATIONS)

    def moved(self, value: float, error: float) -> Estimate:
        """Return another number that follows from this one, with its own error.

        How it was found and the confidence stay; the standard error is scaled like the
        bound.
        """
        scale = error / self.error if self.error else 1.0
        standard_error = scale * self.standard_error
        return Estimate(value, error, self.how, standard_error, self.confidence)

    def exceeds(self, bound: float) -> bool:
        """Return whether the true number is above `bound`, whatever the error.

        >>> loss = Estimate(1.0000000000000036, 1.4e-13, "listed")
        >>> loss > 1.0, loss.exceeds(1.0), loss.exceeds(0.9)
        (True, False, True)
        """
        return float(self) - self.error > bound

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.error, self.how, self.standard_error, self.confidence

    def __repr__(self) -> str:
        return f"{_digits(float(self), self.error)} ± {self._error_and_how()}"

    __str__ = __repr__

    def _error_and_how(self) -> str:
        sure = "" if self.confidence == 1.0 else f", {100 * self.confidence:.4g} %"
        return f"{self.error_text} ({self.how}{sure})"

    @property
    def error_text(self) -> str:
        """The error with one digit, rounded up, so that the interval shown holds the
        number.
        """
        return _rounded_up(self.error)


def _digits(value: float, error: float) -> str:
    # Four digits, or fewer where the error reaches them.
    if not 0.0 < error < math.inf or value == 0.0 or not math.isfinite(value):
        return f"{value:.4g}"
    held = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 1
    return f"{value:.{min(max(held, 1), 4)}g}"


def _rounded_up(error: float) -> str:
    if not 0.0 < error < math.inf:
        return f"{error:g}"
    unit = 10.0 ** math.floor(math.log10(error))
    return f"{math.ceil(error / unit * (1.0 - 1e-12)) * unit:.1g}"


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(ByValue, NDArrayOperatorsMixin):
    """Several estimates: `values` (m,), the bound `error` (m,) of each, and `how`.

    An array like any other in arithmetic and for numpy's functions; an entry is an
    `Estimate`.

    >>> summed, drawn = Estimate(0.25, 1e-12, "series"), Estimate.drawn(0.5, 1e-3)
    >>> both = Estimates.of([summed, drawn])
    >>> both
    [0.25 ± 1e-12 (series), 0.5 ± 0.004 (drawn, 99.99 %)]
    >>> both[1].standard_error, 2 * both
    (0.001, array([0.5, 1. ]))
    """

    estimates: tuple[Estimate, ...]

    @classmethod
    def of(cls, found: Iterable[float]) -> Estimates:
        """Return them as one object; a plain number states no error of its own."""
        return cls(tuple(map(estimate_of, found)))

    @property
    def values(self) -> Floats:
        """The numbers alone, shape (m,), as floats."""
        return np.array(self.estimates, dtype=np.float64)

    @property
    def error(self) -> Floats:
        """The bound of each error, shape (m,), as `Estimate.error`."""
        return np.array([one.error for one in self.estimates])

    @property
    def standard_error(self) -> Floats:
        """The standard error of each, 0 where nothing was drawn, shape (m,)."""
        return np.array([one.standard_error for one in self.estimates])

    @property
    def how(self) -> tuple[str, ...]:
        """How each was found, m words of `Estimate.how`."""
        return tuple(one.how for one in self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, int | np.integer):
            return self.estimates[place]
        if isinstance(place, slice):
            return Estimates(self.estimates[place])
        return self.values[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.values, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **how: Any) -> Any:
        plain = [one.values if isinstance(one, Estimates) else one for one in given]
        return getattr(ufunc, method)(*plain, **how)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.estimates))}]"


def estimate_of(value: float) -> Estimate:
    """Return a number as an estimate; a plain one states no error of its own.

    It counts as "listed" with the error 0: a law from outside the package may return
    floats.
    """
    return value if isinstance(value, Estimate) else Estimate(value, 0.0, "listed")
