"""Every page of the built site in a real browser, by day, at night, folds open and in
narrow windows: nothing from outside, no error, no barrier that a machine can find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import SITE, site_pages
from tests.browser.watching import NARROW, Watched, visit

HEAVIEST = 1_000_000  # bytes of a first visit, uncompressed
LISTS = {"prf-prf.html"}  # the machine's, without a head
WORDS_OF_ALL_PAGES = {"search.html"}
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def window(chromium: Browser, address: str) -> Iterator[Watched]:
    """Return the window in which this process opens one page after the other."""
    watched = Watched(chromium, address, 1440, "light")
    yield watched
    watched.context.close()


@pytest.fixture(scope="module")
def kinds() -> set[str]:
    """Return the kinds of elements whose colours this process has looked at."""
    return set()


@pytest.mark.parametrize("name", site_pages())
def test_a_page_is_whole(name: str, window: Watched, kinds: set[str]) -> None:
    facts = visit(window, name, kinds)
    assert {fault: said for fault, said in faults(name, facts).items() if said} == {}


def faults(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what is wrong with a page, by kind."""
    return {
        "complaints and requests to elsewhere": facts["troubles"],
        "formulas that are not set": facts["untypeset"],
        "tables without names of columns": name not in LISTS
        and facts["unnamed columns"],
        "figures": [one for one in facts["figures"] if not described(name, one)],
        "pictures outside a figure": facts["loose"],
        "links that lead nowhere": [link for link in facts["links"] if lost(link)],
        "pixels beyond a narrow window": [
            width for width in NARROW if facts[f"too wide at {width}"] > 0
        ],
        "bright at night": brightness(facts["background"]) >= 150
        or (facts["figure"] or 0) >= 130,
        "barriers": facts["barriers"],
        "barriers at night": facts["barriers at night"],
        "still folded": facts["still folded"],
        "no fold on a result": name.startswith("results/") and not facts["folds"],
        "too heavy": name not in WORDS_OF_ALL_PAGES
        and weight(facts["files"]) > HEAVIEST
        and weight(facts["files"]),
    }


def described(page: str, figure: dict[str, Any]) -> bool:
    """Return whether a figure has size, caption and words for those who do not see it,
    and a number in the paper alone.
    """
    numbered = figure["caption"].startswith("Fig. ") == (page == "paper.html")
    seen = figure["width"] > 0 and figure["caption"]
    return bool(numbered and seen and len(figure["alt"]) > 20)


def lost(link: str) -> bool:
    """Return whether a link into this site leads to no file of it."""
    address, _, path = link.partition("://")[2].partition("/")
    inside = address.startswith("127.0.0.1:")
    return inside and not (SITE / (path or "index.html")).is_file()


def brightness(colour: str) -> int:
    """Return the sum of the three shades of ``rgb(…)``."""
    return sum(map(int, colour[4:-1].split(", ")))


def weight(files: set[str]) -> int:
    """Return the bytes of the files that a page asks this site for."""
    return sum((SITE / (file or "index.html")).stat().st_size for file in files)


def test_the_site_has_pages_tables_and_figures() -> None:
    """What the other tests look at is there."""
    pages = {name: (SITE / name).read_text("utf-8") for name in site_pages()}
    assert len(pages) > 100
    assert sum(page.count("<table") for page in pages.values()) > 50
    assert sum('class="drawn"' in page for page in pages.values()) > 50
    assert "Fig. 1" in pages["paper.html"]
