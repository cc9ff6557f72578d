"""From the landing page a reader gets to what they look for in at most two clicks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.book.test_contents import BOOK, pages

LINK = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
WALKS = {
    "Table 1": "results/tables/laplace-steps",
    "Figure 5": "results/accuracy/growth-balanced",
    "Theorem 4.1": "limits/theorem",
    "which mechanism should I use": "limits/what-to-use",
    "release my table": "release/own-table",
}


def links(page: str) -> Iterator[str]:
    """Yield the pages that a page links in its text, in order."""
    if page in pages():
        for target in LINK.findall(pages()[page].read_text(encoding="utf-8")):
            folder = Path("/") if target.startswith("/") else Path("/", page).parent
            yield Path(os.path.normpath(folder / target.lstrip("/"))).as_posix().lstrip("/")


def clicks(goal: str, most: int = 3) -> int | None:
    """Return the number of clicks from the landing page to another one, None if too many."""
    reached = {"index"}
    for click in range(1, most + 1):
        reached = {target for page in reached for target in links(page)}
        if goal in reached:
            return click
    return None


@pytest.mark.parametrize("goal", WALKS.values(), ids=list(WALKS))
def test_a_walk_takes_at_most_two_clicks(goal: str) -> None:
    found = clicks(goal)
    assert found is not None
    assert found <= 2


def test_a_walk_to_nowhere_is_not_found() -> None:
    assert clicks("results/tables/no-such-table") is None
    assert clicks("results/queries/data-cube") == 2


def test_the_first_link_is_the_paper() -> None:
    assert next(links("index")) == "paper"


def test_the_landing_page_names_mechanisms_in_plain_words_and_says_what_each_document_is() -> None:
    text = (BOOK / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \|$", text, re.MULTILINE)
    named = {name: plain for plain, names in rows for name in re.findall(r"`([\w-]+)`", names)}
    wanted = {"lapMech", "ilapMech", "geometric", "lattice", "expMech", "expMech-smooth"}
    assert wanted | {"expMech-delta"} <= named.keys()
    assert min(len(named[name].split()) for name in wanted) >= 4
    assert [letter for letter, _ in rows if re.fullmatch("[A-E]", letter)] == list("ABCDE")


def test_the_part_on_queries_has_an_entrance_of_its_own() -> None:
    text = (BOOK / "index.md").read_text(encoding="utf-8")
    section = text.partition("\n## Questions to a table\n")[2].partition("\n## ")[0]
    assert "<chapters/questions>`" in section
