"""The printed book: whole, in order, and nothing cut off at the margin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tools.print_book import chapters, compose, print_pages

pytestmark = pytest.mark.browser
PAPER_WIDTH = 650  # CSS pixels between the margins of a sheet of A4
CUT = """() => {
  const wide = document.querySelector('main').getBoundingClientRect().right + 1;
  const seen = 'pre, table, figure svg, figure img, mjx-container, .admonition, p, li';
  return [...document.querySelectorAll(seen)].filter(one => {
    const box = one.getBoundingClientRect();
    const clipped = ['hidden', 'auto', 'scroll'].includes(getComputedStyle(one).overflowX)
      && one.scrollWidth > one.clientWidth + 1;
    return box.width > 0 && (box.right > wide || clipped);
  }).map(one => one.closest('section.printed-page').id + ': ' + one.textContent.slice(0, 60));
}"""
FOUND = """() => ({
  titles: [...document.querySelectorAll('section.printed-page')].map(
    one => one.querySelector('h1').textContent.trim()),
  dead: [...document.querySelectorAll('a[href^="#"]')].map(one => one.getAttribute('href'))
    .filter(href => href.length > 1 && !document.getElementById(href.slice(1))),
  folded: document.querySelectorAll('details:not([open])').length,
  figures: [...document.querySelectorAll('figure .caption-number')].map(
    one => one.textContent.trim()),
})"""


@pytest.fixture(scope="module")
def sheet(address: str, chromium: Browser) -> Iterator[tuple[Page, str]]:
    """Open a page as wide as the text on paper."""
    page = chromium.new_page(viewport={"width": PAPER_WIDTH, "height": 900})
    yield page, address
    page.close()


def composed(sheet: tuple[Page, str], names: list[str]) -> dict[str, Any]:
    compose(*sheet, names)
    page = sheet[0]
    return {**page.evaluate(FOUND), "cut": page.evaluate(CUT)}


def test_the_paper_prints_on_ten_pages(sheet: tuple[Page, str], tmp_path: Path) -> None:
    print_pages(*sheet, ["paper"], tmp_path / "paper.pdf")
    printed = (tmp_path / "paper.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert 7 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 10
    assert [file.name for file in tmp_path.iterdir()] == ["paper.pdf"]


def test_the_paper_counts_its_own_figures_and_cuts_nothing(sheet: tuple[Page, str]) -> None:
    found = composed(sheet, ["paper"])
    assert found["cut"] == []
    assert found["dead"] == []
    assert len(found["figures"]) >= 6
    assert found["figures"] == [f"Fig. {i + 1}" for i in range(len(found["figures"]))]


def test_the_chapters_print_in_order_unfolded_and_cut_nothing(sheet: tuple[Page, str]) -> None:
    names = chapters()
    found = composed(sheet, names)
    assert len(found["titles"]) == len(names) >= 15
    assert len(set(found["titles"])) == len(names)
    assert found["folded"] == 0
    assert found["cut"] == []
    assert found["dead"] == []
