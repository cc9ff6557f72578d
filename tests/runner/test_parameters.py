"""Parameters: declared in a cell, refused by name and with what is allowed before anything runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpbayes.runner.parameters import chosen, declared, from_words
from tests.tiny_notebooks import code, notebook

CELL = """n: int = 100  # records, at least 1, at most 1e9
epsilon: float = 1  # privacy parameter, > 0
delta: float = 0.05  # probability, in (0, 1)
sizes: list[float] = [10, 100]  # records, in [1, 1000]
distance: str = "l1"  # one of l1, hamming; of the scores
cap: int | None = None  # largest count, at least 1
budget: str = "0.5"  # decimal text, > 0
words: list[str] = ["a"]  # labels
quick: bool = False  # leave out what takes long"""
ASSERTS = """import numpy as np
assert n >= len(sizes), "a record for every size"
assert all(s <= n for s in sizes), f"no size above n = {n}"
assert np.isfinite(epsilon)"""
NOTEBOOK = notebook(code(CELL, "parameters"), code(ASSERTS))


def given(**values: Any) -> dict[str, Any]:
    return chosen("part/x", NOTEBOOK, values)


def test_types_and_defaults_are_those_of_the_cell() -> None:
    found = declared(NOTEBOOK)
    assert [one.type for one in found.values()][:4] == ["int", "float", "float", "list[float]"]
    assert given()["epsilon"] == 1.0
    assert isinstance(given()["epsilon"], float)
    assert str(found["n"]) == "n: int = 100  # records, at least 1, at most 1e9"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "1e9", 10**9), ("n", "250", 250), ("n", "2.5e2", 250), ("epsilon", "2", 2.0),
        ("sizes", "20", [20.0]), ("sizes", "[20, 30]", [20.0, 30.0]), ("sizes", "20,30", [20, 30]),
        ("distance", "hamming", "hamming"), ("cap", "none", None), ("cap", "5", 5),
        ("budget", "0.25", "0.25"), ("words", "a, b c", ["a", "b c"]), ("words", "['x']", ["x"]),
        ("quick", "true", True), ("quick", "False", False),
    ],
)  # fmt: skip
def test_texts_of_the_command_line_are_read(name: str, text: str, value: object) -> None:
    found = given(**{name: text})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("n", "2.5", "n must be int, got 2.5 (float)"),
        ("n", "1e10", "n must be >= 1 and <= 1e+09, got 10000000000"),
        ("n", "1e400", "n must be finite, got inf"),
        ("n", "0", "n must be >= 1"),
        ("n", "1_000", "which cannot be read"),
        ("n", "0x10", "which cannot be read"),
        ("n", "true", "n must be int, got True (bool)"),
        ("n", "9" * 5000, "n must be"),
        ("epsilon", "inf", "epsilon must be finite, got inf"),
        ("epsilon", "nan", "epsilon must be finite"),
        ("epsilon", "-.inf", "epsilon must be finite, got -inf"),
        ("epsilon", "one", "which cannot be read"),
        ("delta", "1", "delta must be > 0 and < 1, got 1.0"),
        ("sizes", "[.inf, 1]", "sizes[0] must be finite, got inf"),
        ("sizes", "[1, 2000]", "sizes[1] must be >= 1 and <= 1000, got 2000.0"),
        ("sizes", "[1, 'a']", "sizes[1] must be float, got 'a' (str)"),
        ("sizes", "[1, [2]]", "sizes[1] must be float, got [2] (list)"),
        ("sizes", "[]", "sizes must hold at least one value"),
        ("distance", "l2", "distance must be one of l1, hamming, got 'l2'"),
        ("cap", "0", "cap must be >= 1, got 0"),
        ("budget", ".5", "budget must be decimal text and > 0, got '.5'"),
        ("budget", "0", "budget must be > 0, got '0'"),
        ("words", "['a', 3]", "words[1] must be str, got 3 (int)"),
        ("quick", "2", "quick must be bool, got 2 (int)"),
        ("n", "1", "a record for every size, got n = 1, sizes = [10.0, 100.0]"),
        ("n", "50", "no size above n = 50"),
    ],
)
def test_what_is_not_allowed_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(said)) as refused:
        given(**{name: text})
    assert str(refused.value).startswith("part/x: ")
    assert "its parameters and their defaults are" in str(refused.value)


def test_values_of_a_file_may_be_texts_or_values() -> None:
    assert given(n="1e3", sizes=[5])["n"] == 1000
    with pytest.raises(TypeError, match=r"sizes\[1\] must be float, got None"):
        given(sizes=[5, None])


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="no parameter 'epsilom', did you mean epsilon"):
        given(epsilom=1)
    with pytest.raises(ValueError, match="it has no parameters"):
        chosen("part/y", notebook(code("x = 1")), {"n": 1})


def test_words_are_name_and_value_once() -> None:
    assert from_words(["n=1", "label=a=b"]) == {"n": "1", "label": "a=b"}
    with pytest.raises(ValueError, match="given as name=value, got 'n'"):
        from_words(["n"])
    with pytest.raises(ValueError, match="n is given more than once"):
        from_words(["n=1", "n=2"])


@pytest.mark.parametrize("line", ["n = 3", "print(3)", "n: int = len('a')", "a.b: int = 3"])
def test_a_declaration_is_one_annotated_line(line: str) -> None:
    with pytest.raises(ValueError, match=r"declared as|malformed"):
        declared(notebook(code(line, "parameters")))


def test_a_default_must_be_allowed_itself() -> None:
    with pytest.raises(ValueError, match="n must be >= 1, got 0"):
        declared(notebook(code("n: int = 0  # records, at least 1", "parameters")))
