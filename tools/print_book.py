"""Print the built book: ``paper.pdf`` holds the paper, ``book.pdf`` the chapters
without evidence.

Chromium prints both from the site, so that figures, formulas and numbers are the site's
own. The chapters are the first level of the contents; what is folded below them is left
to the site. Run it through ``make pdf``, after ``make book``.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
SITE = ROOT / "book" / "_build" / "html"
MARGIN = {"top": "17mm", "bottom": "18mm", "left": "19mm", "right": "19mm"}
FOOTER = (
    '<div style="font: 8px serif; width: 100%; text-align: center">'
    '<span class="pageNumber"></span></div>'
)
# Take the text of a page: its links made links inside the print, or plain text where
# they lead out of it; controls that paper cannot use left out; folded solutions opened.
TAKE = """([name, kept]) => {
  const article = document.querySelector('article.bd-article').cloneNode(true);
  const anchor = page => 'page-' + page.replace(/[^a-z0-9]+/gi, '-');
  const unprinted = 'script, button, .headerlink, .printed-file';
  for (const one of article.querySelectorAll(unprinted)) one.remove();
  for (const one of article.querySelectorAll('details')) one.open = true;
  for (const one of article.querySelectorAll('img')) one.src = one.src;
  for (const one of article.querySelectorAll('[id]')) {
    if (!one.closest('svg')) one.id = anchor(name) + '--' + one.id;
    // drawings refer to their own
  }
  for (const link of article.querySelectorAll('a[href]')) {
    const target = new URL(link.getAttribute('href'), location.href);
    const page = decodeURIComponent(target.pathname).replace(/^\\//, '')
      .replace(/\\.html$/, '');
    if (target.origin !== location.origin) continue;
    if (!kept.includes(page)) link.removeAttribute('href');
    else link.href = '#' + anchor(page)
      + (target.hash ? '--' + target.hash.slice(1) : '');
  }
  const chapter = document.createElement('section');
  chapter.className = 'printed-page';
  chapter.id = anchor(name);
  chapter.append(article);
  return chapter.outerHTML;
}"""
# A page printed alone counts its own figures from one.
COUNT = """() => {
  const numbers = new Map();
  for (const one of document.querySelectorAll('figure .caption-number')) {
    numbers.set(one.textContent.trim(), `Fig. ${numbers.size + 1}`);
  }
  for (const one of document
    .querySelectorAll('figure .caption-number, a .std-numref')) {
    const text = one.textContent.trim();
    if (numbers.has(text)) one.textContent = numbers.get(text) + ' ';
  }
}"""
PUT = """html => {
  document.body.className = 'printed-book';
  document.body.innerHTML =
    '<main class="bd-content"><div class="bd-article-container">'
    + html + '</div></main>';
  document.documentElement.dataset.theme = 'light';
  for (const image of document.querySelectorAll('img')) image.loading = 'eager';
  return Promise.all([...document.images].map(image => image.decode().catch(() => {
    throw new Error('cannot be drawn: ' + image.src);
  })));
}"""


def chapters(contents: Path = ROOT / "_toc.yml") -> list[str]:
    """Return the pages of the first level of the contents, in the order of reading."""
    toc = yaml.safe_load(contents.read_text(encoding="utf-8"))
    parts = toc.get("parts", [{"chapters": toc.get("chapters", [])}])
    found = [
        entry["file"] for part in parts for entry in part["chapters"] if "file" in entry
    ]
    return [toc["root"], *found]


def compose(page: Page, address: str, names: list[str]) -> None:
    """Make one document of pages of the site, as it will be printed."""
    taken = []
    for name in names:
        page.goto(f"{address}{name}.html", wait_until="load")
        taken.append(page.evaluate(TAKE, [name, names]))
    page.goto(f"{address}{names[0]}.html", wait_until="load")
    page.evaluate(PUT, "".join(taken))
    if len(names) == 1:
        page.evaluate(COUNT)
    page.emulate_media(media="print", color_scheme="light")


def print_pages(page: Page, address: str, names: list[str], target: Path) -> None:
    """Print pages of the site as one document; the file appears when it is complete."""
    compose(page, address, names)
    options: Any = {"format": "A4", "margin": MARGIN, "outline": True, "tagged": True}
    half = target.with_suffix(".half")
    half.write_bytes(
        page.pdf(
            **options,
            display_header_footer=True,
            header_template="<i></i>",
            footer_template=FOOTER,
        )
    )
    os.replace(half, target)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The standard server without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on this machine only, and give its address."""
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def link(site: Path) -> None:
    """Show the links to the printed files, which the pages hold back until the files
    exist.
    """
    sheet = site / "_static" / "printed.css"
    sheet.write_text(
        ".bd-main .bd-content .printed-file { display: inline; }\n", encoding="utf-8"
    )


def main() -> int:
    """Print the paper and the chapters into the built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=SITE)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return complain("Chromium prints the book, and it is not on the path")
    if not (arguments.site / "paper.html").is_file():
        return complain(
            f"there is no {arguments.site}/paper.html: run `make book` first"
        )
    with served(arguments.site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page()
        for names, file in ((["paper"], "paper.pdf"), (chapters(), "book.pdf")):
            print_pages(page, address, names, arguments.site / file)
            print(arguments.site / file)
        browser.close()
    link(arguments.site)
    return 0


def complain(problem: str) -> int:
    """Say in one line why nothing was printed."""
    print(f"print_book: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
