"""Every notebook as it is committed: parameters, prose and calls, no outputs."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpbayes.press.constraints import only_conditions
from dpbayes.press.overrides import read_overrides
from dpbayes.press.parameters import chosen, declared, load, source_of
from dpbayes.press.places import all_notebooks

ROOT = Path(__file__).parents[2]
NOTEBOOKS = all_notebooks(ROOT / "notebooks")
SMALL = Path(__file__).with_name("small_parameters.yml")
EVERY = pytest.mark.parametrize("name", NOTEBOOKS)


def cells(name: str, kind: str = "code") -> list[dict[str, Any]]:
    return [cell for cell in load(NOTEBOOKS[name])["cells"] if cell["cell_type"] == kind]


@EVERY
def test_only_the_source_is_committed(name: str) -> None:
    notebook = load(NOTEBOOKS[name])
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(identifiers) == len(set(identifiers))
    for cell in cells(name):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@EVERY
def test_the_first_code_cell_declares_the_parameters(name: str) -> None:
    first, *others = cells(name)
    assert {"parameters", "remove-cell"} <= set(first["metadata"]["tags"])
    conditions = [i for i, one in enumerate(others) if only_conditions(source_of(one))]
    assert conditions == list(range(len(conditions))), "conditions stand next to the parameters"
    assert all(others[i]["metadata"]["tags"] == ["remove-cell"] for i in conditions)
    parameters = declared(load(NOTEBOOKS[name]))
    assert parameters
    assert [one.name for one in parameters.values() if not one.meaning] == []
    for line in source_of(first).splitlines():
        assert line.count("=") == 1 or line.startswith("# together: "), (
            f"papermill reads one equals sign a line: {line}"
        )


@EVERY
def test_code_is_short_and_defines_nothing(name: str) -> None:
    for cell in cells(name):
        source = source_of(cell)
        assert len(source.splitlines()) <= 8, source
        for node in ast.walk(ast.parse(source)):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda), source


SHOWN = ("record", "print", "report", "append")  # calls that show nothing, or words


@EVERY
def test_no_cell_shows_a_bare_value(name: str) -> None:
    for cell in cells(name):
        *_, last = ast.parse(source_of(cell)).body or [None]
        if isinstance(last, ast.Expr):
            called = last.value.func if isinstance(last.value, ast.Call) else None
            words = set(ast.unparse(called).split(".")) if called is not None else set()
            assert words & set(SHOWN), f"a reader sees Python's own form of {ast.unparse(last)}"


@EVERY
def test_every_section_has_something_to_read(name: str) -> None:
    headings: list[str] = []  # since the last thing that a reader sees
    for cell in load(NOTEBOOKS[name])["cells"]:
        source, hidden = source_of(cell), "remove-output" in cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            first, _, rest = source.strip().partition("\n")
            if first.startswith("#"):
                assert not headings, f"nothing stands below {headings}"
                headings = [] if rest.strip() else [first]
            else:
                headings = []
        else:
            often = r"record\.(figure|finding)\("
            shown = often if hidden else rf"{often}|record\.table\(|print\(|\.report\("
            headings = [] if re.search(shown, source) else headings
    assert not headings, f"nothing stands below {headings}"


@EVERY
def test_a_notebook_begins_with_its_title_and_says_what_it_does_not_show(name: str) -> None:
    texts = [source_of(cell) for cell in cells(name, "markdown")]
    assert load(NOTEBOOKS[name])["cells"][0]["cell_type"] == "markdown"
    assert texts[0].startswith("# ")
    assert any(re.search(r"(?m)^#+ .*\bnot\b", text) for text in texts[1:])


@EVERY
def test_results_are_recorded_under_the_notebooks_own_name(name: str) -> None:
    sources = "\n".join(source_of(cell) for cell in cells(name))
    typed = f'record("{name}"' in sources.replace("(\n    ", "(")
    assert typed or "open_record()" in sources


@EVERY
def test_every_figure_has_a_label_and_a_caption(name: str) -> None:
    for cell in cells(name):
        for call in calls_of(cell, "figure"):
            figure = cell["metadata"].get("mystnb", {}).get("figure", {})
            computed = len(call.args) > 3 or any(one.arg == "caption" for one in call.keywords)
            assert computed or figure["caption"].strip().endswith(".")
            assert computed or figure["name"].startswith("fig-")


def calls_of(cell: dict[str, Any], method: str) -> list[ast.Call]:
    """Return the calls of a method of the record in a cell."""
    return [
        node
        for node in ast.walk(ast.parse(source_of(cell)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and ast.unparse(node.func.value) == "record"
    ]


def labels(name: str) -> list[str]:
    """Return the labels of a notebook's figures, as the record gives them."""
    found: list[str] = []
    for cell in cells(name):
        named = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        for call in calls_of(cell, "figure"):
            usual = "fig-" + name.rsplit("/", 1)[-1]
            found.append(
                named or (f"{usual}-{ast.unparse(call.args[0])[1:-1]}" if found else usual)
            )
    return found


@EVERY
def test_a_finding_by_theorem_names_a_theorem_of_the_book(name: str) -> None:
    sources = "\n".join(source_of(cell) for cell in cells(name))
    cited = set(re.findall(r'\bby_theorem="([^"]*)"', sources))
    assert sources.count("by_theorem=") == len(re.findall(r'\bby_theorem="', sources))
    assert cited <= book_labels()


@cache
def book_labels() -> frozenset[str]:
    pages = (ROOT / "book").rglob("*.md")
    found = (re.findall(r"(?m)^:label: (\S+)$", page.read_text("utf-8")) for page in pages)
    return frozenset(label for labels in found for label in labels)


def test_figure_labels_are_unique() -> None:
    names = [label for name in NOTEBOOKS for label in labels(name)]
    assert sorted(names) == sorted(set(names))


@cache
def small_parameters() -> dict[str, dict[str, Any]]:
    return read_overrides(SMALL)  # which refuses a notebook that stands twice


def test_every_notebook_has_small_parameters() -> None:
    assert small_parameters().keys() == NOTEBOOKS.keys()


@EVERY
def test_small_parameters_are_allowed(name: str) -> None:
    values = chosen(name, declared(load(NOTEBOOKS[name])), small_parameters()[name])
    assert json.loads(json.dumps(values)) == values


def test_no_notebook_has_a_cell_named_as_those_that_a_page_adds() -> None:
    for name, path in NOTEBOOKS.items():
        names = {cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}
        added = {"differences", "parameters-box", "downloads"} & names
        assert not added, name
        assert not any(one.startswith("said-") for one in names), name
