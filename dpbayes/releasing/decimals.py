"""Privacy parameters as the exact decimals they are written as, and bounds printed safely."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction

_LONGEST = 60


def exact(name: str, value: object) -> Fraction:
    """Return a positive number exactly: text and integers as written, a float by its shortest text.

    >>> exact("epsilon", "0.1"), exact("epsilon", 0.1), exact("epsilon", 2)
    (Fraction(1, 10), Fraction(1, 10), Fraction(2, 1))
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Fraction, Decimal)):
        raise TypeError(f"{name} must be a number, or decimal text such as '0.5', got {value!r}")
    number = value if isinstance(value, Fraction) else _decimal(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return number


def _decimal(name: str, value: str | int | float | Decimal) -> Fraction:
    text = repr(value) if isinstance(value, float) else str(value).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if len(text) > _LONGEST or not number.is_finite() or abs(number.adjusted()) > _LONGEST:
        raise ValueError(f"{name} must be a finite decimal number such as '0.5', got {value!r}")
    return Fraction(number)


def decimal_text(value: Fraction, direction: str, digits: int = 6) -> str:
    """Return a decimal at least ("up") or at most ("down") as large, exact where `digits` suffice.

    >>> decimal_text(Fraction(10000004, 10**7), "up"), decimal_text(Fraction(1, 3), "down")
    ('1.000001', '0.333333')
    """
    scaled = value * 10**digits
    whole = math.ceil(scaled) if direction == "up" else math.floor(scaled)
    return format(Decimal(whole).scaleb(-digits).normalize(), "f")


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most as large.

    >>> Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10) < Fraction(0.1)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
