"""Saying that work goes on, where a person looks, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

FIRST, EVERY = 1.0, 0.5  # seconds


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Write `words` and the seconds so far to a terminal, from the first second on."""
    if not sys.stderr.isatty():
        yield
        return
    done, start = Event(), time.monotonic()

    def tell() -> None:
        shown = ""
        pause = FIRST
        while not done.wait(pause):
            pause = EVERY
            shown = f"{words}: {time.monotonic() - start:.0f} s"
            print(f"\r{shown}", end="", file=sys.stderr, flush=True)
        if shown:
            print(f"\r{' ' * len(shown)}\r", end="", file=sys.stderr, flush=True)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
