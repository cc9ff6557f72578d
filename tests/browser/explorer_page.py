"""A small site with nothing but the explorer, as the book's directive writes it, for a browser."""

from __future__ import annotations

import http.server
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from dpexplorer import PROGRAM, STATES, bundle, closing, opening
from tests.serving import serving

BOOK = Path(__file__).parents[2] / "book"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def html(start: str, small: bool) -> str:
    """Return a page with one explorer, in a named state."""
    place = opening("/", "/explorer.html", STATES[start], small)
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Explorer</title>'
        '<link rel="icon" href="data:,"></head>'
        f"<body><main>{place}<p>A stand-in.</p>{closing('/')}</main></body></html>"
    )


PAGES = {
    "/explorer.html": html("start", False),
    "/small.html": html("landing", True),
    f"/{PROGRAM}": bundle(),
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve the pages above and the book's static files, without a log."""

    def do_GET(self) -> None:
        """Answer with a page or a file."""
        page = PAGES.get(self.path.partition("?")[0])
        if page is None:
            return super().do_GET()
        self.send_response(200)
        kind = "javascript" if self.path.endswith(".js") else "html"
        self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())
        return None

    def translate_path(self, path: str) -> str:
        """Find what the site copies as it is where it lies in the checkout."""
        return str(BOOK / "_extra" / path.partition("?")[0].lstrip("/"))

    def guess_type(self, path: Any) -> str:
        """Say of modules that they are modules."""
        return "text/javascript" if str(path).endswith(".js") else super().guess_type(path)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of the small site."""
    with serving(Handler) as address:
        yield f"{address}/"


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a browser; without one the tests are left out, but not where all must run."""
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("Chromium is missing")
    assert CHROMIUM is not None, "Chromium is missing"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
