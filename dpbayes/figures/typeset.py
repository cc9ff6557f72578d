"""Numbers in sentences as a page shows them: true minus signs, powers of ten,
infinity."""

from __future__ import annotations

import re

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
