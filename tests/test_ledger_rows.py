"""The table from documents to pages covers every row of the documents, and every page exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.book.test_contents import listed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "book" / "claims" / "documents.md"
LINE = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[str]:
    return (ROOT / "tests" / "ledger_rows.txt").read_text().split()


def table() -> dict[str, list[str]]:
    found = [match.groups() for match in LINE.finditer(PAGE.read_text())]
    links = {row: re.findall(r"\{doc\}`([^`]+)`", pages) for row, _, pages in found}
    return {row: pages for row, pages in links.items() if row not in ("Row", "---")}


def contents() -> set[str]:
    return set(listed(yaml.safe_load((ROOT / "_toc.yml").read_text())))


def target(link: str) -> str:
    return (PAGE.parent / link).resolve().relative_to(ROOT / "book").as_posix()


def test_every_row_is_in_the_table_once_and_nothing_else() -> None:
    lines = [row for row, *_ in LINE.findall(PAGE.read_text()) if row not in ("Row", "---")]
    assert sorted(lines) == sorted(rows())
    assert len(set(rows())) == len(rows())


@pytest.mark.parametrize("row", rows())
def test_pages_of_a_row_are_in_the_contents(row: str) -> None:
    pages = [target(link) for link in table()[row]]
    assert pages
    assert set(pages) <= contents()


def test_chapters_say_which_rows_they_cover() -> None:
    chapters = {"accuracy/a-abstract.md": "A-F1a", "accuracy/b-draft.md": "B-F1a"}
    chapters |= {"accuracy/c-notes.md": "C-F1", "limits/lemmas.md": "C-L1"}
    chapters |= {"limits/large-n-laws.md": "A-FW"}
    for chapter, row in chapters.items():
        text = (ROOT / "book" / chapter).read_text()
        assert row in text, chapter
        assert "claims/documents" in text, chapter
