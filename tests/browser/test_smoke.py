"""Four pages of the built site, served and from disk, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import SITE, site_pages
from tests.browser.watching import TOO_WIDE, Watched

pytestmark = pytest.mark.browser
LANDING, EXPLORER = "index.html", "explorer/index.html"


def quotes(page: str) -> int:
    """Return how many results a page quotes."""
    return (SITE / page).read_text(encoding="utf-8").count('<span class="result">')


def chosen() -> list[str]:
    """Return the landing page, the explorer, a result, and the page that quotes the most."""
    pages = [one for one in site_pages() if one not in (LANDING, EXPLORER)]
    results = [one for one in pages if one.startswith("results/")]
    drawn = [one for one in results if 'class="drawn"' in (SITE / one).read_text(encoding="utf-8")]
    chapter = max((one for one in pages if one not in results), key=quotes)
    return [LANDING, EXPLORER, drawn[0], chapter]


@pytest.fixture(scope="module", params=["served", "from disk"])
def pages(request: Any, browser: Browser, address: str) -> Iterator[Watched]:
    """Return a window on the site, by way of a server or without one."""
    base = address if request.param == "served" else f"{SITE.resolve().as_uri()}/"
    watched = Watched(browser, base, 1280, "light")
    yield watched
    watched.context.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("place", range(4), ids=["landing", "explorer", "result", "chapter"])
def test_a_page_stands_without_troubles(pages: Watched, place: int, width: int) -> None:
    pages.widen(width)
    page = pages.open(chosen()[place])
    assert not pages.troubles
    assert page.locator("main h1:visible").first.inner_text().strip()
    assert page.evaluate(TOO_WIDE) <= 0
    untypeset = (
        "() => [...document.querySelectorAll('main .math')].filter(m => "
        "m.textContent.trim() && !m.querySelector('mjx-container, math')).length"
    )
    assert page.evaluate(untypeset) == 0


@pytest.mark.parametrize("name", [LANDING, EXPLORER])
def test_the_explorer_runs(pages: Watched, name: str) -> None:
    pages.widen(1280)
    page = pages.open(name)
    page.wait_for_selector(".dp-explorer.dp-ready .dp-said li", timeout=20000)
    before = page.locator(".dp-said").inner_text()
    page.get_by_role("button", name="Draw one release").click()
    page.locator(".dp-explorer input[type=range]").first.press("ArrowRight")
    page.wait_for_function(
        "before => document.querySelector('.dp-said').innerText !== before", arg=before
    )
    assert "With JavaScript" not in page.locator("main").inner_text()
