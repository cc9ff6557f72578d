"""Parameters of notebooks: read as declared, and refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbayes.press.parameters import (
    Parameter,
    check,
    chosen,
    chosen_from_text,
    declared,
    load,
    parse,
    read_declarations,
)
from tests.tiny_notebooks import code, notebook

CELL = """
n: int = 100  # records, at least 1
epsilon: float = 1  # privacy budget, > 0
delta: float = 0.05  # probability, in (0, 1)
sizes: list[int] = [10, 100]  # records on the axis, at least 1
label: str = "a # b"  # a word
fast: bool = True
cap: int | None = None  # largest count
"""


@pytest.fixture
def parameters() -> dict[str, Parameter]:
    return read_declarations(CELL)


def test_declarations_are_read_with_type_default_meaning(parameters: dict[str, Parameter]) -> None:
    assert list(parameters) == ["n", "epsilon", "delta", "sizes", "label", "fast", "cap"]
    assert parameters["n"].type == "int"
    assert parameters["n"].meaning == "records, at least 1"
    assert parameters["epsilon"].default == 1.0
    assert isinstance(parameters["epsilon"].default, float)
    assert parameters["label"].default == "a # b"
    assert str(parameters["sizes"]) == (
        "sizes: list[int] = [10, 100]  # records on the axis, at least 1"
    )


def test_the_cell_is_found_by_its_tag() -> None:
    made = notebook(code("x = 1"), code("n: int = 2", "parameters"))
    assert declared(made)["n"].default == 2
    assert declared(notebook(code("n: int = 2"))) == {}


def test_conditions_may_have_a_cell_of_their_own() -> None:
    cells = [code("a: int = 1\nb: int = 2", "parameters"), code("# together: a < b  # rising")]
    parameters = declared(notebook(*cells, code("c = 3  # together: a == b")))
    assert [one.condition for one in parameters.together] == ["a < b"]
    with pytest.raises(ValueError, match=r"a < b \(rising\) must hold, got a = 3, b = 2"):
        chosen("part/name", parameters, {"a": 3})


@pytest.mark.parametrize("text", ["badges", "", "0", "-1", "1e3", "nan", "9" * 60, "٣"])
def test_a_number_written_as_text_is_read_before_anything_runs(text: str) -> None:
    source = 'epsilon: str = "0.5"  # privacy parameter, decimal text > 0'
    parameters = declared(notebook(code(source, "parameters")))
    assert chosen("part/name", parameters, {"epsilon": "12.25"}) == {"epsilon": "12.25"}
    with pytest.raises(ValueError, match="epsilon must be decimal text and > 0, got"):
        chosen("part/name", parameters, {"epsilon": text})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "60", 60),
        ("epsilon", "2", 2.0),
        ("epsilon", "1e-3", 0.001),
        ("sizes", "10,20", [10, 20]),
        ("sizes", "[10, 20]", [10, 20]),
        ("sizes", "10", [10]),
        ("label", "60", "60"),
        ("fast", "false", False),
        ("cap", "none", None),
        ("cap", "3", 3),
    ],
)
def test_text_is_read_in_the_type(
    parameters: dict[str, Parameter], name: str, text: str, value: object
) -> None:
    assert parse(parameters[name], text) == value
    assert type(parse(parameters[name], text)) is type(value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("n", 1.5, "n must be int, got 1.5 (float)"),
        ("n", True, "n must be int, got True (bool)"),
        ("n", "60", "n must be int, got '60' (str)"),
        ("epsilon", float("nan"), "epsilon must be float"),
        ("epsilon", float("inf"), "epsilon must be float"),
        ("sizes", [1, 2.5], "sizes must be list[int]"),
        ("sizes", 3, "sizes must be list[int]"),
        ("label", 3, "label must be str"),
        ("fast", 1, "fast must be bool"),
        ("n", None, "n must be int"),
    ],
)
def test_a_wrong_type_is_refused(
    parameters: dict[str, Parameter], name: str, value: object, problem: str
) -> None:
    with pytest.raises(TypeError) as refusal:
        check(parameters[name], value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("n", 0, "n must be >= 1, got 0"),
        ("epsilon", 0.0, "epsilon must be > 0, got 0.0"),
        ("delta", 1, "delta must be > 0 and < 1, got 1.0"),
        ("sizes", [10, 0], "sizes must be >= 1, got 0"),
    ],
)
def test_a_value_out_of_range_is_refused(
    parameters: dict[str, Parameter], name: str, value: object, problem: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        check(parameters[name], value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("m=3", "no parameter 'm'"),
        ("n", "name=value"),
        ("n=", "cannot be read"),
        ("n=1+", "cannot be read"),
        ("n=__import__('os')", "cannot be read"),
        ("n=1_0", "cannot be read"),
        ("sizes=[0x1f]", "cannot be read"),
        ("n=0", "n must be >= 1"),
        ("fast=maybe", "cannot be read"),
    ],
)
def test_a_refusal_lists_what_is_allowed(
    parameters: dict[str, Parameter], assignment: str, problem: str
) -> None:
    with pytest.raises((ValueError, TypeError)) as refusal:
        chosen_from_text("part/name", parameters, [assignment])
    assert problem in str(refusal.value)
    if "=" in assignment:
        assert "delta: float = 0.05  # probability, in (0, 1)" in str(refusal.value)


def test_a_parameter_given_twice_is_refused(parameters: dict[str, Parameter]) -> None:
    with pytest.raises(ValueError, match=r"part/name: n is given more than once$"):
        chosen_from_text("part/name", parameters, ["n=3", "n=4"])


def test_every_parameter_gets_a_value(parameters: dict[str, Parameter]) -> None:
    values = chosen("part/name", parameters, {"n": 7})
    assert values == {
        "n": 7,
        "epsilon": 1.0,
        "delta": 0.05,
        "sizes": [10, 100],
        "label": "a # b",
        "fast": True,
        "cap": None,
    }


@pytest.mark.parametrize(
    "line", ["n = 3", "n: int", "import os", "n: int = len('a')", "n: int = 0.5"]
)
def test_a_line_that_declares_nothing_is_refused(line: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        read_declarations(line)


def test_a_default_outside_its_own_range_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be >= 1, got 0"):
        read_declarations("n: int = 0  # records, at least 1")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "3"])
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"x\.ipynb is not a notebook"):
        load(path)
    with pytest.raises(ValueError, match="no notebook at"):
        load(tmp_path / "y.ipynb")


@given(st.lists(st.integers(1, 10**6), min_size=1))
def test_a_list_survives_the_command_line(sizes: list[int]) -> None:
    parameter = read_declarations(CELL)["sizes"]
    assert parse(parameter, json.dumps(sizes)) == sizes
    assert parse(parameter, ",".join(map(str, sizes))) == sizes


@pytest.mark.parametrize(
    "text", ["badges,bike-days", "badges, bike-days", '["badges", "bike-days"]']
)
def test_a_list_of_words_is_written_as_one_of_numbers_is(text: str) -> None:
    words = Parameter("sets", "list[str]", ["bike-days"], "names", choices=("badges", "bike-days"))
    assert parse(words, text) == ["badges", "bike-days"]
    assert parse(words, "badges") == ["badges"]
    with pytest.raises(ValueError, match="sets must be one of badges, bike-days, got ''"):
        parse(words, "badges,")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_survives_the_command_line(value: float) -> None:
    parameter: Any = read_declarations("x: float = 1.0")["x"]
    assert parse(parameter, repr(value)) == value
