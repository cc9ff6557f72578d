"""Four pages of the built site, served and from disk, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import SITE
from tests.browser.watching import FACTS, TOO_WIDE, Watched

pytestmark = pytest.mark.browser
LANDING, EXPLORER = "index.html", "explorer/index.html"


PAGES = {
    "landing": LANDING, "explorer": EXPLORER, "result": "results/documents/D-fig5.html",
    "chapter": "chapters/full-paper-tables.html",
}  # fmt: skip


@pytest.fixture(scope="module", params=["served", "from disk"])
def pages(request: Any, chromium: Browser, address: str) -> Iterator[Watched]:
    """Return a window on the site, by way of a server or without one."""
    base = address if request.param == "served" else f"{SITE.resolve().as_uri()}/"
    watched = Watched(chromium, base, 1280, "light")
    yield watched
    watched.context.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_stands_without_troubles(pages: Watched, kind: str, width: int) -> None:
    pages.widen(width)
    page = pages.open(PAGES[kind])
    assert not pages.troubles
    assert page.locator("main h1:visible").first.inner_text().strip()
    assert page.evaluate(TOO_WIDE) <= 0
    assert page.evaluate(FACTS)["untypeset"] == []


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
