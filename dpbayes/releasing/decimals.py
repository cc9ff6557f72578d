"""Bounds printed and stored on the safe side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction


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
