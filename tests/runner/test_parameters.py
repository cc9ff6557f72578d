"""Notebooks: found by name, their parameters refused with what is allowed before
anything runs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dpbayes.notebooks.parameters import chosen, declared, find, from_words, load
from tests.tiny_notebooks import code, notebook, write_tiny

CELL = """n: int = 100  # records, at least 1, at most 1e9
epsilon: float = 1  # privacy parameter, > 0
delta: float = 0.05  # probability, in (0, 1)
sizes: list[float] = [10, 100]  # records, in [1, 1000]
distance: str = "l1"  # one of l1, hamming; of the scores
words: list[str] = ["a"]  # labels
quick: bool = False  # leave out what takes long"""
ASSERTS = """import numpy as np
assert np.isfinite(epsilon)
assert n >= len(sizes), "a record for every size"
assert all(s <= n for s in sizes), f"no size above n = {n}\""""
NOTEBOOK = notebook(code(CELL, "parameters"), code(ASSERTS))


def given(**values: Any) -> dict[str, Any]:
    return chosen("part/x", NOTEBOOK, values)


@pytest.fixture
def several(checkout: Path) -> Path:
    """Return a checkout with three more notebooks."""
    for name in ("documents/D-table1", "documents/D-fig5", "other/tiny"):
        write_tiny(checkout / "notebooks", name)
    return checkout


def test_a_notebook_has_several_names(several: Path) -> None:
    for meant in ("D-table1", "d-TABLE1", "notebooks/documents/D-table1.ipynb"):
        name, path = find(meant, several)
        assert (name, path.name) == ("documents/D-table1", "D-table1.ipynb")
    assert find("D-table1.ipynb", several / "notebooks" / "documents")[0] == name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("D-tabel1", "did you mean documents/D-table1"),
        ("documents/D-fig6", "did you mean documents/D-fig5"),
        ("tiny", "did you mean other/tiny or part/tiny"),
        ("nothing-like-it", "try `dpbayes list`"),
    ],
)
def test_what_is_not_found_is_refused_with_a_hint(
    several: Path, given: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        find(given, several)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"cells": 3}', '{"cells": [{"source": 1}]}']
)
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, content: str) -> None:
    bad = tmp_path / "bad.ipynb"
    bad.write_text(content)
    with pytest.raises(ValueError, match=r"bad\.ipynb is not a notebook"):
        load(bad)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "1e9", 10**9), ("n", "250", 250), ("n", "0250", 250),
        ("epsilon", "2", 2.0),
        ("epsilon", "00.5", 0.5), ("sizes", "20", [20.0]),
        ("sizes", "020,30", [20, 30]), ("sizes", ["020", "30"], [20, 30]),
        ("sizes", "[20, 30]", [20.0, 30.0]), ("quick", "true", True),
        ("distance", "hamming", "hamming"), ("words", "a, b c", ["a", "b c"]),
        ("words", "['x']", ["x"]),
    ],
)  # fmt: skip
def test_texts_of_the_command_line_are_read(
    name: str, text: str, value: object
) -> None:
    found = given(**{name: text})[name]
    assert found == value
    assert type(found) is type(value)
    assert isinstance(given()["epsilon"], float)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n", "2.5", "n must be int, got 2.5 (float)"),
        ("n", "1e10", "n must be at least 1 and at most 1e9, got 10000000000"),
        ("n", "1e400", "n must be finite, got inf"),
        ("n", "true", "n must be int, got 'true', which cannot be read"),
        ("n", True, "n must be int, got True (bool)"),
        ("n", "9" * 5000, "n must be"),
        ("epsilon", "0", "epsilon must be > 0, got 0.0"),
        ("epsilon", "nan", "which cannot be read"),
        ("delta", "1", "delta must be in (0, 1), got 1.0"),
        ("sizes", [1, 2000], "sizes[1] must be in [1, 1000], got 2000.0"),
        ("sizes", [1, "a"], "sizes[1] must be float, got 'a' (str)"),
        ("sizes", "[1, [2]]", "sizes[1] must be float, got [2] (list)"),
        ("sizes", "[]", "sizes must hold at least one value"),
        ("distance", "l2", "distance must be one of l1, hamming, got 'l2'"),
        ("distance", "l1\n", "distance must be str"),
        ("words", "['a', 3]", "words[1] must be str, got 3 (int)"),
        ("quick", "2", "quick must be bool, got 2 (int)"),
        ("n", "1", "a record for every size; its"),
        ("n", "50", "no size above n = 50"),
        ("epsilom", 1, "no parameter 'epsilom', did you mean epsilon"),
    ],
)
def test_what_is_not_allowed_is_refused(name: str, value: object, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(said)) as refused:
        given(**{name: value})
    assert str(refused.value).startswith("part/x: ")
    assert "\n  n: int = 100  # records, at least 1, at most 1e9\n" in str(
        refused.value
    )


def test_words_are_name_and_value_once() -> None:
    assert from_words(["n=1", "label=a=b"]) == {"n": "1", "label": "a=b"}
    for words in (["n"], ["n=1", "n=2"]):
        with pytest.raises(ValueError, match="n must be given once, as name=value"):
            from_words(words)


@pytest.mark.parametrize(
    ("line", "said"),
    [("n = 3", "declared as"), ("a.b: int = 3", "declared as"),
     ("n: int = len('a')", "malformed"),
     ("n: int = 0  # records, at least 1", "n must be at least 1, got 0")],
)  # fmt: skip
def test_a_declaration_is_one_annotated_line_with_an_allowed_default(
    line: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        declared(notebook(code(line, "parameters")))


def test_assertions_in_a_loop_are_tried_before_anything_runs() -> None:
    cell = "n: int = 2  # records, at least 1\nsizes: list[int] = [3]  # at least 1"
    loops = """few = [n]
for one in (sizes, [n]):
    assert max(one) > 1, "too few"
for one in few:
    assert one > 9, "only the run knows few\""""
    own = notebook(code(cell, "parameters"), code(loops))
    assert chosen("part/x", own, {})["n"] == 2
    with pytest.raises(ValueError, match="too few"):
        chosen("part/x", own, {"sizes": [1]})
