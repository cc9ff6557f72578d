"""The built site in a real browser: nothing from outside, no error, readable
anywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import SITE, site_pages
from tests.browser.watching import NARROW, Visited, Watched, what

PHONE = 390
HEAVIEST = 1_000_000  # bytes of a first visit, uncompressed
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
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("site")]


def test_every_page_loads_alone_without_complaint_and_sets_its_formulas(
    visited: Visited,
) -> None:
    assert what(visited, "troubles") == {}
    assert what(visited, "untypeset") == {}


def test_every_table_names_its_columns(visited: Visited) -> None:
    """The corner over the names of the rows may stay empty; lists of the machine have
    no head.
    """
    lists = {"prf-prf.html"}
    assert sum(facts["tables"] for facts in visited.values()) > 50
    unnamed = what(visited, "unnamed columns")
    assert {name: cells for name, cells in unnamed.items() if name not in lists} == {}


def test_every_figure_is_captioned_and_described_and_numbered_in_the_paper(
    visited: Visited,
) -> None:
    figures = what(visited, "figures")
    numbers = {
        name: [one["caption"].startswith("Fig. ") for one in figures[name]]
        for name in figures
    }
    assert [name for name, each in numbers.items() if any(each)] == ["paper.html"]
    for name, shown in figures.items():
        for figure in shown:
            assert len(figure["alt"]) > 20, (name, figure)
            assert figure["width"] > 0, (name, figure)
            assert figure["caption"], (name, figure)
    assert what(visited, "loose") == {}


def test_links_inside_the_site_lead_somewhere(visited: Visited, address: str) -> None:
    targets = {
        (link.removeprefix(address) or "index.html", name)
        for name, links in what(visited, "links").items()
        for link in links
        if link.startswith(address)
    }
    assert {
        (link, name) for link, name in targets if not (SITE / link).is_file()
    } == set()


def test_no_page_scrolls_sideways_in_a_narrow_window(visited: Visited) -> None:
    for width in NARROW:
        wide = {name: facts[f"too wide at {width}"] for name, facts in visited.items()}
        assert {name: pixels for name, pixels in wide.items() if pixels > 0} == {}, (
            width
        )


def test_pages_and_their_figures_are_dark_at_night(visited: Visited) -> None:
    for name, facts in visited.items():
        assert sum(map(int, facts["background"][4:-1].split(", "))) < 150, name
    figures = {
        name: facts["figure"] for name, facts in visited.items() if facts["figure"]
    }
    assert figures
    assert {name: bright for name, bright in figures.items() if bright >= 130} == {}


def test_a_first_visit_is_light(visited: Visited) -> None:
    heavy = {
        name: sum(
            (SITE / (file or "index.html")).stat().st_size for file in facts["files"]
        )
        for name, facts in visited.items()
        if name != "search.html"  # has the words of all pages
    }
    assert {name: size for name, size in heavy.items() if size > HEAVIEST} == {}


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
