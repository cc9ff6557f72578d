"""The sidebar stays short: chapters are visible, what they rest on is folded below them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SITE = ROOT / "book" / "_build" / "html"
MOST_LINKS = 40
VOID = {"img", "input", "br", "hr", "meta", "link", "source", "wbr"}


def chapters() -> list[dict[str, Any]]:
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [chapter for part in contents["parts"] for chapter in part["chapters"]]


def opened(entries: list[dict[str, Any]], above: int = 0) -> Iterator[tuple[str, int]]:
    """Yield every page with the links that are visible on it: siblings and children of its path."""
    for entry in entries:
        below = entry.get("sections", [])
        visible = above + len(entries)
        yield entry["file"], visible + len(below)
        yield from opened(below, visible)


def test_every_page_shows_at_most_forty_links() -> None:
    too_many = {page: links for page, links in opened(chapters()) if links > MOST_LINKS}
    assert too_many == {}


def test_there_are_about_fifteen_chapters_and_no_result_among_them() -> None:
    files = [chapter["file"] for chapter in chapters()]
    assert 15 <= len(files) <= 22
    assert files[0] == "paper"
    assert [file for file in files if file.startswith("results/")] == []


class Sidebar(HTMLParser):
    """Counts the links of the sidebar that no closed fold hides."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = 0
        self.folds: list[bool] = []
        self.visible = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if self.inside or (tag == "nav" and "bd-links" in (known.get("class") or "")):
            self.inside += tag not in VOID
            if tag == "details":
                self.folds.append("open" in known)
            if tag == "a" and all(self.folds):
                self.visible += 1

    def handle_endtag(self, tag: str) -> None:
        if self.inside and tag not in VOID:
            self.inside -= 1
            if tag == "details":
                self.folds.pop()


def test_a_closed_fold_hides_its_links() -> None:
    sidebar = Sidebar()
    sidebar.feed(
        '<a></a><nav class="bd-links"><ul><li><a></a><details><ul><li><a></a></li></ul></details>'
        "</li><li><a></a><details open><ul><li><a></a></li></ul></details></li></ul></nav><a></a>"
    )
    assert (sidebar.visible, sidebar.inside) == (3, 0)


@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", *(file for file, _ in opened(chapters()))])
def test_the_built_sidebar_shows_at_most_forty_links(page: str) -> None:
    path = SITE / f"{page}.html"
    if not SITE.is_dir() and not os.environ.get("CI"):
        pytest.skip("the book is not built: run `make book`")
    sidebar = Sidebar()
    sidebar.feed(path.read_text(encoding="utf-8"))
    assert 15 <= sidebar.visible <= MOST_LINKS
