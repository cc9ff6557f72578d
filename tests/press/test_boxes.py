"""The boxes of a page: a command that changes something, code that stays code, the book beside."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st
from myst_parser.docutils_ import Parser

from dpbayes.press.boxes import (
    BookRun,
    book_run,
    code_span,
    differences_box,
    example,
    parameters_box,
    run_of,
)
from dpbayes.press.parameters import chosen_from_text, read_declarations

DECLARED = read_declarations(
    "kind: str = 'l1'  # distance, one of l1, hamming\nn: int = 6  # even, at least 1, at most 6\n"
    "# together: n % 2 == 0"
)


@pytest.mark.parametrize(
    ("values", "changed"),
    [({"kind": "l1", "n": 6}, "kind=hamming"), ({"n": 6}, None), ({"n": 2}, "n=4")],
)
def test_the_command_changes_a_value_and_names_a_folder(
    values: dict[str, Any], changed: str | None
) -> None:
    parameters = read_declarations(
        "\n".join(str(DECLARED[key]) for key in values)
        + ("\n# together: n % 2 == 0" if "n" in values else "")
    )
    words = shlex.split(example("part/name", values, parameters))
    assert words[:3] == ["dpbayes", "run", "part/name"]
    assert words[-2:] == ["--output", "rerun"]
    assert (words[4] if "-p" in words else None) == changed
    if changed:
        assert chosen_from_text("part/name", parameters, [changed]) != values


def test_the_box_says_where_the_page_comes_out() -> None:
    box = parameters_box("part/name", {"kind": "l1", "n": 6}, DECLARED)
    assert "dpbayes run part/name -p kind=hamming --output rerun" in box
    assert "`rerun/part/name.html`" in box


@settings(deadline=None)
@given(st.text(alphabet="`ab|*_${ <[\\\\", max_size=12))
def test_no_text_breaks_out_of_its_code_span(text: str) -> None:
    shown = json.dumps(text)
    table = f"| a | b |\n| :-- | :-- |\n| x | {code_span(shown)} |\n"
    tree = publish_doctree(table, parser=Parser(), settings_overrides={"report_level": 5})
    (row,) = tree.findall(nodes.tbody)
    (code,) = row.findall(nodes.literal)
    assert code.astext() == shown
    assert row.astext().split("\n\n")[-1] == shown


BOOK = BookRun({"n": 3, "m": 1}, {"double": 6, "half": 0.5}, {"even": "Odd.", "big": "No."})


def test_a_rerun_says_how_it_differs() -> None:
    here = BookRun({"n": 4, "m": 1}, {"double": 8, "half": 0.5}, {"even": "Even.", "big": "No."})
    box = differences_box(BOOK, here)
    assert "| `n` | `3` | `4` |" in box
    assert "| double | 6 | 8 |" in box
    assert "- Finding *even*. Book: Odd. Here: Even." in box
    for same in ("`m`", "half", "big"):
        assert same not in box


def test_a_rerun_that_agrees_says_nothing() -> None:
    assert differences_box(BOOK, BOOK) == ""


def test_without_the_books_numbers_its_parameters_are_compared(tmp_path: Path) -> None:
    book = book_run(tmp_path / "nowhere", {"n": 3, "m": 1})
    box = differences_box(book, BookRun({"n": 4, "m": 1}, {"double": 8}, {}))
    assert "| `n` | `3` | `4` |" in box
    assert "The book's numbers are not at hand here." in box
    assert "double" not in box


def test_the_books_own_run_is_read_from_its_results(tmp_path: Path) -> None:
    for name, content in {
        "provenance": {"parameters": {"n": 5}},
        "numbers": {"double": 10},
        "findings": {"even": {"sentence": "Odd."}},
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    run = BookRun({"n": 5, "m": 1}, {"double": 10}, {"even": "Odd."})
    assert book_run(tmp_path, {"n": 3, "m": 1}) == run
    assert run_of(tmp_path, {"n": 5, "m": 1}) == run
