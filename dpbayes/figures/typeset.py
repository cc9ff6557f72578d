"""Numbers in sentences as a page shows them: true minus signs, powers of ten,
infinity."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
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


def counted(numbers: int | Iterable[int], noun: str) -> str:
    """Return a number with its noun, of several the smallest and the largest.

    >>> counted(1, "record"), counted(0, "category"), counted([3000, 20], "size")
    ('1 record', '0 categories', '20 to 3,000 sizes')
    >>> counted([10, 10], "balanced record")
    '10 balanced records'
    """
    values = [*numbers] if isinstance(numbers, Iterable) else [numbers]
    ends = dict.fromkeys(f"{int(value):,d}" for value in (min(values), max(values)))
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{' to '.join(ends)} {noun if [*ends] == ['1'] else many}"


def ranging(name: str, values: Iterable[float]) -> str:
    """Return what a quantity is, of several values the smallest and the largest.

    >>> ranging("ε", [0.8]), ranging("ε", [5.0, 0.1, 1.0])
    ('ε = 0.8', 'ε from 0.1 to 5')
    """
    every = [*values]
    low, high = f"{min(every):g}", f"{max(every):g}"
    return f"{name} = {low}" if low == high else f"{name} from {low} to {high}"


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
