"""The wheel alone: its notebooks are listed and run in an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_notebooks_are_listed_and_run_from_a_wheel(tmp_path: Path) -> None:
    source, place, empty = (tmp_path / name for name in ("source", "place", "empty"))
    ignored = shutil.ignore_patterns("_build", "results", "__pycache__", "*.egg-info")
    for name in ("dpbayes", "notebooks", "book"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    empty.mkdir()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--target", str(place), str(source)], check=True)

    def dpbayes(*words: str) -> str:
        command = [sys.executable, "-P", "-m", "dpbayes", *words]
        environment = {**os.environ, "PYTHONPATH": str(place)}
        done = subprocess.run(
            command, cwd=empty, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "documents/D-table1" in dpbayes("list")
    dpbayes("run", "D-table1", "-p", "n=40")
    page = (empty / "results" / "documents" / "D-table1.html").read_text(
        encoding="utf-8"
    )
    assert "MathJax" in page
    assert "This run beside the book" in page
