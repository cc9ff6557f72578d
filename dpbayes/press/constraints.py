"""What parameters owe to each other, declared beside them and checked before anything runs.

A comment line of the parameters cell, or of a cell of such lines alone, states a condition, and
after a second ``#`` why::

    shares: list[float] = [0.3, 0.7]  # of the categories, > 0
    prior: list[float] = [1.0, 1.0]  # prior parameters, > 0
    # together: len(shares) == len(prior)  # one of each for every category
    # together: sum(shares) == 1

A condition is built from parameter names, numbers, texts, ``None``, lists, ``+ - * // / %``,
comparisons (``==`` of numbers allows for rounding), ``in``, ``is``, ``and``, ``or``, ``not``, and
the functions ``len sum min max abs sorted set comb``; ``comb(n + k - 1, k - 1)`` is the number of
outputs of n records in k categories. Nothing else is evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LINE = re.compile(r"^#\s*together:\s*(?P<condition>[^#]*?)\s*(?:#\s*(?P<why>.*?)\s*)?$")
LARGEST_CHOICE = 10**7


def comb(total: int, chosen: int) -> float:
    """Return the number of choices, infinite where it would be too long to write down."""
    if min(chosen, total - chosen) > 1000 or total > LARGEST_CHOICE:
        return math.inf
    return math.comb(int(total), int(chosen))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len, "sum": math.fsum, "min": min, "max": max, "abs": abs, "sorted": sorted,
    "set": set, "comb": comb,
}  # fmt: skip
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def equal(left: Any, right: Any) -> bool:
    """Say whether two values are equal; numbers may differ by rounding."""
    if isinstance(left, float) or isinstance(right, float):
        numbers = all(type(one) in (int, float) for one in (left, right))
        return numbers and math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return bool(left == right)


COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: equal,
    ast.NotEq: lambda left, right: not equal(left, right),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


@dataclass(frozen=True)
class Constraint:
    """One condition on several parameters, and why it is there."""

    condition: str
    why: str = ""

    def __str__(self) -> str:
        return self.condition + (f" ({self.why})" if self.why else "")

    def names(self) -> list[str]:
        """Return the parameters that the condition speaks of."""
        used = {node.id for node in ast.walk(_tree(self.condition)) if isinstance(node, ast.Name)}
        return sorted(used - FUNCTIONS.keys())

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError when the condition does not hold, with the values it speaks of."""
        try:
            holds = bool(evaluated(_tree(self.condition), values))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            raise ValueError(f"{self} cannot be checked: {error}") from error
        if not holds:
            given = ", ".join(f"{name} = {short(values[name])}" for name in self.names())
            raise ValueError(f"{self} must hold, got {given}")


def short(value: Any) -> str:
    """Return a value as a message shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def read_constraints(source: str) -> tuple[Constraint, ...]:
    """Return the conditions that a parameters cell states, in their order."""
    found = [LINE.match(line.strip()) for line in source.splitlines()]
    constraints = tuple(Constraint(one["condition"], one["why"] or "") for one in found if one)
    for constraint in constraints:
        _tree(constraint.condition)
    return constraints


def only_conditions(source: str) -> bool:
    """Say whether a cell holds conditions and nothing else.

    >>> only_conditions("# together: len(sizes) == len(shares)"), only_conditions("n = 3")
    (True, False)
    """
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    return bool(lines) and all(LINE.match(line) for line in lines)


def _tree(condition: str) -> ast.expr:
    try:
        return ast.parse(condition, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"a condition cannot be read: {condition!r}") from error


def evaluated(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return what a condition or a part of one comes to, or raise ValueError for anything else.

    >>> evaluated(_tree("first <= last and comb(first, 2) < 100"), {"first": 5, "last": 9})
    True
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as plain):
            return plain
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [evaluated(item, values) for item in items]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(evaluated(argument, values) for argument in args))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not evaluated(operand, values)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluated(operand, values)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(evaluated(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(evaluated(part, values) for part in parts)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in ARITHMETIC:
            return ARITHMETIC[type(sign)](_number(left, values), _number(right, values))
        case ast.Compare(left=left, ops=signs, comparators=rights):
            sides = [evaluated(part, values) for part in (left, *rights)]
            pairs = zip(sides, signs, sides[1:], strict=False)
            return all(COMPARISONS[type(sign)](a, b) for a, sign, b in pairs)
    raise ValueError(f"a condition may not hold {ast.unparse(node)!r}")


def _number(node: ast.expr, values: Mapping[str, Any]) -> Any:
    value = evaluated(node, values)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{ast.unparse(node)} must be a number, got {value!r}")
    return value
