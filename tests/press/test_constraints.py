"""Conditions on several parameters: read, checked, and nothing else evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from dpbayes.press.constraints import Constraint, read_constraints
from dpbayes.press.parameters import chosen, listing, read_declarations

VALUES = {"a": [0.1, 0.2, 0.7], "b": [1, 2, 3], "n": 10, "m": 4, "kind": "l1", "cap": None}


@pytest.mark.parametrize(
    "condition",
    [
        "len(a) == len(b)",
        "sum(a) == 1",
        "m <= n",
        "2 < m < n <= 10",
        "b == sorted(b)",
        "len(set(b)) == len(b)",
        "kind in ['l1', 'hamming']",
        "cap is None or cap >= n",
        "not n == m",
        "n % 2 == 0 and n // 2 == 5 and n / 4 == 2.5",
        "comb(n + 2, 2) <= 66",
        "max(b) - min(b) == 2",
        "-m < 0",
        "abs(n - m) != 5",
    ],
)
def test_what_holds_passes(condition: str) -> None:
    Constraint(condition).check(VALUES)


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("len(a) < len(b)", "must hold, got a = "),
        ("n < m", r"n < m \(upwards\) must hold, got m = 4, n = 10"),
        ("n == m == 4", "must hold"),
        ("comb(10000000000, 5000) < 5", "must hold"),
        ("n < kind", "cannot be checked"),
        ("n / (m - 4) == 1", "cannot be checked"),
    ],
)
def test_what_does_not_hold_is_refused(condition: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Constraint(condition, "upwards").check(VALUES)


@pytest.mark.parametrize(
    "condition",
    [
        "__import__('os').system('true')", "open('x')", "(lambda: 1)()", "n.real == 10",
        "b[0] == 1", "[x for x in b]", "n ** n == 1", "kind * 1000000 == n",
        "unknown == 1", "f'{n}' == '10'", "len(*b)", "sum(a, start=1) == 2",
    ],
)  # fmt: skip
def test_nothing_else_is_evaluated(condition: str) -> None:
    with pytest.raises(ValueError, match=r"may not hold|must be a number"):
        Constraint(condition).check(VALUES)


CELL = """# what a reader may choose
first: int = 1  # first n, at least 1
last: int = 5  # last n, at least 1
kind: str = "l1"  # how data sets are measured, one of l1, hamming
many: list[str] = ["a"]  # names, one of a, b or c; in any order
# together: first <= last  # the axis runs upwards
"""


def test_conditions_stand_beside_the_parameters() -> None:
    parameters = read_declarations(CELL)
    assert read_constraints(CELL) == (Constraint("first <= last", "the axis runs upwards"),)
    assert parameters["many"].choices == ("a", "b", "c")
    assert chosen("x", parameters, {"first": 5})["first"] == 5
    assert listing(parameters)[-1] == "# together: first <= last (the axis runs upwards)"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"first": 6}, r"x: first <= last \(the axis runs upwards\) must hold, got first = 6"),
        ({"kind": "l2"}, "x: kind must be one of l1, hamming, got 'l2'"),
        ({"many": ["a", "d"]}, "x: many must be one of a, b, c, got 'd'"),
    ],
)
def test_values_that_do_not_fit_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        chosen("x", read_declarations(CELL), given)


def test_defaults_keep_to_the_conditions() -> None:
    with pytest.raises(ValueError, match="must hold, got first = 7"):
        read_declarations(CELL.replace("= 1  #", "= 7  #"))
    with pytest.raises(ValueError, match="a condition cannot be read"):
        read_declarations(CELL.replace("first <= last", "first <="))
