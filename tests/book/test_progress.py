"""How a build says what it is doing."""

from __future__ import annotations

import io

from dpbook.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(stream: io.StringIO) -> str:
    progress = Progress(stream, total=2)
    progress.cell("a/one", 0, 9)
    progress.cell("a/two", 4, 5)
    progress.done("a/one", 1.25)
    progress.end()
    return stream.getvalue()


def test_a_log_gets_one_line_a_finished_notebook() -> None:
    assert work(io.StringIO()) == "[1/2] a/one  1.2 s\n"


def test_a_terminal_gets_a_live_line_with_cell_counters() -> None:
    shown = work(Terminal())
    assert "0/2 notebooks · a/one 1/9 · a/two 5/5" in shown
    assert "[1/2] a/one  1.2 s\n" in shown
    assert shown.endswith("\r\x1b[K")
