"""Processes that run notebooks: one that dies is named, and what was finished is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from dpbayes.press import workers
from dpbook import build
from dpbook.build import NotebookError
from tests.tiny_notebooks import built, write_tiny


@pytest.mark.usefixtures("quick")
def test_an_interrupted_build_keeps_what_was_finished(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("part/second", "part/third"):
        write_tiny(project / "notebooks", name)
    keep = build.Build.done
    finished: list[str] = []

    def interrupt(self: build.Build, name: str, seconds: float) -> None:
        keep(self, name, seconds)
        finished.append(name)
        raise RuntimeError("the power went out")

    monkeypatch.setattr(build.Build, "done", interrupt)
    with pytest.raises(NotebookError, match="the power went out"):
        built(project)
    monkeypatch.setattr(build.Build, "done", keep)
    assert built(project).keys() == {"part/tiny", "part/second", "part/third"} - set(finished)
    assert finished


@pytest.mark.usefixtures("hashes")
def test_a_process_that_dies_is_reported(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(complaints: IO[str]) -> subprocess.Popen[str]:
        script = "import sys; sys.stdin.readline(); sys.exit('out of memory')"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": complaints}
        return subprocess.Popen([sys.executable, "-c", script], text=True, **pipes)

    monkeypatch.setattr(workers, "start_notebooks", start)
    with pytest.raises(NotebookError, match=r"(?s)part/tiny: the process died.*out of memory"):
        built(project)
