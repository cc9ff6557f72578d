"""The site without a mouse and without sight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.watching import Watched

pytestmark = pytest.mark.browser
FOCUSED = """() => {
  const one = document.activeElement;
  return {
    text: one.textContent.trim(), href: one.href || '',
    in: (one.closest('main, .bd-links') || {id: '', className: ''}).id ||
      (one.closest('.bd-links') ? 'sidebar' : ''),
    seen: one.getBoundingClientRect().top >= 0
      && one.getBoundingClientRect().height > 0,
  };
}"""


def tab_to(page: Page, where: str, most: int = 60) -> dict[str, str]:
    """Press the tab key until the focus is somewhere."""
    for _ in range(most):
        page.keyboard.press("Tab")
        focused: dict[str, str] = page.evaluate(FOCUSED)
        if focused["in"] == where:
            return focused
    raise AssertionError(f"{most} presses of the tab key do not lead to {where}")


def test_the_first_stop_leads_past_everything_to_the_text(
    opened: Callable[..., Watched],
) -> None:
    page = opened(1440).open("index.html")
    page.keyboard.press("Tab")
    first = page.evaluate(FOCUSED)
    assert first["text"] == "Skip to main content"
    assert first["seen"]
    page.keyboard.press("Enter")
    assert page.evaluate("() => location.hash") == "#main-content"
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["in"] == "main-content"


def test_the_keyboard_walks_the_sidebar(opened: Callable[..., Watched]) -> None:
    page = opened(1440).open("index.html")
    assert tab_to(page, "sidebar")["seen"]
    assert tab_to(page, "sidebar", most=1)["seen"]
    with page.expect_navigation():
        while not page.evaluate(FOCUSED)["href"].endswith(".html"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    assert "index.html" not in page.url
