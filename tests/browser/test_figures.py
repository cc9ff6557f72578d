"""Figures in Chromium: they turn with the theme, and their letters can be read on a phone."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from dpbayes.figures.language import LOOKS
from dpbayes.figures.lines import Curve, Panel, lines
from dpbayes.figures.maps import MapPanel, maps
from dpbayes.figures.night import PAGE, contrast
from dpbayes.figures.theme import svg_bytes
from tests.browser.conftest import CHROMIUM, IN_CI, Quiet
from tests.browser.watching import Watched
from tests.serving import serving

ROOT = Path(__file__).parents[2]
PHONE = {"width": 390, "height": 844}
LEAST = 11.0  # pixels, the letters of a figure
pytestmark = pytest.mark.browser

# Letters of three sizes, panels below and beside each other, boxes, maps.
SAMPLE = (
    "index",
    "chapters/posterior-and-distance",
    "results/accuracy/growth-balanced",
    "results/accuracy/b-dimensions",
    "results/comparison/all-data",
    "results/foundations/one-release",
    "results/queries/framework",
    "results/tables/score-change",
)

CONFIGURATION = """
extensions = ["myst_nb", "sphinx_togglebutton", "dpdrawn", "sphinx_book_theme"]
html_theme = "sphinx_book_theme"
html_static_path = [{static!r}]
html_css_files = ["book.css", "print.css"]
nb_execution_mode = "off"
project = "figures"
master_doc = "index"
"""
PAGE_TEXT = """# Figures

```{figure} results/lines.svg
:alt: two curves that rise
:name: fig-lines

Two curves.
```

```{figure} results/map.svg
:alt: a map of two regions
:name: fig-map

A map.
```

```{image} results/lines.svg
:alt: a small picture
:width: 120px
```
"""
LETTERS = """(where) => [...document.querySelectorAll(where + ' svg.drawn g[id*="text_"] > g')]
  .filter(one => one.checkVisibility() && (one.getAttribute('transform') || '').includes('scale'))
  .map(one => 100 * Math.hypot(one.getScreenCTM().c, one.getScreenCTM().d))"""
INKS = """(selector) => [...document.querySelectorAll(selector)].map(one => {
  const style = getComputedStyle(one);
  return style.stroke !== 'none' ? style.stroke : style.fill;
})"""


def drawings() -> dict[str, bytes]:
    x = np.arange(1.0, 9.0)
    curves = [Curve(name, x, x + place) for place, name in enumerate(LOOKS)]
    chart, _ = lines("records n", "mean distance", [Panel(curves)], height=7.0)
    index = np.array([[0, 1], [1, 1]])
    names = ["lapMech", "expMech-smooth"]
    areas, _ = maps("records n", "share", [1, 2], [1.0, 3.0], names, [MapPanel(index)] * 2)
    return {
        "lines": svg_bytes(chart, "lines"),
        "map": svg_bytes(areas, "map"),
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build a page of two figures with the book's own extension and style sheets, and serve it."""
    if not Path(CHROMIUM).exists() and not IN_CI:
        pytest.skip("install Chromium")
    source = tmp_path_factory.mktemp("figures")
    (source / "results").mkdir()
    for name, content in drawings().items():
        (source / "results" / f"{name}.svg").write_bytes(content)
    (source / "index.md").write_text(PAGE_TEXT, encoding="utf-8")
    configuration = CONFIGURATION.format(static=str(ROOT / "book" / "_static"))
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n" + configuration
    )
    target = source / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(target)]
    subprocess.run(command, check=True, capture_output=True)
    handler = functools.partial(Quiet, directory=str(target))
    with serving(handler) as address:
        yield f"{address}/index.html"


@pytest.fixture
def page(chromium: Browser, site: str) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    opened.goto(site)
    yield opened
    context.close()


def hexadecimal(color: str) -> str:
    parts = [int(part) for part in re.findall(r"\d+", color)[:3]]
    return "#" + "".join(f"{part:02x}" for part in parts)


def inks(page: Page, selector: str) -> list[str]:
    found: list[Any] = page.evaluate(INKS, selector)
    return [hexadecimal(one) for one in found]


def at_night(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'", timeout=5000)


def test_figures_stand_in_the_page_with_their_words(page: Page) -> None:
    found = page.get_by_role("img", name="two curves that rise", exact=True)
    assert found.count() == 1
    assert page.get_by_role("img", name="a map of two regions", exact=True).count() == 1
    assert page.locator("figure#fig-lines svg.drawn").count() == 1
    assert page.locator("img[width], img[style]").count() == 1  # the small one stays a picture


def test_lines_and_letters_stand_out_by_day_and_at_night(page: Page) -> None:
    marked = '#fig-lines g[id*="mechanism:"] > path'
    labels = '#fig-lines g[id*="text_"] > g'
    for background, change in (("#ffffff", None), (PAGE, at_night)):
        if change is not None:
            change(page)
        curves, words = inks(page, marked), inks(page, labels)
        assert len(curves) == len(LOOKS)
        assert min(contrast(one, background) for one in curves) >= 2.97  # rounded to whole bytes
        assert len(words) > 20
        assert min(contrast(one, background) for one in words) >= 4.5
        paper = inks(page, '#fig-lines [id$="patch_1"] > path')
        assert paper == [background.lower()]


def test_the_reader_s_choice_counts_and_paper_is_white(page: Page) -> None:
    at_night(page)
    dark = inks(page, '#fig-lines [id$="patch_1"] > path')
    page.evaluate("() => { document.documentElement.dataset.theme = 'light'; }")
    assert inks(page, '#fig-lines [id$="patch_1"] > path') == ["#ffffff"] != dark
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    page.emulate_media(media="print")
    assert inks(page, '#fig-lines [id$="patch_1"] > path') == ["#ffffff"]


def test_letters_can_be_read_on_a_phone_where_the_figure_stands(page: Page) -> None:
    page.set_viewport_size(PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    for figure in ("#fig-lines", "#fig-map"):
        assert min(page.evaluate(LETTERS, figure)) == pytest.approx(LEAST, abs=0.1)
        box = page.locator(f"{figure} .drawn-scroll")
        here = box.element_handle()
        assert box.evaluate("one => one.scrollWidth > one.clientWidth && one.scrollLeft === 0")
        page.wait_for_function("one => one.classList.contains('goes-on')", arg=here)
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("one => one.scrollLeft > 0", arg=here)
        box.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
        page.wait_for_function("one => !one.classList.contains('goes-on')", arg=here)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("() => !document.querySelector('.drawn-scroll[tabindex]')")



def test_a_figure_opens_in_full_size_by_touch_and_by_keyboard(page: Page) -> None:
    page.set_viewport_size(PHONE)
    for figure in ("#fig-lines", "#fig-map"):
        before = page.evaluate(LETTERS, figure)
        button = page.locator(f"{figure} .drawn-open")
        button.focus()
        page.keyboard.press("Enter")
        shown = page.evaluate(LETTERS, "dialog[open]")
        assert len(shown) == len(before)
        assert min(shown) > min(before)
        sheet = page.locator("dialog[open] .drawn-sheet")
        assert sheet.evaluate(
            "one => document.activeElement === one && one.scrollWidth > one.clientWidth"
        )
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "() => document.querySelector('dialog[open] .drawn-sheet').scrollLeft > 0"
        )
        page.keyboard.press("Escape")
        page.wait_for_function("() => !document.querySelector('dialog[open]')")
        expect(button).to_be_focused()
        # The drawing is put back when the browser has told that the dialog closed.
        expect(page.locator(f"{figure} svg.drawn")).to_have_count(1)
        assert page.evaluate(LETTERS, figure) == pytest.approx(before)
    page.locator("#fig-map svg.drawn").click()
    assert min(page.evaluate(LETTERS, "dialog[open]")) >= LEAST
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#fig-map svg.drawn")).to_have_count(1)


def test_letters_are_large_enough_without_help_on_a_desktop(page: Page) -> None:
    assert min(page.evaluate(LETTERS, "main")) >= LEAST
    assert not page.locator(".drawn-open").first.is_visible()


def test_letters_can_be_read_on_paper(page: Page) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert min(page.evaluate(LETTERS, "main")) >= 5.5 * 4 / 3  # points in pixels
    assert page.locator(".drawn-open").first.is_hidden()


@pytest.mark.parametrize("name", SAMPLE)
def test_pages_of_the_book_have_readable_figures_on_a_phone(
    opened: Callable[..., Watched], name: str
) -> None:
    window = opened(PHONE["width"]).open(f"{name}.html")
    letters = window.evaluate(LETTERS, "main")
    assert letters
    assert min(letters) >= LEAST - 0.05
    assert window.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
