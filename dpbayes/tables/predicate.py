"""Questions in words: conditions on declared attributes, and weighted sums of them.

    income >= 10 and (age < 35 or health in (good, fair))
    2 * (income >= 10) - (not physical_limitation = 1)
    age between 18 and 40                     # 18 <= age < 40, the ends of bins

A condition must not cut through a bin, of which the cube holds one count. Values that are texts are
compared as they are written, with or without quotation marks: 01 is not 1. Names and values become
place holders, the rest is read by Python's parser, and only the nodes below are taken.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpbayes._validate import shown
from dpbayes.tables.inference import Array

LONGEST = 2000  # letters of a query
MOST_TERMS = 100  # comparisons, values, signs and words `not` in it

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>[^\W\d][\w.]*)"
    r"|(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<sign><=|>=|!=|==|[-<>=(),*+]))"
)
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=", ast.NotEq: "!="}
Attribute = Any  # `Bins` or `Categories`, of which name, size, of_texts and select are used
_RESERVED = ("and", "or", "not", "in", "between")


class PredicateError(ValueError):
    """The text is not a query over the declared attributes.

    >>> coefficients("weight > 3", ())
    Traceback (most recent call last):
        ...
    dpbayes.tables.predicate.PredicateError: query 'weight > 3' cannot be read: no attribute \
'weight'; the cube has none
    """


class Wish(BaseModel):
    """What somebody asks for, as far as it can be checked without the cube."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    question: str
    length: Annotated[float, Field(allow_inf_nan=False)]
    confidence: Annotated[float, Field(ge=1e-15, le=1.0 - 1e-15)] = 0.95
    consistent: bool = False
    by: str | None = None
    request: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = None


def wished(fields: Any) -> Wish:
    """Return what fields ask for, or raise ValueError naming the one that is wrong.

    >>> wished({"question": "all", "length": 40}).confidence
    0.95
    """
    try:
        return Wish.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
    if not first["loc"] or first["type"] in ("missing", "extra_forbidden"):
        raise ValueError(
            "a question must have the fields question, length and, if wanted, confidence, "
            "consistent, by and request"
        )
    allowed = re.sub(r"^\w+ should ", "", first["msg"])
    raise ValueError(f"{first['loc'][0]} must {allowed}, got {shown(first['input'])}")


@dataclass(frozen=True)
class Question:
    """A question, checked: `query` (cells,) on the grid, the longest interval that will do, its
    `delta`, who pays, and an id under which the same answer can be had again."""

    text: str
    query: Array
    length: float
    delta: float
    payer: str = ""
    request: str | None = None

    @property
    def asked(self) -> str:
        """What is asked, as text: the same text for the same question only."""
        return json.dumps([self.text, self.length, self.delta])

    @property
    def name(self) -> str:
        """The name of its answer in the account, "" without an id."""
        return "" if self.request is None else f"answer-{self.payer}-{self.request}"

    def other(self) -> ValueError:
        """Return what refuses an id that was used for something else."""
        return ValueError(
            f"request must be a new id for a new question, got {shown(self.request)}, under which "
            "something else was asked"
        )


@dataclass(frozen=True)
class Answer:
    """What a question got.

    `outcome` "derived", "fresh" or "rejected"; `estimate` and `interval`, None when rejected;
    `cost` in the account's epsilon; `spent` the cube's overall cost after it, `left` of its bound;
    `history` the number of answers it was made from or is one of; `affordable` about the shortest
    length that can be had, when rejected; `consistent` the estimate that fits counts >= 0.

    >>> Answer("all", "fresh", 61.5, (41.5, 81.5), 0.95, 0.15, 0.15, 0.85, 1).affordable
    """

    question: str
    outcome: str
    estimate: float | None
    interval: tuple[float, float] | None
    confidence: float
    cost: float
    spent: float
    left: float
    history: int
    affordable: float | None = None
    consistent: float | None = None


def coefficients(text: str, attributes: Sequence[Attribute]) -> Array:
    """Return one coefficient a cell for a query text; the last attribute varies fastest."""
    if not isinstance(text, str):
        raise TypeError(f"query must be text, got {text!r}")
    if len(text) > LONGEST:
        raise PredicateError(f"query must have at most {LONGEST} letters, got {len(text)}")
    return _Query(text, attributes).coefficients()


class _Query:
    """A query text, of which every method returns an array that broadcasts to the cube's shape."""

    def __init__(self, text: str, attributes: Sequence[Attribute]) -> None:
        self._text, self._attributes = text, attributes
        self._tokens = self._split()

    def coefficients(self) -> Array:
        body = self._tree()
        terms = sum(isinstance(n, (ast.Name, ast.UnaryOp, ast.BinOp)) for n in ast.walk(body))
        if terms > MOST_TERMS:
            raise self._error(f"it must have at most {MOST_TERMS} terms, got {terms}")
        # Factors too large to be added end as infinite ones, which no query may have.
        with np.errstate(over="ignore", invalid="ignore"):
            total = self._sum(body)
        shape = tuple(attribute.size for attribute in self._attributes)
        return np.array(np.broadcast_to(total, shape), np.float64).reshape(-1)

    def _split(self) -> list[tuple[str, str]]:
        tokens, place, text = [], 0, self._text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise self._error(f"unexpected {text[place:].strip()[:1]!r}")
            kind, token, place = match.lastgroup, match[match.lastgroup], match.end()
            tokens.append(("reserved" if kind == "word" and token in _RESERVED else kind, token))
        if not tokens:
            raise PredicateError("query must not be empty; 'all' asks for every record")
        return tokens

    def _tree(self) -> ast.expr:
        """Return the tree of the text with place holders _0, _1, ... for names and values."""
        read = [token if kind in ("reserved", "sign") else f"_{i}"
                for i, (kind, token) in enumerate(self._tokens)]  # fmt: skip
        for i, token in enumerate(self._tokens):
            if token == ("sign", "="):
                read[i] = "=="
            elif token == ("reserved", "between"):
                middle = i + 2 + (read[i + 1 : i + 2] in (["-"], ["+"]))
                last = middle + 1 + (read[middle + 1 : middle + 2] in (["-"], ["+"]))
                if last >= len(read) or read[middle] != "and":
                    raise self._error("between takes two numbers, as in: between 18 and 40")
                read[i], read[middle], read[last] = "in [", ",", f"{read[last]} ]"
        try:
            return ast.parse(" ".join(read), mode="eval").body
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            at = (getattr(error, "offset", None) or len(" ".join(read))) - 1
            ends = np.cumsum([len(token) + 1 for token in read])
            near = self._tokens[min(int(np.searchsorted(ends, at, "right")), len(read) - 1)][1]
            raise self._error(f"it breaks off or goes wrong at {near!r}") from None

    def _sum(self, node: ast.expr) -> Array:
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                join = np.add if isinstance(sign, ast.Add) else np.subtract
                return np.asarray(join(self._sum(left), self._sum(right)))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                kind, text = self._literal(left)
                if kind != "number":
                    raise self._error(f"a number must stand before *, got {text!r}")
                return np.asarray(float(text) * self._sum(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inside):
                return self._sum(inside) * (-1.0 if isinstance(sign, ast.USub) else 1.0)
        return self._condition(node).astype(np.float64)

    def _condition(self, node: ast.expr) -> NDArray[np.bool_]:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return np.asarray(reduce(join, (self._condition(value) for value in values)))
            case ast.UnaryOp(op=ast.Not(), operand=inside):
                return ~self._condition(inside)
            case ast.Name() if self._literal(node) == ("word", "all"):
                return np.ones((1,) * len(self._attributes), dtype=np.bool_)
            case ast.BinOp() | ast.Compare(left=ast.BinOp()):
                raise self._error("conditions that are added or multiplied stand in brackets")
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(left, sign, right)
            case ast.Compare():
                raise self._error("one comparison at a time: join them by and, brackets round each")
        raise self._error("a condition on an attribute must stand here, such as age < 40")

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> NDArray[np.bool_]:
        kind, name = self._literal(left)
        names = [attribute.name for attribute in self._attributes]
        if kind == "number" or name not in names:
            known = ", ".join(names) or "none"
            raise self._error(f"no attribute {name!r}; the cube has {known}")
        place, shape = names.index(name), [1] * len(names)
        attribute = self._attributes[place]
        if isinstance(sign, (ast.In, ast.NotIn)):
            chosen = self._among(attribute, right) ^ isinstance(sign, ast.NotIn)
        elif type(sign) in _SIGNS:
            chosen = attribute.select(_SIGNS[type(sign)], self._value(attribute, right))
        else:
            raise self._error("a comparison must be one of <, <=, >, >=, =, !=, in, between")
        shape[place] = attribute.size
        return chosen.reshape(shape)

    def _among(self, attribute: Attribute, values: ast.expr) -> NDArray[np.bool_]:
        if isinstance(values, ast.List):
            low, high = (self._value(attribute, value) for value in values.elts)
            if isinstance(low, str) or isinstance(high, str) or not low < high:
                got = f"got {low!r} and {high!r}"
                raise self._error(f"between takes two numbers that increase, {got}")
            return np.asarray(attribute.select(">=", low) & attribute.select("<", high))
        listed = values.elts if isinstance(values, ast.Tuple) else [values]
        if not listed:
            raise self._error("in takes at least one value, as in: health in (good, fair)")
        each = [attribute.select("=", self._value(attribute, value)) for value in listed]
        return np.asarray(reduce(np.logical_or, each))

    def _value(self, attribute: Attribute, node: ast.expr) -> float | str:
        kind, text = self._literal(node)
        return text if attribute.of_texts or kind != "number" else float(text)

    def _literal(self, node: ast.expr) -> tuple[str, str]:
        """Return what a place holder stands for, with its sign where it is a number."""
        match node:
            case ast.Name(id=name):
                kind, text = self._tokens[int(name[1:])]
                return kind, text[1:-1] if kind == "quoted" else text
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Name() as inside):
                kind, text = self._literal(inside)
                if kind == "number":
                    return kind, f"{'-' if isinstance(sign, ast.USub) else '+'}{text}"
        raise self._error("a name or a value must stand on each side of a comparison")

    def _error(self, reason: str) -> PredicateError:
        text = self._text if len(self._text) <= 200 else f"{self._text[:200]}..."
        return PredicateError(f"query {text!r} cannot be read: {reason}")
