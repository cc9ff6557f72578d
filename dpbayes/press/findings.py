"""A finding: what came out, as a sentence that was chosen and filled in by the computation."""

from __future__ import annotations

import math
import numbers
import re
import string
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from dpbayes.press.bounds import side
from dpbayes.press.quotes import formatted, one_of, powers_of_ten, telling


@dataclass(frozen=True)
class Finding:
    """Whether something holds (None: not decided), and the sentence that says so.

    ``by_theorem`` is the label of the theorem by which it cannot come out otherwise.
    """

    holds: bool | None
    sentence: str
    values: Mapping[str, Any]
    by_theorem: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return the finding as it is kept in ``findings.json``."""
        shown = {key: _kept(value) for key, value in self.values.items()}
        kept = {"holds": self.holds, "sentence": self.sentence, "values": shown}
        return {**kept, "by_theorem": self.by_theorem} if self.by_theorem else kept


def decided(
    name: str,
    holds: Any,
    true: str,
    false: str | None,
    undecided: str | None,
    by_theorem: str | None,
    values: Mapping[str, Any],
    known: Mapping[str, Any] = MappingProxyType({}),
) -> Finding:
    """Return the finding whose sentence belongs to the outcome.

    What the sentence names and ``values`` lack is taken from ``known``, and kept with the values.

    >>> shares = {"share": -0.25}
    >>> decided("x", False, "It rises.", "It falls by {share:.0%}.", None, None, shares).sentence
    'It falls by −25%.'
    """
    if (false is None) == (by_theorem is None):
        raise TypeError(f"finding {name!r} needs either false=... or by_theorem='thm-...'")
    if holds is not None and not isinstance(holds, (bool, *_numpy_bools())):
        raise TypeError(f"holds must be True, False or None, got {holds!r} for {name!r}")
    if by_theorem is not None and holds is not None and not holds:
        raise ValueError(f"finding {name!r} holds by {by_theorem}, yet it came out false")
    outcome = None if holds is None else bool(holds)
    sentence = {True: true, False: false, None: undecided}[outcome]
    if not isinstance(sentence, str) or not sentence.strip():
        raise ValueError(f"finding {name!r} came out {outcome} and has no sentence for that")
    spoken = {key: known[key] for key in _names(sentence) if key in known} | dict(values)
    return Finding(outcome, filled(sentence, spoken), spoken, by_theorem)


def _names(sentence: str) -> list[str]:
    return [name for _, name, _, _ in _Sentence().parse(sentence) if name is not None]


def filled(sentence: str, values: Mapping[str, Any]) -> str:
    """Return a sentence with its values filled in, each in the format after its colon.

    Numbers are shown as the pages show them; a list is shown element by element with an "and"
    before the last, but for a vector, whose bracket stands before the field; a mapping as names
    with their values, as values at their places where each name is an equation, and with the names
    in brackets where they hold digits or commas. One thing is counted in the singular, and what a
    format would round away keeps two digits. A bound is rounded to the side on which it holds.

    >>> filled("at most {top:.2f}, at least {low:.2f}", {"top": 0.452, "low": 0.128})
    'at most 0.46, at least 0.12'

    >>> filled("{worst:.1e} at n = {sizes:,d}", {"worst": 2.5e-7, "sizes": [10, 2000]})
    '2.5 × 10⁻⁷ at n = 10 and 2,000'
    >>> filled("({counts}) with shares {shares:.0%}", {"counts": [1, 2], "shares": [0.3, 0.7]})
    '(1, 2) with shares 30% and 70%'
    >>> filled("{errors:.2f}", {"errors": {"geometric": 0.125, "lapMech": 0.5}})
    'geometric 0.12 and lapMech 0.50'
    >>> filled("{shares:.0%}", {"shares": {"ε = 0.1": 0.31, "ε = 5": 0.98}})
    '31% at ε = 0.1 and 98% at ε = 5'
    >>> filled("{shares:.0%}", {"shares": {"ε = 1e-09": 0.31, "ε = 5": 0.98}})
    '31% at ε = 1 × 10⁻⁹ and 98% at ε = 5'
    >>> filled("{shares:.0%}", {"shares": {"k = 2, prior 5": 0.31, "k = 3, prior 5": 0.98}})
    '31% (k = 2, prior 5) and 98% (k = 3, prior 5)'
    >>> filled("After {n} releases.", {"n": 1})
    'After 1 release.'
    """
    return one_of(" ".join(_Sentence().vformat(sentence, (), values).split()))


_EQUATION = re.compile(r"\w+ = [\d.,]+(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")


class _Sentence(string.Formatter):
    """Python's format strings, of plain names only."""

    before = after = ""  # what stands around the field that is filled in
    _words = ("", "")  # around what was parsed last

    def parse(self, format_string: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
        parts = [*super().parse(format_string), ("", None, None, None)]
        for part, following in pairwise(parts):
            self._words = part[0], following[0]
            yield part

    def _listed(self, parts: list[str]) -> str:
        if len(parts) < 2 or self.before.endswith(("(", "[")):
            return ", ".join(parts)
        return f"{', '.join(parts[:-1])} and {parts[-1]}"

    def get_field(self, field_name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        if field_name not in kwargs:
            known = ", ".join(kwargs) or "none"
            raise ValueError(f"no value {field_name!r} for the sentence; given are {known}")
        # A format is parsed, too, before the field is shown: its words are not the sentence's.
        self.before, self.after = self._words
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        plain = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(plain, Mapping):
            shown = {
                powers_of_ten(str(k)): self.format_field(v, format_spec) for k, v in plain.items()
            }
            if all(_EQUATION.fullmatch(name) for name in shown):
                return self._listed([f"{value} at {name}" for name, value in shown.items()])
            if any(re.search(r"[\d,]", name) for name in shown):
                return self._listed([f"{value} ({name})" for name, value in shown.items()])
            return self._listed([f"{name} {value}" for name, value in shown.items()])
        if isinstance(plain, (list, tuple)):
            return self._listed([self.format_field(item, format_spec) for item in plain])
        if isinstance(plain, bool) or not isinstance(plain, numbers.Real):
            return format(plain, format_spec)
        if isinstance(plain, numbers.Integral):
            return formatted(int(plain), format_spec or "d")
        number = float(plain)
        if math.isnan(number):
            raise ValueError("a sentence cannot show a value that is not a number")
        if math.isinf(number):
            return "∞" if number > 0 else "−∞"
        way = side(self.before, self.after)
        return telling(number, (format_spec or ".3g") + (f" {way}" if way else ""))


def _kept(value: Any) -> Any:
    """Return a value as JSON keeps it; infinity and what is no number as their text."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, Mapping):
        return {str(key): _kept(item) for key, item in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [_kept(item) for item in plain]
    if plain is None or isinstance(plain, (bool, str, int)):
        return plain
    if isinstance(plain, numbers.Real) and math.isfinite(plain):
        return float(plain)
    return str(plain)


def _numpy_bools() -> tuple[type, ...]:
    numpy = sys.modules.get("numpy")
    return (numpy.bool_,) if numpy is not None else ()
