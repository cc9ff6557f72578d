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
    if 0 < value < Fraction(100, 10**digits) and (value * 10**digits).denominator > 1:
        return significant_text(value, direction, 3)
    scaled = value * 10**digits
    whole = math.ceil(scaled) if direction == "up" else math.floor(scaled)
    return format(Decimal(whole).scaleb(-digits).normalize(), "f")


def significant_text(value: Fraction, direction: str, digits: int = 12) -> str:
    """Return a decimal of so many digits that is at least ("up") or at most ("down") as large.

    For numbers that may be tiny, such as a delta.

    >>> significant_text(Fraction(1, 3 * 10**9), "up", 3), significant_text(Fraction(0), "down")
    ('3.34e-10', '0')
    """
    rounding = ROUND_CEILING if direction == "up" else ROUND_FLOOR
    context = Context(prec=digits, rounding=rounding)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    plain = found.normalize(context)
    return f"{plain:f}" if not plain or -6 <= plain.adjusted() < digits else f"{plain:e}"


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number and what it counts, in the singular for 1; `more` is one with s unless given.

    >>> counted(1, "record"), counted(2000, "record"), counted(0, "entry", "entries")
    ('1 record', '2,000 records', '0 entries')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
