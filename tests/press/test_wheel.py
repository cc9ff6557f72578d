"""The wheel carries the notebooks, and all commands work in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from dpbayes.press.places import all_notebooks

ROOT = Path(__file__).parents[2]


def call(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Call the command in an empty folder, with the unpacked wheel alone."""
    return subprocess.run(
        [sys.executable, "-m", "dpbayes", *words],
        cwd=folder,
        env=surroundings(folder, **more),
        capture_output=True,
        text=True,
        check=False,
    )


def surroundings(folder: Path, **more: str) -> dict[str, str]:
    unpacked = str(folder.parent / "unpacked")
    return {**os.environ, "PYTHONPATH": unpacked, "DPBAYES_KEYS": str(folder / "keys"), **more}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the sources as they stand, and unpack it."""
    place = tmp_path_factory.mktemp("wheel")
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place)]
    copied = place / "source"
    ignored = ["--exclude=./book/_build", "--exclude=./book/results", "--exclude=./.venv*"]
    copied.mkdir()
    pack = subprocess.Popen(
        ["tar", "-C", str(ROOT), *ignored, "--exclude=./.git", "-c", "."], stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-C", str(copied), "-x"], stdin=pack.stdout, check=True)
    pack.communicate()
    subprocess.run([sys.executable, "-m", "pip", *words, str(copied)], check=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "unpacked")
    return place


@pytest.fixture
def empty(unpacked: Path, request: pytest.FixtureRequest) -> Path:
    """Return an empty folder beside the unpacked wheel."""
    folder = unpacked / request.function.__name__
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_the_wheel_is_enough(empty: Path) -> None:
    metadata = next((empty.parent / "unpacked").glob("*.dist-info/METADATA")).read_text()
    assert "License-Expression: MIT" in metadata
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


TABLE = "smokes,sex\n" + "never,f\nnever,m\noften,f\nNA,m\n" * 10
PLAN = """\
dataset = "survey"
account = "survey.account"
column = "smokes"
categories = ["never", "often", "no answer"]
missing = "no answer"
epsilon = "0.5"
"""
CUBE = """\
source = "people.csv"
bound = 1
[[attribute]]
name = "smokes"
values = ["never", "often", "NA"]
"""
SERVICE = """\
cube = "people.toml"
account = "survey.account"
[[analyst]]
name = "anna"
token = "{digest}"
budget = "1"
"""


@pytest.mark.slow
def test_from_a_table_to_a_verified_account_in_an_empty_folder(empty: Path) -> None:
    pytest.importorskip("duckdb")
    for name, text in (("people.csv", TABLE), ("release.toml", PLAN), ("people.toml", CUBE)):
        (empty / name).write_text(text)

    def done(*words: str, **more: str) -> str:
        called = call(empty, *words, **more)
        assert called.returncode == 0, called.stderr
        return called.stdout

    assert "recommended  lattice" in done("plan", "release.toml", "--records", "40")
    open_it = ["--dataset", "survey", "--epsilon", "2", "--table", "people.csv"]
    assert "balance  2 of 2" in done("account", "create", "survey.account", *open_it)
    paid = done("release", "people.csv", "--plan", "release.toml", "--output", "out")
    assert "cost       0.5 of 2; 1.5 left" in paid
    report = (empty / "out" / "report.html").read_text()
    assert "no answer" in report
    assert "<svg" in report
    again = done("release", "people.csv", "--plan", "release.toml", "--output", "out")
    assert "drawn and paid before, nothing new was spent" in again
    question = ["ask", "smokes = never", "--length", "80"]
    local = done(*question, "--cube", "people.toml", "--account", "survey.account")
    assert "fresh" in local
    lines = done("serve", "--new-token").splitlines()
    token, digest = (line.split()[1] for line in lines)
    (empty / "service.toml").write_text(SERVICE.format(digest=digest))
    serving = subprocess.Popen(
        [sys.executable, "-m", "dpbayes", "serve", "service.toml", "--socket", "s"],
        cwd=empty,
        env=surroundings(empty),
    )
    try:
        end = time.monotonic() + 40
        while not (empty / "s").exists():
            assert serving.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        asked = done(*question, "--server", "unix:s", DPBAYES_TOKEN=token)
    finally:
        serving.terminate()
        serving.wait()
    assert "derived, cost 0" in asked
    receipt = next(line for line in paid.splitlines() if line.startswith("receipt"))
    verified = ["--receipt", receipt.partition(" ")[2].strip()]
    assert "entries and 1 receipt agree" in done("account", "verify", "survey.account", *verified)
