"""Bounds printed and stored on the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def decimal_text(value: Fraction, direction: str, digits: int = 6) -> str:
    """Return a decimal at least ("up") or at most ("down") as large, exact where `digits` suffice.

    Where so many digits behind the point would show less than three of a value, it has three.

    >>> decimal_text(Fraction(10000004, 10**7), "up"), decimal_text(Fraction(1, 3), "down")
    ('1.000001', '0.333333')
    >>> decimal_text(Fraction(1, 10**7), "down"), decimal_text(Fraction(1, 3 * 10**9), "up")
    ('1e-7', '3.34e-10')
    """
    up, scaled = direction == "up", value * 10**digits
    if 0 < scaled < 100 and scaled.denominator > 1:
        three = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
        found = three.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(three)
        return f"{found:f}" if found.adjusted() >= -6 else f"{found:e}"
    whole, rest = divmod(math.ceil(scaled) if up else math.floor(scaled), 10**digits)
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number and what it counts; `more` than one is `one` with s unless given."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
