"""The guide in a browser: words explain themselves, the board filters, the sidebar is short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
VISIBLE = "links => links.filter(link => link.checkVisibility()).length"
WALKS = [
    (["Table 1"], "results/tables/laplace-steps.html"),
    (["Figure 5"], "results/accuracy/growth-balanced.html"),
    (["Theorem 4.1"], "limits/theorem.html"),
    (["What to use"], "limits/what-to-use.html"),
    (["Release your own table"], "release/own-table.html"),
]


@pytest.fixture(name="page")
def wide_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def test_a_word_shows_its_meaning_on_focus_and_on_hover(page: Page, address: str) -> None:
    page.goto(f"{address}chapters/five-ways.html")
    word = page.locator("a.term", has_text="Hellinger distance").first
    bubble = page.get_by_role("tooltip")
    word.focus()
    assert "how far two distributions are apart" in bubble.inner_text().lower()
    assert word.get_attribute("aria-describedby") == bubble.get_attribute("id")
    page.keyboard.press("Escape")
    assert bubble.is_hidden()
    word.hover()
    bubble.wait_for(state="visible")
    box = bubble.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1440


def test_the_board_is_filtered_by_keyboard_and_keeps_its_state(page: Page, address: str) -> None:
    page.goto(f"{address}claims/claims.html")
    form = page.locator("form.claims-filter")
    assert form.count() == 1
    claims = page.locator(".claim")
    everything = claims.count()
    form.locator("input[value='false']").focus()
    page.keyboard.press("Space")
    wrong = page.locator(".claim:visible").count()
    assert 0 < wrong < everything
    assert page.locator(".claim.verdict-false:visible").count() == wrong
    form.locator("input[name='words']").fill("nosuchword")
    assert page.locator(".claim:visible").count() == 0
    form.locator("input[name='words']").fill("theorem")
    some = page.locator(".claim:visible").count()
    assert form.locator("output").inner_text() == f"{some} of {everything} claims"
    page.reload()
    assert page.locator(".claim:visible").count() == some


def test_the_board_needs_no_script(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    bare = context.new_page()
    bare.goto(f"{address}claims/claims.html")
    assert bare.locator(".claim").count() == bare.locator(".claim:visible").count() >= 40
    context.close()


@pytest.mark.parametrize("at", ["index", "chapters/full-paper", "results/tables/laplace-steps"])
def test_the_sidebar_shows_at_most_forty_links(page: Page, address: str, at: str) -> None:
    page.goto(f"{address}{at}.html")
    assert 15 <= page.locator("nav.bd-links a").evaluate_all(VISIBLE) <= 40


@pytest.mark.parametrize(("texts", "goal"), WALKS, ids=[texts[0] for texts, _ in WALKS])
def test_a_walk_from_the_landing_page(
    page: Page, address: str, texts: list[str], goal: str
) -> None:
    page.goto(f"{address}index.html")
    for text in texts:
        page.locator("article").get_by_role("link", name=text, exact=True).first.click()
    assert page.url == address + goal


@pytest.mark.parametrize("window", [(1440, 900), (820, 1180), (390, 844)])
def test_the_walks_begin_on_the_first_screen(
    page: Page, address: str, window: tuple[int, int]
) -> None:
    width, height = window
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{address}index.html")
    for (text,), _ in WALKS:
        link = page.locator("article").get_by_role("link", name=text, exact=True).first
        box = link.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height, text
    figure = page.locator("article figure").first.bounding_box()
    assert figure is not None
    assert figure["y"] < 0.8 * height  # and the picture has not been pushed away


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_headings_grow_smaller_with_their_level(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}limits/theorem.html")
    sizes = [
        page.locator(f"article {level}").first.evaluate(
            "h => parseFloat(getComputedStyle(h).fontSize)"
        )
        for level in ("h1", "h2", "h3", "p")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
