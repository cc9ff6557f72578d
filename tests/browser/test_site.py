"""The built site on a phone: letters large enough, nothing cut off without a hint."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import SITE, site_pages
from tests.browser.watching import Watched

PHONE = 390
# Letters of s points are drawn by scale(s / 100) in units of the drawing.
LETTERS = """() => [...document.querySelectorAll('svg.drawn')]
  .filter(one => one.checkVisibility())
  .flatMap(one => {
    const unit = one.getBoundingClientRect().width / one.viewBox.baseVal.width;
    const sizes = [...one.querySelectorAll('[id*=text_] g[transform*=scale]')]
      .map(text =>
        100 * Number(/scale\\((0\\.\\d+)/.exec(text.getAttribute('transform'))[1]));
    return sizes.map(size => size * unit);
  })"""
WIDEST = """() => Math.max(...[...document.querySelectorAll('svg.drawn')]
  .filter(one => one.checkVisibility())
  .map(one => one.getBoundingClientRect().right))"""
CUT_OFF = """() => [...document.querySelectorAll('main *')].filter(one => {
  const way = getComputedStyle(one).overflowX;
  return way !== 'visible' && one.clientWidth > 20
    && one.scrollWidth > one.clientWidth + 2
    && one.checkVisibility() && !one.closest('.goes-on, svg');
}).map(one => one.outerHTML.slice(0, 120))"""
pytestmark = pytest.mark.browser


def test_letters_of_drawings_are_readable_on_a_phone(
    opened: Callable[..., Watched],
) -> None:
    """A drawing is whole on a phone, and its letters are 11 pixels high."""
    window = opened(PHONE)
    drawn = [
        one
        for one in site_pages()
        if 'class="drawn"' in (SITE / one).read_text("utf-8")
    ]
    for name in drawn[::5]:
        page = window.open(name)
        heights = page.evaluate(LETTERS)
        assert heights, name
        assert page.evaluate(WIDEST) <= PHONE, name
        assert min(heights) >= 10.9, name


def test_nothing_is_cut_off_on_a_phone_without_a_hint(
    opened: Callable[..., Watched],
) -> None:
    """What is wider than its box scrolls, and fades out where it goes on."""
    window = opened(PHONE)
    for name in [
        one for one in site_pages() if one.startswith(("chapters/", "reference/"))
    ][::3]:
        assert window.open(name).evaluate(CUT_OFF) == [], name
    beyond = """form => [...form.querySelectorAll('input')].filter(one =>
      one.getBoundingClientRect().right > form.getBoundingClientRect().right).length"""
    board = window.open("claims/claims.html")
    assert board.locator("form.claims-filter").evaluate(beyond) == 0
