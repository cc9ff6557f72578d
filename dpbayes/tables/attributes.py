"""Declared attributes of a table: numbers cut at edges, or listed values; counts of
their cells.
"""

from __future__ import annotations

import math
import operator as op
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import count_array, flag, items, real, shown
from dpbayes.tables.units import column

MOST_CELLS = 1 << 20
MOST_RECORDS = 1 << 53
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_COMPARE = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge, "=": op.eq, "!=": op.ne}


def digits(number: float) -> str:
    """Return a number in six digits where they are all, else in as many as tell it from
    others.
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def decimal(text: str) -> Decimal | None:
    """Return the number that a text writes in the digits 0 to 9, or None."""
    plain = text.strip(" ")
    return Decimal(plain) if _NUMBER.fullmatch(plain) else None


def _edge(value: object) -> float:
    """Return an edge as a number, NaN where it is infinite or none; text is refused."""
    if isinstance(value, float) and not math.isfinite(value):
        return math.nan
    return real("edges", value)


def _between(low: float, high: float) -> str:
    """Return the text of a bin."""
    if low == -math.inf:
        return "any number" if high == math.inf else f"below {digits(high)}"
    return (
        f"{digits(low)} or more"
        if high == math.inf
        else f"{digits(low)} to {digits(high)}"
    )


@dataclass(frozen=True)
class Bins:
    """A numeric attribute cut at `edges`: bin i holds edges[i] <= value < edges[i + 1].

    `whole` says that values are whole numbers, so that "> 4" and ">= 5" mean the same.
    The first edge may be -inf and the last inf: bins with open ends.

    >>> age = Bins("age", (18, 40, 65), whole=True)
    >>> age.size, age.labels, age.select("<", 40)
    (2, ('18 to 40', '40 to 65'), array([ True, False]))
    """

    name: str
    edges: tuple[float, ...]
    whole: bool = False
    of_texts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        column("name", self.name)
        flag("whole", self.whole)
        given = items("edges", self.edges)
        ends = {0: -math.inf, len(given) - 1: math.inf}
        edges = tuple(
            edge if edge == ends.get(i) else _edge(edge) for i, edge in enumerate(given)
        )
        if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
            raise ValueError(
                f"edges of {self.name} must be at least 2 numbers that increase; -inf"
                f" may be the first and inf the last, got {shown(self.edges)}"
            )
        object.__setattr__(self, "edges", edges)

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a bin."""
        return tuple(_between(a, b) for a, b in pairwise(self.edges))

    def select(self, sign: str, value: float | str) -> NDArray[np.bool_]:
        """Return which bins satisfy `attribute sign value`; a bin that is cut is an
        error.
        """
        if isinstance(value, str):
            raise ValueError(f"{self.name} is numeric, but is compared with {value!r}")
        lows, highs = np.array(self.edges[:-1]), np.array(self.edges[1:])
        first, last = lows, np.nextafter(highs, -math.inf)
        if self.whole:
            first, last = np.ceil(lows), np.ceil(highs) - 1
        below, above = _COMPARE[sign](first, value), _COMPARE[sign](last, value)
        holds = (first <= value) & (value <= last) & (first < last)
        cut = holds if sign in ("=", "!=") else below != above
        if np.any(cut):
            told = (
                f"cuts through the bin {self.labels[int(cut.argmax())]}; the edges are"
            )
            edges = ", ".join(map(digits, self.edges))
            raise ValueError(f"{self.name} {sign} {digits(value)} {told} {edges}")
        return np.asarray(below)

    @cached_property
    def _cuts(self) -> list[Decimal]:
        return [Decimal(repr(edge)) for edge in self.edges]

    def place(self, text: str) -> int:
        """Return the bin of a number, by the decimal digits of its text; -1 for
        none."""
        value = decimal(text)
        found = -1 if value is None else bisect_right(self._cuts, value) - 1
        return found if found < self.size else -1


@dataclass(frozen=True)
class Categories:
    """An attribute with listed `values`, all text or all numbers."""

    name: str
    values: tuple[str | float, ...]

    def __post_init__(self) -> None:
        column("name", self.name)
        values = items("values", self.values)
        text, got = [isinstance(value, str) for value in values], f"got {shown(values)}"
        if any(text) and not all(text):
            raise TypeError(
                f"values of {self.name} must be all text or all numbers, {got}"
            )
        if not all(text):
            values = tuple(value for value in values if real("values", value) == value)
        if not values or len(set(values)) != len(values):
            raise ValueError(
                f"values of {self.name} must be distinct and at least 1, {got}"
            )
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def of_texts(self) -> bool:
        """Whether the values are texts, so that 01 and 1 are two of them."""
        return isinstance(self.values[0], str)

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a value."""
        return tuple(v if isinstance(v, str) else digits(v) for v in self.values)

    def select(self, sign: str, value: float | str) -> NDArray[np.bool_]:
        """Return which values satisfy `attribute sign value`."""
        equal = sign in ("=", "!=")
        if self.of_texts != isinstance(value, str):
            raise ValueError(
                f"{self.name} has values {self.labels} but is compared with {value!r}"
            )
        if equal and value not in self.values:
            raise ValueError(
                f"{self.name} must be one of {', '.join(self.labels)}, got {value!r}"
            )
        if self.of_texts and not equal:
            raise ValueError(f"{self.name} has no order: use =, != or in, got {sign!r}")
        return np.asarray(_COMPARE[sign](np.array(self.values), value), dtype=np.bool_)

    @cached_property
    def _places(self) -> dict[str | Decimal | None, int]:
        keys = (v if isinstance(v, str) else Decimal(repr(v)) for v in self.values)
        return {key: i for i, key in enumerate(keys)}

    def place(self, text: str) -> int:
        """Return the place of a text, or of a number by the digits of its text; -1 for
        none.
        """
        return self._places.get(text if self.of_texts else decimal(text), -1)


Attribute = Bins | Categories


def check_attributes(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """Return attributes that make a cube: different names, at most 2^20 cells."""
    declared = items("attributes", attributes)
    if not declared or not all(isinstance(a, (Bins, Categories)) for a in declared):
        raise TypeError(
            f"attributes must be Bins or Categories, at least 1, got {shown(declared)}"
        )
    names = [attribute.name for attribute in declared]
    if len(set(names)) != len(names):
        raise ValueError(f"attributes must have different names, got {names}")
    cells = math.prod(attribute.size for attribute in declared)
    if cells > MOST_CELLS:
        raise ValueError(
            f"attributes must make at most {MOST_CELLS} cells, got {cells}"
        )
    return declared


@dataclass(frozen=True)
class Cube:
    """Counts of records over the cells of declared attributes, last attribute fastest.

    `attributes` at least one; `counts` (cells,) whole, from 0 to 2^53.

    >>> income, sex = Bins("income", (0, 10, 20)), Categories("sex", ("f", "m"))
    >>> cube = Cube((income, sex), [1, 2, 3, 4])
    >>> cube.shape, cube.query("income >= 10 and sex = f")
    ((2, 2), array([0., 0., 1., 0.]))
    """

    attributes: tuple[Attribute, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", check_attributes(self.attributes))
        counts, cells = count_array("counts", self.counts), math.prod(self.shape)
        if counts.shape != (cells,):
            raise ValueError(
                f"counts must have {cells} numbers, one a cell, got {counts.shape}"
            )
        if np.any(counts > MOST_RECORDS):
            raise ValueError(f"counts must be from 0 to 2^53, got {counts.max()!r}")
        object.__setattr__(self, "counts", counts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def query(self, text: str) -> NDArray[np.float64]:
        """Return the coefficients (cells,) of a query text."""
        from dpbayes.tables.predicate import coefficients

        return coefficients(text, self.attributes)

    def statement(self) -> list[list[object]]:
        """Return what two cubes share only if their cells, by name, are the same; never
        by the counts, which are not the analyst's to know.
        """
        return [_stated(one) for one in self.attributes]


def _stated(one: Attribute) -> list[object]:
    if isinstance(one, Bins):
        return ["bins", one.name, list(map(repr, one.edges)), one.whole]
    return ["values", one.name, list(map(repr, one.values))]
