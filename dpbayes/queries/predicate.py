"""A small language for queries: conditions on declared attributes, and weighted sums of them.

    income >= 10 and (age < 35 or health in (good, fair))
    2 * (income >= 10) - 1 * not physical_limitation = 1
    age between 18 and 40                     # 18 <= age < 40, the ends of bins

A condition must not cut through a bin: the cube holds one count a bin, and the answer for half of
it is not there. Digits are a number where the attribute has numbers; where its values are texts
they are compared as they are written, with or without quotation marks: 01 is not 1. Nothing is
evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)"
    r"|(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<sign><=|>=|!=|==|[-<>=(),*+]))"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_DEEPEST = 50
_COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")
_RESERVED = ("and", "or", "not", "in", "all", "between")


class Selectable(Protocol):
    """An attribute that can say which of its bins satisfy a comparison."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def of_texts(self) -> bool: ...

    def select(self, sign: str, value: float | str) -> NDArray[np.bool_]: ...


class PredicateError(ValueError):
    """The text is not a query over the declared attributes.

    >>> from dpbayes.queries.cube import Bins
    >>> coefficients("weight > 3", (Bins("age", (0, 4, 8)),))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.queries.predicate.PredicateError: ...no attribute 'weight'...
    """


def coefficients(text: str, attributes: Sequence[Selectable]) -> NDArray[np.float64]:
    """Return one coefficient a cell for a query text; cells vary fastest in the last attribute."""
    if not isinstance(text, str):
        raise TypeError(f"query must be text, got {text!r}")
    return _Parser(text, attributes).query().reshape(-1)


class _Parser:
    """Recursive descent; every method returns an array that broadcasts to the cube's shape."""

    def __init__(self, text: str, attributes: Sequence[Selectable]) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0
        self._attributes = attributes
        self._shape = tuple(attribute.size for attribute in attributes)

    def query(self) -> NDArray[np.float64]:
        # Factors too large to be added end as infinite ones, which no query may have.
        with np.errstate(over="ignore", invalid="ignore"):
            total = self._sign() * self._term()
            while self._peek() in ("+", "-"):
                total = total + self._sign() * self._term()
        if self._peek() is not None:
            raise self._error(f"unexpected {self._peek()!r}")
        return np.asarray(np.broadcast_to(total, self._shape), dtype=np.float64)

    def _sign(self) -> float:
        if self._peek() in ("+", "-"):
            return -1.0 if self._next() == "-" else 1.0
        return 1.0

    def _term(self) -> NDArray[np.float64]:
        factor = 1.0
        if self._kind() == "number":
            factor = float(self._next())
            self._expect("*")
        return factor * self._either().astype(np.float64)

    def _either(self) -> NDArray[np.bool_]:
        return self._joined("or", self._both, np.logical_or)

    def _both(self) -> NDArray[np.bool_]:
        return self._joined("and", self._single, np.logical_and)

    def _joined(
        self, word: str, part: Callable[[], NDArray[np.bool_]], join: np.ufunc
    ) -> NDArray[np.bool_]:
        result = part()
        while self._peek() == word:
            self._next()
            result = np.asarray(join(result, part()))
        return result

    def _single(self) -> NDArray[np.bool_]:
        if self._peek() == "not":
            self._next()
            return ~self._inside(self._single)
        if self._peek() == "(":
            self._next()
            inside = self._inside(self._either)
            self._expect(")")
            return inside
        if self._peek() == "all":
            self._next()
            return np.ones((1,) * len(self._shape), dtype=np.bool_)
        return self._comparison()

    def _inside(self, part: Callable[[], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"not and brackets must stand at most {_DEEPEST} deep in each other")
        result = part()
        self._depth -= 1
        return result

    def _comparison(self) -> NDArray[np.bool_]:
        if self._kind() not in ("word", "quoted"):
            raise self._error(f"an attribute must stand here, got {self._peek()!r}")
        name = _unquoted(self._next())
        axis = next((i for i, a in enumerate(self._attributes) if a.name == name), None)
        if axis is None:
            known = ", ".join(a.name for a in self._attributes)
            raise self._error(f"no attribute {name!r}; the cube has {known}")
        kinds = {"in": self._values_in, "between": self._between}
        chosen = kinds.get(self._peek() or "", self._compared)(axis)
        shape = [1] * len(self._shape)
        shape[axis] = self._shape[axis]
        return chosen.reshape(shape)

    def _compared(self, axis: int) -> NDArray[np.bool_]:
        sign = self._next()
        sign = "=" if sign == "==" else sign
        if sign not in _COMPARISONS:
            raise self._error(f"a comparison must be one of {_COMPARISONS} or 'in', got {sign!r}")
        attribute = self._attributes[axis]
        return attribute.select(sign, self._literal(attribute))

    def _between(self, axis: int) -> NDArray[np.bool_]:
        self._next()
        attribute = self._attributes[axis]
        low = self._literal(attribute)
        self._expect("and")
        high = self._literal(attribute)
        if isinstance(low, str) or isinstance(high, str) or not low < high:
            raise self._error(f"between takes two numbers that increase, got {low!r} and {high!r}")
        return attribute.select(">=", low) & attribute.select("<", high)

    def _values_in(self, axis: int) -> NDArray[np.bool_]:
        self._next()
        self._expect("(")
        attribute = self._attributes[axis]
        chosen = attribute.select("=", self._literal(attribute))
        while self._peek() == ",":
            self._next()
            chosen = chosen | attribute.select("=", self._literal(attribute))
        self._expect(")")
        return chosen

    def _literal(self, attribute: Selectable) -> float | str:
        sign = self._next() if self._peek() in ("+", "-") else ""
        kind, token = self._kind(), self._next()
        if kind == "number":
            return sign + token if attribute.of_texts else float(sign + token)
        if kind not in ("word", "quoted") or sign == "-" or token in _RESERVED:
            raise self._error(f"a value must stand here, got {token!r}")
        return _unquoted(token)

    def _peek(self) -> str | None:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else None

    def _kind(self) -> str | None:
        return self._tokens[self._place][0] if self._place < len(self._tokens) else None

    def _next(self) -> str:
        token = self._peek()
        if token is None:
            raise self._error("it ends too early")
        self._place += 1
        return token

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._error(f"expected {token!r}, got {self._peek()!r}")
        self._place += 1

    def _error(self, reason: str) -> PredicateError:
        return PredicateError(f"query {self._text!r} cannot be read: {reason}")


def written(name: str) -> str:
    """Return a name as a query writes it: a plain word as it is, anything else in quotation marks.

    >>> print(written("age"), written("not"), written("income in euro"))
    age 'not' 'income in euro'
    """
    if _WORD.fullmatch(name) and name not in _RESERVED:
        return name
    return quoted(name)


def quoted(text: str) -> str:
    """Return text in the quotation marks that it does not hold; ValueError where it holds both.

    >>> print(quoted("f"), quoted("o'neil"))
    'f' "o'neil"
    """
    if "'" in text and '"' in text:
        raise ValueError(f"text must not have both kinds of quotation mark, got {text!r}")
    return f'"{text}"' if "'" in text else f"'{text}'"


def _unquoted(token: str) -> str:
    return token[1:-1] if token[0] in "'\"" else token


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    stripped = text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None or match.lastgroup is None:
            raise PredicateError(
                f"query {text!r} cannot be read: unexpected {stripped[place:].strip()[:1]!r}"
            )
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        place = match.end()
    if not tokens:
        raise PredicateError("query must not be empty; 'all' asks for every record")
    return tokens
