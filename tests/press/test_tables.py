"""The table directive without Sphinx: what it reads, how it is set, what it says when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from dpbayes.press.tables import TableDirective, grid, listed

SOURCE = """
.. result-table:: part/name::means
   :name: tab-means
   :columns: name, mean
   :header: mechanism, "mean, exact"
   :format: s, .3f

   Means of *two* mechanisms.
"""


class FromFolder(TableDirective):
    """A table below the folder of a test."""

    folder: Path

    def file(self, name: str, stem: str) -> Any:
        path = self.folder / name / f"{stem}.csv"
        if not path.exists():
            raise ValueError(f"{path.name} is not recorded")
        return path


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "part/name").mkdir(parents=True)
    (tmp_path / "part/name/means.csv").write_text("name,n,mean\na,10,0.12345\nb,10,0.5\n")
    monkeypatch.setattr(FromFolder, "folder", tmp_path, raising=False)
    monkeypatch.setitem(directives._directives, "result-table", FromFolder)  # type: ignore[attr-defined]
    quiet = {"report_level": 5, "warning_stream": None}
    return lambda text: publish_doctree(text, settings_overrides=quiet)


def test_a_table_has_its_columns_its_caption_and_its_name(tree: Any) -> None:
    table = next(tree(SOURCE).findall(nodes.table))
    rows = [[e.astext() for e in row.findall(nodes.entry)] for row in table.findall(nodes.row)]
    assert rows == [["mechanism", "mean, exact"], ["a", "0.123"], ["b", "0.500"]]
    assert table.next_node(nodes.title).astext() == "Means of two mechanisms."
    assert next(table.findall(nodes.emphasis)).astext() == "two"
    assert table["names"] == ["tab-means"]
    assert "result-table" in table["classes"]


def test_numbers_and_the_heads_above_them_are_set_to_the_right() -> None:
    group = grid(["word", "number", "mixed"], [["a", "1.5", "2"], ["b", "−0.25", "none"]])
    right = [
        ["number" in entry["classes"] for entry in row.findall(nodes.entry)]
        for row in group.findall(nodes.row)
    ]
    assert right == [[False, True, False], [False, True, True], [False, True, False]]


def test_no_rows_make_no_column_of_numbers() -> None:
    entries = list(grid(["a", "b"], []).findall(nodes.entry))
    assert [entry["classes"] for entry in entries] == [[], []]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("::means", ""), "write notebook::table, got 'part/name'"),
        (("::means", "::medians"), "medians.csv"),
        (("name, mean", "name, median"), "median"),
        (('"mean, exact"', "mean, exact"), "header"),
    ],
)
def test_a_table_that_cannot_be_shown_says_why(
    tree: Any, change: tuple[str, str], words: str
) -> None:
    document = tree(SOURCE.replace(*change))
    assert not list(document.findall(nodes.table))
    problem = next(document.findall(nodes.system_message)).astext()
    assert "result-table: " in problem
    assert words in problem


def test_a_comma_in_quotes_does_not_part() -> None:
    assert listed('a, "b, c", d') == ["a", "b, c", "d"]
