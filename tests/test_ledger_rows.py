"""The pages of the five documents hold every row of the documents, and every claim of
the board.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.book.test_pages import listed

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
PAGES = [BOOK / "reference" / f"document-{letter}.md" for letter in "abcde"]
LINE = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
LINK = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")


def rows() -> list[tuple[str, Path, str]]:
    """Return row, page and its cell of links, for every row of the five pages."""
    found = [
        (m[1], page, m[3]) for page in PAGES for m in LINE.finditer(page.read_text())
    ]
    return [one for one in found if one[0] not in ("Row", "---")]


def test_every_row_is_on_one_page_and_nothing_else() -> None:
    expected = (ROOT / "tests" / "ledger_rows.txt").read_text().split()
    assert sorted(row for row, *_ in rows()) == sorted(expected)
    assert len(set(expected)) == len(expected)


def test_rows_lead_to_pages_of_the_contents_or_to_proofs() -> None:
    contents = set(listed(yaml.safe_load((ROOT / "_toc.yml").read_text())))
    for row, page, cell in rows():
        links = [
            (page.parent / link).resolve().relative_to(BOOK).as_posix()
            for link in LINK.findall(cell)
        ]
        assert links or "{prf:ref}" in cell, row
        assert set(links) <= contents, row


def test_the_claims_of_each_document_are_on_its_page() -> None:
    claims = yaml.safe_load((BOOK / "claims" / "claims.yml").read_text())
    letters = {claim["id"][0] for claim in claims}
    assert letters == set("ABCDE")
    for page in PAGES:
        letter = page.stem[-1].upper()
        assert f"```{{document-claims}} {letter}\n" in page.read_text()
    board = (BOOK / "claims" / "claims.md").read_text()
    assert all(f"```{{claims}} {letter}\n" in board for letter in letters)
