"""The chapter on questions as a reader follows it: its files and commands in order."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbayes.tables.opening import open_account

PAGE = Path(__file__).parents[2] / "book" / "chapters" / "questions.md"
FENCE = re.compile(r"^```(\S+)(?: \S+)?\n(?::caption: (\S+)\n)?(.*?)^```$", re.M | re.S)


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


class Reader:
    """Somebody who types what the page shows, into an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.token = folder, str(free_port()), ""
        self.server: subprocess.Popen[str] | None = None
        self.said: list[tuple[str, str]] = []

    @property
    def around(self) -> dict[str, str]:
        here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        keys = str(self.folder.parent / "keys")
        return os.environ | {"PATH": here, "DPBAYES_KEYS": keys} | self.more

    @property
    def more(self) -> dict[str, str]:
        return {"DPBAYES_TOKEN": self.token} if self.token else {}

    def follow(self, page: str) -> None:
        for kind, caption, body in FENCE.findall(page):
            text = body.replace("8000", self.port)
            if caption:
                (self.folder / caption).write_text(text)
            elif kind == "console":
                self.type(text)

    def type(self, text: str) -> None:
        """Type commands, and compare what the page shows below each."""
        for command in re.split(r"^\$ ", text, flags=re.M)[1:]:
            line, _, shown = command.partition("\n")
            if line.startswith("export DPBAYES_TOKEN="):
                self.token = line.partition("=")[2]
                continue
            told = self.serve(line) if " serve " in line else self.run(line)
            assert told.startswith(shown), (line, told)
            self.said.append((line, told))

    def run(self, line: str) -> str:
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self.around, capture_output=True,
            text=True, check=False, timeout=100,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), line
        return done.stdout

    def serve(self, line: str) -> str:
        self.end()
        self.server = subprocess.Popen(
            line.split(), cwd=self.folder, env=self.around, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.server.stdout is not None
        told = self.server.stdout.readline()
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            with socket.socket() as place:
                if place.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    break
        return told

    def end(self) -> None:
        """Press Ctrl-C where the server runs."""
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            _, errors = self.server.communicate(timeout=30)
            assert (self.server.returncode, errors) == (0, "ended\n")
            self.server = None


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl")
def test_the_commands_of_the_chapter_run_in_order_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    reader = Reader(folder)
    try:
        reader.follow(PAGE.read_text(encoding="utf-8"))
    finally:
        reader.end()
    said = [told for line, told in reader.said if "monday-1" in line]
    assert len(said) == 2
    assert said[0] == said[1]  # paid once, also after the restart
    assert '"outcome":"fresh"' in said[0]
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    entries = open_account(folder / "people.account").entries
    names = [entry.request for entry in entries if entry.kind == "spend"]
    assert names.count("answer-anna-monday-1") == 1
    shown = next(told for line, told in reader.said if "account show" in line)
    assert "income >= 10" in shown


def test_the_service_file_has_eight_lines() -> None:
    files = {name: body for _, name, body in FENCE.findall(PAGE.read_text("utf-8"))}
    assert len(files["service.toml"].strip().splitlines()) == 8
