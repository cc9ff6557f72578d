"""The built site, a server and a browser for it."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.watching import Watched

SITE = Path(__file__).parents[2] / "book" / "_build" / "html"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
)
IN_CI = bool(os.environ.get("CI"))


def site_pages() -> list[str]:
    """Return every page of the built site."""
    pages = [one.relative_to(SITE).as_posix() for one in sorted(SITE.rglob("*.html"))]
    return [one for one in pages if not one.startswith("_")]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The standard server without a log, which says that files do not change
    meanwhile."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Serve the site on this machine and return its address."""
    if not SITE.exists() and not IN_CI:
        pytest.skip("there is no site: run `make book`")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start the one browser of a module: a second one beside it is not allowed.

    It is gone before the tests of another module run, for its event loop is in the way
    of theirs.
    """
    if not Path(CHROMIUM).exists() and not IN_CI:
        pytest.skip("install Chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        yield started
        started.close()


@pytest.fixture
def opened(chromium: Browser, address: str) -> Iterator[Callable[..., Watched]]:
    """Return what opens a window of a width, by day or at night."""
    windows: list[Watched] = []

    def opener(width: int = 1280, scheme: str = "light") -> Watched:
        windows.append(Watched(chromium, address, width, scheme))
        return windows[-1]

    yield opener
    for window in windows:
        window.context.close()
