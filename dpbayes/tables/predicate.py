"""Questions in words: conditions on declared attributes, and weighted sums of them.

    income >= 10 and (age < 35 or health in (good, fair))
    2 * (income >= 10) - (not physical_limitation = 1)
    age between 18 and 40                     # 18 <= age < 40, the ends of bins

A condition must not cut through a bin. Texts are compared as they are written: 01 is
not 1. Names and values become place holders; Python's parser reads the rest, of which
only some nodes are taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dpbayes._validate import shown
from dpbayes.tables.inference import Array

LONGEST = 2000  # letters of a query
MOST_AT_ONCE = 1000  # questions of one wish
MOST_TERMS = 100  # comparisons, values, signs and words `not` in it

_TOKEN = re.compile(
    r"(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>[^\W\d][\w.]*)"
    r"|(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<sign><=|>=|!=|==|[-<>=(),*+])|(?P<other>\S)"
)
_BETWEEN = re.compile(r"between ((?:[-+] )?_\d+) and ((?:[-+] )?_\d+)")
_SIGNS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
    ast.NotEq: "!=",
}
# `Bins` or `Categories`, of which name, size, of_texts and select are used
Attribute = Any


class Wish(BaseModel):
    """What somebody asks for, as far as it can be checked without the cube: one
    question, or `questions` with one length.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    question: str | None = None
    length: Annotated[float, Field(allow_inf_nan=False)]
    confidence: Annotated[float, Field(ge=1e-15, le=1.0 - 1e-15)] = 0.95
    by: str | None = None
    request: (
        Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None
    ) = None
    questions: Annotated[list[str], Field(min_length=1, max_length=MOST_AT_ONCE)] = (
        Field(default_factory=list)
    )

    @model_validator(mode="after")
    def _asks(self) -> Wish:
        if (self.question is None) == (not self.questions):
            raise PydanticCustomError("missing", "question or questions must be given")
        return self

    @property
    def several(self) -> bool:
        """Whether there can be more than one answer."""
        return self.by is not None or bool(self.questions)

    @property
    def texts(self) -> list[str]:
        """The questions in words."""
        return self.questions or [str(self.question)]


def wished(body: str | bytes) -> Wish:
    """Return what a JSON object asks for, or raise ValueError naming the field that is
    wrong.
    """
    try:
        return Wish.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
    if first["type"] == "json_invalid":
        raise ValueError("body must be JSON")
    if not first["loc"] or first["type"] in ("missing", "extra_forbidden"):
        fields = ", ".join(Wish.model_fields)
        raise ValueError(
            f"a question must have the fields {fields}: length, and question or"
            " questions at least"
        )
    allowed = re.sub(r"^\w+ should ", "", first["msg"])
    raise ValueError(f"{first['loc'][0]} must {allowed}, got {shown(first['input'])}")


@dataclass(frozen=True)
class Question:
    """A question, checked: `query` (cells,) on the grid, the longest interval that will
    do, its `delta`, who pays, and an id under which what was paid can be had again."""

    text: str
    query: Array
    length: float
    delta: float
    payer: str = ""
    request: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a question got: `outcome` "derived", "fresh", or "rejected", without an
    estimate.

    `cost`, `spent` and `left` are in one epsilon, that of the account, which is for
    tables that differ by `epsilon_for`: of this answer, of all answers about the cube
    so far, and what can still be spent of what `left_of` names. `history` is how many
    answers there are then, `affordable` about the shortest length to be had.
    """

    question: str
    outcome: str
    estimate: float | None
    interval: tuple[float, float] | None
    confidence: float
    cost: float
    epsilon_for: str
    spent: float
    left: float
    left_of: str
    history: int
    affordable: float | None = None


def coefficients(text: str, attributes: Sequence[Attribute]) -> Array:
    """Return one coefficient a cell for a query text; the last attribute varies
    fastest.
    """
    if not isinstance(text, str):
        raise TypeError(f"query must be text, got {text!r}")
    if len(text) > LONGEST:
        raise ValueError(f"query must have at most {LONGEST} letters, got {len(text)}")
    query = _Query(text, attributes)
    # Factors too large to be added end as infinite ones, which no query may have.
    with np.errstate(over="ignore", invalid="ignore"):
        found = query.read(query.tree())
    shape = [attribute.size for attribute in attributes]
    return np.array(np.broadcast_to(found, shape), np.float64).reshape(-1)


class _Query:
    """A query text, every part of which is an array that broadcasts to the cube's
    shape.
    """

    def __init__(self, text: str, attributes: Sequence[Attribute]) -> None:
        self._text, self._attributes = text, {one.name: one for one in attributes}
        self._values = list[tuple[str, str]]()

    def tree(self) -> ast.expr:
        placed = " ".join(_TOKEN.sub(self._placed, self._text).split())
        if not placed:
            raise ValueError("query must not be empty; 'all' asks for every record")
        placed = _BETWEEN.sub(r"in [ \1 , \2 ]", placed)
        if "between" in placed:
            raise self._error("between takes two numbers, as in: between 18 and 40")
        try:
            body = ast.parse(placed, mode="eval").body
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            at = (getattr(error, "offset", None) or len(placed) + 1) - 1
            near = (placed[at:].split() or placed.split()[-1:])[0]
            near = self._values[int(near[1:])][1] if near[0] == "_" else near
            raise self._error(f"it breaks off or goes wrong at {near!r}") from None
        terms = sum(
            isinstance(n, (ast.Name, ast.UnaryOp, ast.BinOp)) for n in ast.walk(body)
        )
        if terms > MOST_TERMS:
            raise self._error(f"it must have at most {MOST_TERMS} terms, got {terms}")
        return body

    def _placed(self, match: re.Match[str]) -> str:
        """Return what Python is to read for a token: place holders _0, _1, ... for all
        values.
        """
        kind, token = str(match.lastgroup), match[0]
        if kind == "other":
            raise self._error(f"unexpected {token!r}")
        if kind == "sign" or token in ("and", "or", "not", "in", "between"):
            return f" {'==' if token == '=' else token} "
        self._values.append((kind, token[1:-1] if kind == "quoted" else token))
        return f" _{len(self._values) - 1} "

    def read(self, node: ast.expr) -> NDArray[Any]:
        """Return a condition as booleans, a weighted sum of conditions as numbers."""
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return np.asarray(1.0 * self.read(left) + self.read(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return np.asarray(1.0 * self.read(left) - self.read(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                kind, text = self._literal(left)
                if kind != "number":
                    raise self._error(f"a number must stand before *, got {text!r}")
                return np.asarray(float(text) * self.read(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inside):
                sign_of = -1.0 if isinstance(sign, ast.USub) else 1.0
                return np.asarray(sign_of * self.read(inside))
            case ast.UnaryOp(op=ast.Not(), operand=inside):
                return ~self._condition(inside)
            case ast.BoolOp(op=op, values=values):
                join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return np.asarray(reduce(join, map(self._condition, values)))
            case ast.Name() if self._literal(node) == ("word", "all"):
                return np.ones((1,) * len(self._attributes), dtype=np.bool_)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(left, sign, right)
            case ast.Compare():
                raise self._error(
                    "one comparison at a time: join them by and, brackets round each"
                )
        raise self._error(
            "a condition on an attribute must stand here, such as age < 40"
        )

    def _condition(self, node: ast.expr) -> NDArray[np.bool_]:
        found = self.read(node)
        if found.dtype != np.bool_:
            raise self._error(
                "and, or, not join conditions, and no sums or multiples of them"
            )
        return found

    def _compared(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr
    ) -> NDArray[np.bool_]:
        if isinstance(left, ast.BinOp):
            raise self._error(
                "conditions that are added or multiplied stand in brackets"
            )
        kind, name = self._literal(left)
        if kind == "number" or name not in self._attributes:
            known = ", ".join(self._attributes) or "none"
            raise self._error(f"no attribute {name!r}; the cube has {known}")
        one = self._attributes[name]
        listed = right.elts if isinstance(right, (ast.List, ast.Tuple)) else [right]
        literals = [self._literal(node) for node in listed]
        values = [
            v if one.of_texts or kind != "number" else float(v) for kind, v in literals
        ]
        if isinstance(right, ast.List):
            low, high = values
            if isinstance(low, str) or isinstance(high, str) or not low < high:
                got = f"got {low!r} and {high!r}"
                raise self._error(f"between takes two numbers that increase, {got}")
            chosen = one.select(">=", low) & one.select("<", high)
        elif isinstance(sign, (ast.In, ast.NotIn)) and values:
            chosen = reduce(np.logical_or, [one.select("=", value) for value in values])
        elif len(values) == 1 and not isinstance(right, ast.Tuple):
            chosen = one.select(_SIGNS[type(sign)], values[0])
        else:
            raise self._error(
                "= takes one value, in at least one value: health in (good, fair)"
            )
        shape = [-1 if other == name else 1 for other in self._attributes]
        return np.asarray(chosen.reshape(shape) ^ isinstance(sign, ast.NotIn))

    def _literal(self, node: ast.expr) -> tuple[str, str]:
        """Return what a place holder stands for, with its sign where it is a number."""
        match node:
            case ast.Name(id=name):
                return self._values[int(name[1:])]
            case ast.UnaryOp(
                op=ast.USub() | ast.UAdd() as sign, operand=ast.Name() as inside
            ):
                kind, text = self._literal(inside)
                if kind == "number":
                    return kind, f"{'-' if isinstance(sign, ast.USub) else '+'}{text}"
        raise self._error("a name or a value must stand on each side of a comparison")

    def _error(self, reason: str) -> ValueError:
        text = self._text if len(self._text) <= 200 else f"{self._text[:200]}..."
        return ValueError(f"query {text!r} cannot be read: {reason}")
