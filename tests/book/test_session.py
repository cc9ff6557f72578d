"""The session on the page of the two analysts, run as it is printed."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "book" / "release" / "two-analysts.md"
MARK = "@@ next"


def session():
    """Return the commands of the page and what is printed below each."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    steps: list[tuple[list[str], list[str]]] = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            steps.append(([line[2:]], []))
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1][0].append(line[2:])
        else:
            steps[-1][1].append(line)
    return [("\n".join(typed), "".join(f"{line}\n" for line in said)) for typed, said in steps]


def test_the_page_has_a_session():
    commands = [typed for typed, _ in session()]
    assert sum(command.startswith("curl ") for command in commands) >= 7
    assert sum(command.startswith("dpbayes ") for command in commands) >= 7


def test_the_session_prints_what_the_page_says(tmp_path):
    pytest.importorskip("duckdb")
    bash, curl = shutil.which("bash"), shutil.which("curl")
    assert bash, "the session needs bash"
    assert curl, "the session needs curl"
    steps = session()
    script = "".join(f"{typed}\necho '{MARK}'\n" for typed, _ in steps)
    (tmp_path / "dpbayes").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpbayes "$@"\n')
    (tmp_path / "dpbayes").chmod(0o755)
    paths = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    (tmp_path / "session").write_text("trap 'kill $(jobs -p) 2> /dev/null' EXIT\n" + script)
    work = tmp_path / "w"
    work.mkdir()
    done = subprocess.run(
        [bash, str(tmp_path / "session")],
        cwd=work,
        env={**os.environ, "PATH": paths, "PYTHONPATH": str(PAGE.parents[2])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    printed = re.split(rf"{MARK}\n", done.stdout)
    assert len(printed) == len(steps) + 1, done.stderr
    compare = doctest.OutputChecker().check_output
    for (typed, expected), got in zip(steps, printed, strict=False):
        assert compare(expected, got, doctest.ELLIPSIS), f"{typed}\n{got}{done.stderr}"
