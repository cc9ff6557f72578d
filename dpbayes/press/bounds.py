"""Bounds in sentences: rounded to the side on which what the sentence says stays true.

"At most 0.635" is false of 0.6354. So a number behind such words is rounded up, one behind "at
least" down. In a finding the words around the number tell the side; on a page the format does, as
in ``part/name::number:.3f up``.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext

_MOST = re.compile(r"\bat most (?:about )?$")
_LEAST = re.compile(r"\bat least (?:about )?$")
_UPPER = re.compile(r"\b(?:up to|within|(?:less|smaller|fewer) than) $")
_LOWER = re.compile(r"\b(?:more|larger|greater) than $")
_MOST_AFTER = re.compile(r"[^.,;:]*\b(?:at most|or less)(?:[.,;:]|$)")
_LEAST_AFTER = re.compile(r"[^.,;:]*\b(?:at least|or more)(?:[.,;:]|$)")
_DENIED = re.compile(r"\b(?:no|none|not|never|nothing|nobody|nor|neither|without)\b[^.,;:]*$", re.I)
_FORM = re.compile(r"[-+ ]?,?(?:\.(?P<digits>\d+))?(?P<kind>[efg%]?)")
_ROUNDINGS = {"up": ROUND_CEILING, "down": ROUND_FLOOR}
_SAME = Decimal("1e-12")  # a share of a number that is the rounding of its last binary digits


def side(before: str, after: str = "") -> str | None:
    """Return where a number between these words has to be rounded: "up", "down" or None, nowhere.

    A denial turns it round: what no case exceeds is a bound from above.

    >>> side("differs by at most "), side("at least "), side("no entry changes by more than ")
    ('up', 'down', 'up')
    >>> side("it gains ", " of the optimum at most."), side("the error is ", " of the mean")
    ('up', None)
    """
    if _MOST.search(before) or _MOST_AFTER.match(after):
        return "up"
    if _LEAST.search(before) or _LEAST_AFTER.match(after):
        return "down"
    upper, lower = bool(_UPPER.search(before)), bool(_LOWER.search(before))
    if not upper and not lower:
        return None
    return "up" if upper != bool(_DENIED.search(before)) else "down"


def outward(value: float, form: str, way: str) -> float:
    """Return the next number with the digits of a format that is not below, or not above, `value`.

    `way` is "up" or "down"; what differs from a shown number by rounding alone is that number.

    >>> outward(0.50025, ".3f", "up"), outward(1.4651, ".2f", "down"), outward(0.1 + 0.2, "g", "up")
    (0.501, 1.46, 0.3)
    >>> outward(0.12662, ".2%", "up"), outward(9.001e-05, ".1e", "up")
    (0.1267, 9.1e-05)
    """
    found = _FORM.fullmatch(form)
    if found is None or value == 0.0 or not math.isfinite(value):
        return value
    number, kind = Decimal(value), found["kind"] or "g"
    digits = int(found["digits"] or (0 if found["digits"] else 6))
    first = number.adjusted()
    last = {"f": -digits, "%": -digits - 2, "e": first - digits}.get(kind, first + 1 - digits)
    place = Decimal(1).scaleb(last)
    with localcontext() as context:
        context.prec = 2000  # a float has fewer digits, however small it is
        nearest = number.quantize(place, rounding=ROUND_HALF_EVEN)
        if abs(nearest - number) <= _SAME * abs(number):
            return float(nearest)
        return float(number.quantize(place, rounding=_ROUNDINGS[way]))


def asked_side(form: str) -> tuple[str, str | None]:
    """Return a format and the side that it asks for behind a blank.

    >>> asked_side(".3f up"), asked_side(",d")
    (('.3f', 'up'), (',d', None))
    """
    plain, _, way = form.partition(" ")
    return (plain, way) if way in _ROUNDINGS else (form, None)
