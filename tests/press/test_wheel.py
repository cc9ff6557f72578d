"""The wheel carries the notebooks: list, run and sweep work in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dpbayes.press.places import all_notebooks

ROOT = Path(__file__).parents[2]


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call the command in an empty folder, with the unpacked wheel alone."""
    return subprocess.run(
        [sys.executable, "-m", "dpbayes", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder.parent / "unpacked")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_wheel_is_enough(tmp_path: Path) -> None:
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    copied = tmp_path / "source"
    ignored = ["--exclude=./book/_build", "--exclude=./book/results", "--exclude=./.venv*"]
    copied.mkdir()
    pack = subprocess.Popen(
        ["tar", "-C", str(ROOT), *ignored, "--exclude=./.git", "-c", "."], stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-C", str(copied), "-x"], stdin=pack.stdout, check=True)
    pack.communicate()
    subprocess.run([sys.executable, "-m", "pip", *words, str(copied)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    metadata = next((tmp_path / "unpacked").glob("*.dist-info/METADATA")).read_text()
    assert "License-Expression: MIT" in metadata
    empty = tmp_path / "empty"
    empty.mkdir()
    listed = call(empty, "list")
    assert listed.returncode == 0, listed.stderr
    names = [line.split()[0] for line in listed.stdout.splitlines() if line[:1].strip()]
    assert names == list(all_notebooks(ROOT / "notebooks"))
    ran = call(empty, "run", "foundations/beta-posterior", "-p", "successes=5")
    assert ran.returncode == 0, ran.stderr
    page = (empty / "results/foundations/beta-posterior.html").read_text()
    assert "MathJax" in page
    swept = call(empty, "sweep", "foundations/beta-posterior", "-g", "successes=1;2")
    assert swept.returncode == 0, swept.stderr
    assert "2 of 2 points" in swept.stdout
