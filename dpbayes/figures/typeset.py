"""Numbers in sentences as a page shows them: true minus signs, powers of ten,
infinity."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

ROUNDED = {"up": ROUND_CEILING, "down": ROUND_FLOOR}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_APART = re.compile(
    r"(\$[^$]+\$|`[^`]*`)"
)  # mathematics, code and targets stay as they are
_POWER = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)e([-+]?\d+)(?!\w|\.\d)")
_ZERO = re.compile(r"(?<![\w.)\]-])-(?=0(?:\.0*)?(?:e[-+]?\d+)?(?![\w.]))")
_MINUS = re.compile(r"(?<![\w.)\]-])-(?=[\d.]|inf\b|∞)")
_ROLE = re.compile(r"\{[a-z:]+\}`([^`<]+?)(?:\s*<[^`<>]*>)?`")


def typeset(text: str) -> str:
    """Return a sentence with true minus signs, powers of ten and ∞; code and formulas
    stay.

    >>> typeset("It is -1.2e-05, not 1e8x; `n-1` and $-1$ stay, 2-3 too; -0.00 and inf")
    'It is −1.2 × 10⁻⁵, not 1e8x; `n-1` and $-1$ stay, 2-3 too; 0.00 and ∞'
    """
    parts = _APART.split(" ".join(text.split()))
    for place in range(0, len(parts), 2):
        part = _POWER.sub(_raised, _MINUS.sub("−", _ZERO.sub("", parts[place])))
        parts[place] = re.sub(r"\binf\b", "∞", part)
    return "".join(parts)


def _raised(found: re.Match[str]) -> str:
    power = str(int(found[2])).translate(_RAISED)
    return (
        found[1] if power == "⁰" or not float(found[1]) else f"{found[1]} × 10{power}"
    )


def without_roles(text: str) -> str:
    """Return text for a viewer that knows no roles of the book: a reference becomes its
    words.
    """
    return _ROLE.sub(r"\1", text)


def apart(first: float, second: float, form: str = ".3g") -> tuple[str, str]:
    """Return two numbers as text, with as many digits as tell them apart.

    `form` is ``.3g``, ``.4f`` or another precision with f or g, which is the least.
    Numbers that agree to twelve digits are the same text: a tie.

    >>> apart(0.25, 0.5), apart(0.00011412, 0.00011436)
    (('0.25', '0.5'), ('0.0001141', '0.0001144'))
    """
    least, kind = int(form[1:-1]), form[-1]
    for digits in range(least, 13):
        texts = f"{first:.{digits}{kind}}", f"{second:.{digits}{kind}}"
        if texts[0] != texts[1]:
            break
    else:
        texts = f"{first:.{least}{kind}}", f"{second:.{least}{kind}}"
    return texts


def formatted(value: float, form: str) -> str:
    """Return a number as a page shows it; what is rounded up or down has twelve digits
    before.

    >>> formatted(0.6353, ".0% down"), formatted(0.1 + 0.2, ".1f up")
    ('63%', '0.3')
    >>> formatted(-0.000012, ".1e")
    '−1.2 × 10⁻⁵'
    """
    form, _, way = form.partition(" ")
    if way in ROUNDED:
        with localcontext(rounding=ROUNDED[way]):
            return typeset(format(Decimal(f"{value:.12g}"), form))
    whole = form.endswith("d") and float(value).is_integer()
    return typeset(format(int(value) if whole else value, form))


def cell(text: str, form: str) -> str:
    """Return a cell's text: numbers in the given format, all else as it is, a dash for
    none.

    >>> cell("inf", ".4g"), cell("nan", ""), cell("11555", ".4g"), cell("-2", "s")
    ('∞', '–', '11,555', '−2')
    """
    value = read_number(text)
    if isinstance(value, str) or math.isnan(value):
        return text if isinstance(value, str) else "–"
    if isinstance(value, int) and form.endswith("g") and 10**4 <= abs(value) < 10**9:
        form = ",d"
    return formatted(value, form) if form not in ("", "s") else typeset(text)


def read_number(text: str) -> Any:
    """Return the number that a cell of a table holds, or its text."""
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
