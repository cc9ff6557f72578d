"""How a build says what it is doing: a live line on a terminal, a line a notebook elsewhere."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from typing import TextIO


@dataclass
class Progress:
    """The state of the work, written to a stream."""

    stream: TextIO
    total: int
    finished: int = 0
    under_way: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cell(self, name: str, index: int, total: int) -> None:
        """Cell ``index`` of a notebook starts."""
        with self.lock:
            self.under_way[name] = f"{name} {index + 1}/{total}"
            self._draw()

    def done(self, name: str, seconds: float) -> None:
        """A notebook is finished."""
        with self.lock:
            self.under_way.pop(name, None)
            self.finished += 1
            self._clear()
            self.stream.write(f"[{self.finished}/{self.total}] {name}  {seconds:.1f} s\n")
            self._draw()

    def end(self) -> None:
        """Take the live line away."""
        with self.lock:
            self._clear()

    def _clear(self) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
        self.stream.flush()

    def _draw(self) -> None:
        if self.stream.isatty():
            line = f"{self.finished}/{self.total} notebooks · " + " · ".join(
                self.under_way.values()
            )
            width = shutil.get_terminal_size().columns
            self.stream.write("\r\x1b[K" + line[: width - 1])
            self.stream.flush()
