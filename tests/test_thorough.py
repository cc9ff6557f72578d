"""What `make test` leaves to the full run: named rightly, marked, and never all of a file."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import conftest, thorough

ROOT = Path(__file__).parents[1]
LISTED = thorough.listed()


@cache
def defined(file: str) -> set[str]:
    """Return the names that a file defines, and its own."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    assigned = {name.id for name in ast.walk(tree) if isinstance(name, ast.Name)}
    return assigned.union(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def leaf(test: str) -> str:
    """Return the function of a doctest, the function or the class of a test."""
    return test.partition("::")[0].rpartition(".")[2]


def test_every_listed_name_is_that_of_a_test() -> None:
    for name in map(thorough.function, LISTED):
        file, _, test = name.partition("::")
        module = file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        assert test == module or leaf(test) in defined(file), name


def test_every_file_keeps_a_quick_test() -> None:
    whole = defaultdict(set)
    for name in LISTED:
        file, _, test = name.partition("::")
        whole[file].add(test)
    for file in [one for one in whole if one.startswith("tests/")]:
        tests = {name for name in defined(file) if name.startswith("test_")}
        assert tests - whole[file], file


def test_what_is_listed_is_marked_and_nothing_else_is() -> None:
    name = next(name for name in LISTED if "[" not in name)
    marks: dict[str, list[str]] = defaultdict(list)
    cases = [name, f"{name}[3]", f"{name}_and_more", "tests/nowhere.py::test_nothing"]
    items = [
        SimpleNamespace(nodeid=one, add_marker=lambda mark, one=one: marks[one].append(mark.name))
        for one in cases
    ]
    conftest.pytest_collection_modifyitems(cast(list[pytest.Item], items))
    assert marks == {name: ["thorough"], f"{name}[3]": ["thorough"]}


@pytest.mark.parametrize(
    ("seconds", "listed"),
    [
        ({"a::x": 0.09, "a::y": 0.11}, ["a::y"]),
        ({"a::x": 0.01, **{f"a::y[{i}]": 0.09 for i in range(6)}}, ["a::y"]),
        ({"a::x": 0.3, "b::y": 0.3, "b::z": 0.2}, ["b::y"]),
        ({"a::y[1]": 0.3, "a::y[2]": 0.2, "a::z": 0.4}, ["a::y[1]", "a::z"]),
        ({f"{thorough.SOURCES[0]}::y[{i}]": 0.09 for i in range(9)}, []),
    ],
)
def test_what_takes_long_is_listed(seconds: dict[str, float], listed: list[str]) -> None:
    assert thorough.chosen(seconds) == listed
