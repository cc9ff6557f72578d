"""A command says that it works where a person looks, and nothing in a pipe."""

from __future__ import annotations

import io
import time

from dpbayes.commands import waiting as module
from dpbayes.commands.waiting import waiting


class Terminal(io.StringIO):
    """A stream that says whether a person looks."""

    def __init__(self, looked_at):
        super().__init__()
        self.looked_at = looked_at

    def isatty(self):
        return self.looked_at


def told(monkeypatch, looked_at, seconds):
    stream = Terminal(looked_at)
    monkeypatch.setattr(module, "FIRST", 0.05)
    monkeypatch.setattr(module, "EVERY", 0.05)
    monkeypatch.setattr("sys.stderr", stream)
    with waiting("working"):
        time.sleep(seconds)
    return stream.getvalue()


def test_work_is_told_to_a_person_alone(monkeypatch):
    assert told(monkeypatch, looked_at=False, seconds=0.3) == ""
    said = told(monkeypatch, looked_at=True, seconds=0.3)
    assert said.startswith("\rworking: 0 s")
    assert said.endswith("\r" + " " * len("working: 0 s") + "\r")


def test_short_work_says_nothing(monkeypatch):
    monkeypatch.setattr(module, "FIRST", 5.0)
    stream = Terminal(looked_at=True)
    monkeypatch.setattr("sys.stderr", stream)
    with waiting("working"):
        pass
    assert stream.getvalue() == ""
