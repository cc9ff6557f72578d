"""The built site in a real browser: nothing from outside, no error, readable anywhere."""

from __future__ import annotations

import functools
import http.server
import io
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageStat
from playwright.sync_api import Browser, Page, sync_playwright

SITE = Path(__file__).parents[2] / "book" / "_build" / "html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
IN_CI = bool(os.environ.get("CI"))
PHONE, DESKTOP = 390, 1280
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def site_pages() -> list[str]:
    """Return every page of the built site."""
    return [
        path.relative_to(SITE).as_posix()
        for path in sorted(SITE.rglob("*.html"))
        if not path.relative_to(SITE).parts[0].startswith("_")
    ]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The standard server without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the site on this machine and return its address."""
    missing = [what for what in (SITE / "index.html", Path(CHROMIUM)) if not what.exists()]
    if missing and not IN_CI:
        pytest.skip(f"{missing[0].name} is missing: run `make book` and install Chromium")
    assert not missing, f"{missing[0]} is missing"
    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


class Watched:
    """A browser page that writes down every request and every complaint."""

    def __init__(self, browser: Browser, address: str, width: int, scheme: Any) -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme
        )
        self.page: Page = self.context.new_page()
        self.troubles: list[str] = []
        self.page.on("request", lambda request: self.note_request(request.url))
        self.page.on("response", lambda answer: self.note_status(answer.url, answer.status))
        self.page.on("console", lambda message: self.note_console(message.type, message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(f"script error: {error}"))

    def note_request(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.troubles.append(f"request to {url}")

    def note_status(self, url: str, status: int) -> None:
        if status >= 400:
            self.troubles.append(f"status {status} for {url}")

    def note_console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.troubles.append(f"console {kind}: {text}")

    def open(self, name: str) -> Page:
        """Open a page and wait until its formulas are typeset."""
        self.page.goto(self.address + name, wait_until="load")
        self.page.evaluate("() => window.MathJax ? MathJax.startup.promise : null")
        return self.page


@pytest.fixture
def on_a_desktop(browser: Browser, address: str) -> Iterator[Watched]:
    watched = Watched(browser, address, DESKTOP, "light")
    yield watched
    watched.context.close()


FACTS = """() => {
  const all = (selector, parent = document) => [...parent.querySelectorAll(selector)];
  return {
    untypeset: all('.math')
      .filter(one => one.textContent.trim() && !one.querySelector('mjx-container'))
      .map(one => one.textContent),
    figures: all('main figure').filter(one => one.querySelector('img, svg.drawn')).map(one => ({
      label: one.id,
      alt: one.querySelector('svg.drawn')?.getAttribute('aria-label')
        ?? one.querySelector('img').alt,
      width: one.querySelector('svg.drawn')?.viewBox.baseVal.width
        ?? one.querySelector('img').naturalWidth,
      caption: (one.querySelector('figcaption') || {textContent: ''}).textContent.trim(),
    })),
    loose: all('main .cell_output :is(img, svg.drawn)')
      .filter(one => !one.closest('figure')).map(one => one.src ?? one.id),
    links: all('a[href]').filter(one => one.checkVisibility() || !one.closest('.printed-file'))
      .map(one => one.href.split('#')[0]),
    downloads: all('.downloads a.download').map(one => one.href.split('/').pop()),
  };
}"""
NIGHT = """() => ({
  theme: document.documentElement.dataset.theme,
  background: getComputedStyle(document.body).backgroundColor,
})"""
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


def at_night(page: Page) -> dict[str, Any]:
    """Return theme, background and the brightness of the first figure, then make it day again."""
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'", timeout=5000)
    image = page.query_selector("main figure svg.drawn")
    seen = {**page.evaluate(NIGHT), "figure": brightness(image.screenshot()) if image else None}
    page.emulate_media(color_scheme="light")
    return seen


def on_a_phone(page: Page) -> int:
    """Return by how many pixels the page is wider than a phone, then widen the window again."""
    page.set_viewport_size({"width": PHONE, "height": 844})
    too_wide = int(page.evaluate(TOO_WIDE))
    page.set_viewport_size({"width": DESKTOP, "height": 844})
    return too_wide


def brightness(picture: bytes) -> float:
    """Return the mean brightness of a picture, 0 black to 255 white."""
    return float(ImageStat.Stat(Image.open(io.BytesIO(picture)).convert("L")).mean[0])


@pytest.fixture(scope="module")
def visited(browser: Browser, address: str) -> dict[str, dict[str, Any]]:
    """Open every page once; look at it by day, at night and on a phone; note what went wrong."""
    watched = Watched(browser, address, DESKTOP, "light")
    found = {}
    for name in site_pages():
        watched.troubles = []
        page = watched.open(name)
        found[name] = {**page.evaluate(FACTS), **at_night(page), "too wide": on_a_phone(page)}
        found[name]["troubles"] = watched.troubles
    watched.context.close()
    assert found
    return found


Visited = dict[str, dict[str, Any]]


def what(visited: Visited, fact: str) -> dict[str, Any]:
    """Return one fact of every page where it is not empty."""
    return {name: facts[fact] for name, facts in visited.items() if facts[fact]}


def test_every_page_loads_alone_without_complaint(visited: Visited) -> None:
    assert what(visited, "troubles") == {}


def test_every_formula_is_typeset(visited: Visited) -> None:
    assert what(visited, "untypeset") == {}


def test_every_figure_is_numbered_captioned_and_described(visited: Visited) -> None:
    figures = what(visited, "figures")
    assert figures
    for name, shown in figures.items():
        for figure in shown:
            assert figure["label"], name
            assert len(figure["alt"]) > 20, (name, figure)
            assert figure["width"] > 0, (name, figure)
            assert figure["caption"].startswith("Fig. "), (name, figure)
    assert what(visited, "loose") == {}


def test_links_inside_the_site_lead_somewhere(visited: Visited, address: str) -> None:
    targets = {
        (link.removeprefix(address) or "index.html", name)
        for name, links in what(visited, "links").items()
        for link in links
        if link.startswith(address)
    }
    assert {(link, name) for link, name in targets if not (SITE / link).is_file()} == set()


def test_every_result_page_offers_its_files(visited: Visited) -> None:
    results = {name: facts for name, facts in visited.items() if name.startswith("results/")}
    assert results
    for name, facts in results.items():
        assert {"provenance.json", f"{Path(name).stem}.ipynb"} <= set(facts["downloads"]), name


def test_no_page_scrolls_sideways_on_a_phone(visited: Visited) -> None:
    wide = {name: facts["too wide"] for name, facts in visited.items()}
    assert {name: pixels for name, pixels in wide.items() if pixels > 0} == {}


def test_pages_and_their_figures_are_dark_at_night(visited: Visited) -> None:
    for name, facts in visited.items():
        assert facts["theme"] == "dark", name
        assert sum(map(int, facts["background"][4:-1].split(", "))) < 150, name
    figures = {name: facts["figure"] for name, facts in visited.items() if facts["figure"]}
    assert figures
    assert {name: bright for name, bright in figures.items() if bright >= 130} == {}


def test_a_page_opened_at_night_is_dark(browser: Browser, address: str) -> None:
    watched = Watched(browser, address, DESKTOP, "dark")
    assert brightness(watched.open("index.html").screenshot()) < 110
    assert watched.troubles == []
    watched.context.close()


def test_a_page_opened_on_a_phone_does_not_scroll(browser: Browser, address: str) -> None:
    watched = Watched(browser, address, PHONE, "light")
    for name in ("index.html", *site_pages()[::20]):
        assert watched.open(name).evaluate(TOO_WIDE) <= 0, name
    assert watched.troubles == []
    watched.context.close()


def test_pages_are_light_by_day(on_a_desktop: Watched) -> None:
    assert brightness(on_a_desktop.open("index.html").screenshot()) > 180


def test_search_finds_a_word_of_the_book(on_a_desktop: Watched) -> None:
    page = on_a_desktop.open("search.html?q=posterior")
    page.wait_for_selector("#search-results li")
    assert page.locator("#search-results li").count() > 0
    assert on_a_desktop.troubles == []
