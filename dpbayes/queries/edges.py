"""The edges of bins: as text, and as an SQL expression that finds a value's bin in few steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

_EXACT = 2.0**52


def digits(number: float) -> str:
    """Return a number in six digits where they are all, else in as many as tell it from others.

    >>> digits(0.5), digits(1e6), digits(1234567)
    ('0.5', '1e+06', '1234567.0')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def bin_expression(column: str, edges: tuple[float, ...]) -> tuple[str, list[Any]]:
    """Return an expression for the i with edges[i] <= value < edges[i + 1], and its parameters.

    -1 for values in no bin, NULL and NaN among them. `edges` (m,) increase, m at least 2.

    >>> bin_expression("age", (18.0, 40.0, 62.0))[1]
    [18.0, 62.0, 18, 22]
    """
    step = _whole_step(edges)
    values: list[Any]
    if step:
        # A value and its floor lie in the same bin, and whole numbers are divided exactly.
        inside = f"(floor({column}::DOUBLE)::BIGINT - ?::BIGINT) // ?::BIGINT"
        values = [int(edges[0]), step]
    else:
        inside, values = _halved(column, edges, 0)
    within = f"{column} >= ?::DOUBLE AND {column} < ?::DOUBLE"
    return f"CASE WHEN {within} THEN {inside} ELSE -1 END", [edges[0], edges[-1], *values]


def _whole_step(edges: tuple[float, ...]) -> int:
    # The distance of whole edges, or 0 where they are not whole, not at equal distances or large.
    step = edges[1] - edges[0]
    whole = all(abs(edge) < _EXACT and edge == int(edge) for edge in edges)
    return int(step) if whole and all(b - a == step for a, b in pairwise(edges)) else 0


def _halved(column: str, edges: tuple[float, ...], first: int) -> tuple[str, list[Any]]:
    # A hundred bins are told apart by seven comparisons, not by one after the other.
    bins = len(edges) - 1
    if bins == 1:
        return str(first), []
    middle = bins // 2
    below, lower = _halved(column, edges[: middle + 1], first)
    above, upper = _halved(column, edges[middle:], first + middle)
    condition = f"{column} < ?::DOUBLE"
    return f"CASE WHEN {condition} THEN {below} ELSE {above} END", [edges[middle], *lower, *upper]
