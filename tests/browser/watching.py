"""A browser window that writes everything down, and what one visit to a page finds
out."""

from __future__ import annotations

import importlib.resources
import io
from typing import Any

from PIL import Image, ImageStat
from playwright.sync_api import Browser, Page

HEIGHT = 900
NARROW = (820, 390)
AXE = (
    importlib.resources.files("axe_playwright_python")
    .joinpath("axe.min.js")
    .read_text("utf-8")
)

SETTLED = """async () => {
  await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
FACTS = """() => {
  const all = (selector, parent = document) => [...parent.querySelectorAll(selector)];
  return {
    tables: all('main table:not(.indextable)').length,
    'unnamed columns': all('main table:not(.indextable)').map(one => one.tHead?.rows[0])
      .map(row => row ? [...row.cells].map(cell => cell.textContent.trim()) : [])
      .filter(cells => !cells.length || cells.slice(1).includes('') || !cells.join('')),
    kinds: [...new Set(all('main *').flatMap(one =>
      [...one.classList].map(name => `${one.tagName}.${name}`)))],
    untypeset: all('.math')
      .filter(one => one.textContent.trim() && !one.querySelector('math'))
      .map(one => one.textContent),
    figures: all('main figure').filter(one => one.querySelector('img, svg.drawn'))
      .map(one => ({
      alt: one.querySelector('svg.drawn')?.getAttribute('aria-label')
        ?? one.querySelector('img').alt,
      width: one.querySelector('svg.drawn')?.viewBox.baseVal.width
        ?? one.querySelector('img').naturalWidth,
      caption: (one.querySelector('figcaption') || {textContent: ''})
        .textContent.trim(),
    })),
    loose: all('main .cell_output :is(img, svg.drawn)')
      .filter(one => !one.closest('figure')).map(one => one.src ?? one.id),
    links: all('a[href]')
      .filter(one => one.checkVisibility() || !one.closest('.printed-file'))
      .map(one => one.href.split('#')[0]),
  };
}"""
CHECK = """async ([rules, others]) => {
  const found = await axe.run(document, {
    resultTypes: ['violations'], preload: false,
    ...(rules.length ? {runOnly: {type: 'rule', values: rules}} : {rules: {
      'label-content-name-mismatch': {enabled: true},
      ...Object.fromEntries(others.map(one => [one, {enabled: false}])),
    }}),
  });
  return found.violations.map(one => [one.id, one.nodes.length,
    one.nodes[0].html.slice(0, 200),
    one.nodes[0].failureSummary.slice(0, 300)]);
}"""
# A drawing is one picture to a screen reader, and the letters of a formula inherit its
# colour: emptied, they spare axe nine elements of ten.
EMPTIED = """() => {
  for (const one of document.querySelectorAll('svg.drawn')) one.replaceChildren();
  for (const one of document.querySelectorAll('math')) {
    const letter = document.createElementNS(one.namespaceURI, 'mi');
    letter.textContent = one.textContent.slice(0, 3);
    one.replaceChildren(letter);
  }
}"""
# What is folded is part of the page: a reader opens it, and so does axe's visit.
UNFOLDED = """() => {
  for (const one of document.querySelectorAll('.toggle-hidden')) {
    one.classList.remove('toggle-hidden');
  }
  const folds = [...document.querySelectorAll('main details')];
  for (const one of folds) one.open = true;
  return folds.length + document.querySelectorAll('main .admonition.toggle').length;
}"""
FOLDED = """() => [...document
  .querySelectorAll('main :is(details, .admonition.toggle) > *')]
  .filter(one => !one.checkVisibility()
    && one.closest('details:not([open]), .toggle-hidden'))
  .map(one => one.outerHTML.slice(0, 100))"""
COLOURS = ["color-contrast", "link-in-text-block"]  # all that changes at night
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


class Watched:
    """A browser window that writes down every request and every complaint."""

    def __init__(self, browser: Browser, address: str, width: int, scheme: Any) -> None:
        self.address = address
        self.width = width
        self.context = browser.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
        )
        self.page: Page = self.context.new_page()
        self.troubles: list[str] = []
        self.files: set[str] = set()
        self.page.on("request", lambda request: self.note_request(request.url))
        self.page.on(
            "response", lambda one: self.note(one.status >= 400, one.url, one.status)
        )
        self.page.on(
            "console",
            lambda m: self.note(m.type in ("error", "warning"), m.type, m.text),
        )
        self.page.on("pageerror", lambda error: self.note(True, "script error", error))

    def note_request(self, url: str) -> None:
        if url.startswith(self.address):
            self.files.add(
                url.removeprefix(self.address).partition("?")[0].partition("#")[0]
            )
        elif not url.startswith(("data:", "blob:")):
            self.troubles.append(f"request to {url}")

    def note(self, bad: bool, *what: object) -> None:
        self.troubles += [" ".join(map(str, what))] if bad else []

    def open(self, name: str) -> Page:
        """Open a page and wait until its letters are there."""
        self.troubles, self.files = [], set()
        self.page.goto(self.address + name, wait_until="load")
        self.page.evaluate(SETTLED)
        return self.page

    def widen(self, width: int) -> None:
        """Give the window another width."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})


def visit(watched: Watched, name: str, known: set[str]) -> dict[str, Any]:
    """Return what a page is like by day, at night and in narrow windows.

    Colours follow from an element's tag and class, and whether they can be read takes
    axe ten times as long as everything else: it is asked where a kind of element is met
    first, by day and at night. `known` holds the kinds met so far and is added to.
    """
    page = watched.open(name)
    found: dict[str, Any] = dict(page.evaluate(FACTS))
    new = set(found["kinds"]) - known
    known |= new
    found["files"] = set(watched.files)
    found["folds"] = page.evaluate(UNFOLDED)
    found["still folded"] = page.evaluate(FOLDED)
    page.evaluate(AXE)
    found |= at_night(page, bool(new))
    found["barriers"] = page.evaluate(CHECK, [[], [] if new else COLOURS])
    for width in NARROW:
        watched.widen(width)
        found[f"too wide at {width}"] = int(page.evaluate(TOO_WIDE))
    watched.widen(watched.width)
    found["troubles"] = watched.troubles
    return found


def at_night(page: Page, colours: bool) -> dict[str, Any]:
    """Return background, first figure and, where colours are asked for, barriers at
    night; leave drawings and formulas empty.
    """
    theme = "name => document.documentElement.dataset.theme === name"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(theme, arg="dark", timeout=30000)
    image = page.query_selector("main figure svg.drawn")
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    seen = {
        "background": background,
        "figure": brightness(image.screenshot()) if image else None,
    }
    page.evaluate(EMPTIED)
    seen["barriers at night"] = page.evaluate(CHECK, [COLOURS, []]) if colours else []
    page.emulate_media(color_scheme="light")
    page.wait_for_function(theme, arg="light", timeout=30000)
    return seen


def brightness(picture: bytes) -> float:
    """Return the mean brightness of a picture, 0 black to 255 white."""
    return float(ImageStat.Stat(Image.open(io.BytesIO(picture)).convert("L")).mean[0])
