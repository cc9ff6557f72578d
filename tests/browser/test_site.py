"""The built site in a real browser: nothing from outside, no error, readable anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import SITE, shipped, site_pages
from tests.browser.watching import NARROW, TOO_WIDE, Visited, Watched, brightness, results, what

PHONE = 390
MOST_SHIPPED = 1_500_000  # bytes of a first visit
MOST_SHIFT = 0.1
AGAIN = 0.1  # of the bytes to download: thumbnails are drawings that are also offered
CUT_OFF = """() => [...document.querySelectorAll('main *')].filter(one => {
  const way = getComputedStyle(one).overflowX;
  return way !== 'visible' && one.clientWidth > 20 && one.scrollWidth > one.clientWidth + 2
    && one.checkVisibility() && !one.closest('.goes-on, svg, mjx-assistive-mml');
}).map(one => one.outerHTML.slice(0, 120))"""
pytestmark = pytest.mark.browser


def test_every_page_loads_alone_without_complaint(visited: Visited) -> None:
    assert what(visited, "troubles") == {}


def test_every_formula_is_typeset(visited: Visited) -> None:
    assert what(visited, "untypeset") == {}


def test_every_table_names_its_columns(visited: Visited) -> None:
    """The corner over the names of the rows may stay empty; lists of the machine have no head."""
    lists = {"prf-prf.html"}
    assert sum(facts["tables"] for facts in visited.values()) > 100
    unnamed = what(visited, "unnamed columns")
    assert {name: cells for name, cells in unnamed.items() if name not in lists} == {}


def test_every_figure_is_captioned_and_described(visited: Visited) -> None:
    figures = what(visited, "figures")
    assert figures
    for name, shown in figures.items():
        for figure in shown:
            assert len(figure["alt"]) > 20, (name, figure)
            assert figure["width"] > 0, (name, figure)
            assert figure["caption"], (name, figure)
    assert what(visited, "loose") == {}


def test_a_figure_has_its_number_on_its_own_page(visited: Visited) -> None:
    for name, facts in results(visited).items():
        for figure in facts["figures"]:
            assert figure["label"], name
            assert figure["caption"].startswith("Fig. "), (name, figure)


def test_links_inside_the_site_lead_somewhere(visited: Visited, address: str) -> None:
    targets = {
        (link.removeprefix(address) or "index.html", name)
        for name, links in what(visited, "links").items()
        for link in links
        if link.startswith(address)
    }
    assert {(link, name) for link, name in targets if not (SITE / link).is_file()} == set()


def test_no_page_scrolls_sideways_in_a_narrow_window(visited: Visited) -> None:
    for width in NARROW:
        wide = {name: facts[f"too wide at {width}"] for name, facts in visited.items()}
        assert {name: pixels for name, pixels in wide.items() if pixels > 0} == {}, width


def test_pages_and_their_figures_are_dark_at_night(visited: Visited) -> None:
    for name, facts in visited.items():
        assert facts["theme"] == "dark", name
        assert sum(map(int, facts["background"][4:-1].split(", "))) < 150, name
    figures = {name: facts["figure"] for name, facts in visited.items() if facts["figure"]}
    assert figures
    assert {name: bright for name, bright in figures.items() if bright >= 130} == {}


def weight(facts: dict[str, Any]) -> int:
    """Return the bytes of a first visit to a page, its files compressed."""
    files = {file or "index.html" for file in facts["files"]}
    return sum(shipped(file) for file in files if (SITE / file).is_file())


def test_pages_without_formulas_load_no_typesetter(visited: Visited) -> None:
    assert any(not facts["formulas"] for facts in visited.values())
    for name, facts in visited.items():
        assert facts["mathjax"] == bool(facts["formulas"]), name


def test_a_first_visit_is_light(visited: Visited) -> None:
    heavy = {name: weight(facts) for name, facts in visited.items()}
    assert {name: size for name, size in heavy.items() if size > MOST_SHIPPED} == {}


def test_nothing_moves_while_a_page_arrives(visited: Visited) -> None:
    moved = {name: facts["shifted"] for name, facts in visited.items()}
    assert {name: shift for name, shift in moved.items() if shift > MOST_SHIFT} == {}


def test_what_is_offered_to_download_is_not_on_the_site_a_second_time(address: str) -> None:
    offered = [path for path in (SITE / "_downloads").rglob("*") if path.is_file()]
    assert offered
    contents = [path.read_bytes() for path in offered]
    large = [content for content in contents if len(content) > 1000]
    assert len(set(large)) == len(large)
    shown = {path.read_bytes() for path in (SITE / "_images").rglob("*") if path.is_file()}
    again = sum(len(content) for content in contents if content in shown)
    assert again <= AGAIN * sum(map(len, contents))
    assert not (SITE / "_sources").exists()


def test_a_page_opened_at_night_is_dark(opened: Callable[..., Watched]) -> None:
    watched = opened(scheme="dark")
    assert brightness(watched.open("index.html").screenshot()) < 110
    assert watched.troubles == []


def test_a_page_opened_on_a_phone_does_not_scroll(opened: Callable[..., Watched]) -> None:
    watched = opened(PHONE)
    for name in ("index.html", *site_pages()[::40]):
        assert watched.open(name).evaluate(TOO_WIDE) <= 0, name
        assert watched.troubles == []


def test_pages_are_light_by_day(opened: Callable[..., Watched]) -> None:
    assert brightness(opened().open("index.html").screenshot()) > 180


def test_small_pictures_are_dark_at_night(opened: Callable[..., Watched]) -> None:
    watched = opened(scheme="dark")
    for name in ("accuracy/gallery-full.html", "claims/claims.html"):
        picture = watched.open(name).locator(":is(.gallery-card, .claim-picture) img").first
        picture.scroll_into_view_if_needed()
        picture.evaluate("one => one.decode()")
        assert brightness(picture.screenshot()) < 110, name


def test_the_filter_of_the_board_stays_in_its_box(opened: Callable[..., Watched]) -> None:
    page = opened(PHONE).open("claims/claims.html")
    beyond = """form => [...form.querySelectorAll('input')].filter(one =>
      one.getBoundingClientRect().right > form.getBoundingClientRect().right).length"""
    assert page.locator("form.claims-filter").evaluate(beyond) == 0


@pytest.mark.parametrize(
    ("name", "what_scrolls"),
    [
        ("foundations/distances", "mjx-container[display]"),
        ("foundations/distances", "span.math"),
        ("reproduce", "pre"),
    ],
)
def test_a_formula_or_code_that_goes_on_fades_out_until_its_end_is_seen(
    opened: Callable[..., Watched], name: str, what_scrolls: str
) -> None:
    page = opened(PHONE).open(f"{name}.html")
    page.wait_for_function(f"() => document.querySelector('{what_scrolls}.goes-on')")
    here = page.locator(f"{what_scrolls}.goes-on").first.element_handle()
    page.evaluate("one => one.scrollTo(one.scrollWidth, 0)", here)
    page.wait_for_function("one => !one.classList.contains('goes-on')", arg=here)
    assert page.evaluate("one => one.scrollLeft", here) > 0


def test_nothing_is_cut_off_on_a_phone_without_a_hint(opened: Callable[..., Watched]) -> None:
    """What is wider than its box scrolls, and fades out where it goes on."""
    window = opened(PHONE)
    for name in ("foundations/distances", "comparison/optimum", "privacy/proofs", "reproduce"):
        page = window.open(f"{name}.html")
        page.wait_for_function("() => document.querySelector('.goes-on')")
        assert page.evaluate(CUT_OFF) == [], name


def test_a_table_that_goes_on_fades_out_until_its_end_is_seen(
    opened: Callable[..., Watched],
) -> None:
    page = opened(PHONE).open("results/tables/laplace-steps.html")
    box = page.locator(".pst-scrollable-table-container").first
    here = box.element_handle()
    page.wait_for_function("one => one.classList.contains('goes-on')", arg=here)
    box.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
    page.wait_for_function("one => !one.classList.contains('goes-on')", arg=here)
