"""Runs beside each other, and runs that are stopped, in processes of their own."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from dpbayes.record import PROVENANCE
from dpbayes.runner import results
from dpbayes.runner.results import kept, only_one, stages
from tests.tiny_notebooks import write_tiny

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
WAITS = (
    "import os, pathlib, time;"
    " pathlib.Path(os.environ['SEEN']).write_text('1'); time.sleep(60)"
)
SLEEPS = """import os, pathlib, time
pathlib.Path(os.environ["SEEN"]).write_text(str(os.getpid()))
time.sleep(60)"""


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a folder, where it tells in ``seen`` which process runs."""
    return subprocess.Popen(
        [sys.executable, "-m", "dpbayes", *words],
        cwd=folder,
        text=True,
        env={**os.environ, "SEEN": str(folder / "seen")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """A child whose parent was killed may wait for whoever reaps it."""
    status = Path(f"/proc/{process}/stat")
    return status.is_file() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def left(folder: Path) -> list[str]:
    """Return what is in a folder beside what this test has written."""
    found = (one.relative_to(folder).as_posix() for one in folder.rglob("*"))
    return [
        one
        for one in found
        if one.split("/")[0] not in ("_toc.yml", "notebooks", "seen")
    ]


def test_two_sweeps_at_once_keep_every_label_right(checkout: Path) -> None:
    write_tiny(checkout / "notebooks", "part/tiny", "import time; time.sleep(0.5)")
    grids = ("n=2;3;4;5", "n=6;7;8;9")
    both = [started(checkout, "sweep", "tiny", "-g", grid) for grid in grids]
    ended = [(one.communicate()[1], one.returncode) for one in both]
    assert {code for _, code in ended} <= {0, 2}
    for said, code in ended:
        assert code == 0 or "another sweep is at work in" in said
    found = list((checkout / "sweep" / "part" / "tiny").glob("n=*"))
    assert len(found) >= 4
    for folder in found:
        n = int(folder.name.removeprefix("n="))
        assert json.loads((folder / "numbers.json").read_text()) == {"double": 2 * n}
        assert kept(folder)["parameters"]["n"] == n
    with (checkout / "sweep" / "part" / "tiny.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(one["double"]) for one in rows] == [2 * int(one["n"]) for one in rows]


def test_runs_at_once_have_a_folder_each(checkout: Path) -> None:
    runs = {n: started(checkout, "run", "tiny", "-p", f"n={n}") for n in (2, 3, 4)}
    folders = {n: run.communicate()[0].splitlines()[-1] for n, run in runs.items()}
    assert {run.returncode for run in runs.values()} == {0}
    assert sorted(folders.values()) == [
        "results-2/part/tiny/", "results-3/part/tiny/", "results/part/tiny/"
    ]  # fmt: skip
    for n, folder in folders.items():
        numbers = (checkout / folder / "numbers.json").read_text()
        assert json.loads(numbers) == {"double": 2 * n}
        made = json.loads((checkout / folder / PROVENANCE).read_text())
        assert made["parameters"]["n"] == n


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)]
)
@pytest.mark.parametrize("words", [("run", "tiny"), ("sweep", "tiny", "-g", "n=2;3")])
def test_a_run_that_is_stopped_ends_whole(
    checkout: Path, sent: signal.Signals, status: int, words: tuple[str, ...]
) -> None:
    write_tiny(checkout / "notebooks", "part/tiny", SLEEPS)
    run, seen = started(checkout, *words), checkout / "seen"
    wait_for(lambda: seen.is_file() and seen.read_text())
    child = int(seen.read_text())
    run.send_signal(sent)
    _, said = run.communicate(timeout=30)
    assert run.returncode == status
    assert "Traceback" not in said
    wait_for(lambda: not is_running(child))
    assert not left(checkout)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_stopped_keeps_the_points_that_are_done(
    checkout: Path, sent: signal.Signals
) -> None:
    write_tiny(checkout / "notebooks", "part/tiny", f"if n == 3:\n    {WAITS}")
    words = ("sweep", "tiny", "-g", "n=2;3", "--jobs", "1")
    run, seen = started(checkout, *words), checkout / "seen"
    wait_for(lambda: seen.is_file() and seen.read_text())
    run.send_signal(sent)
    run.communicate(timeout=30)
    assert kept(checkout / "sweep/part/tiny/n=2")["parameters"]["n"] == 2
    with (checkout / "sweep/part/tiny.csv").open() as file:
        assert [one["status"] for one in csv.DictReader(file)] == ["done", "waiting"]
    assert not (checkout / "sweep/part/tiny/n=3").exists()


def test_what_was_there_before_a_run_that_fails_stays(checkout: Path) -> None:
    write_tiny(checkout / "notebooks", "part/tiny", "1 / 0")
    (checkout / "results/part").mkdir(parents=True)
    run = started(checkout, "run", "tiny")
    assert "ZeroDivisionError" in run.communicate()[1]
    assert run.returncode == 1
    assert left(checkout) == ["results", "results/part"]


def test_a_lock_that_its_holder_took_away_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened it just before must not hold what nobody else sees."""
    folder = tmp_path / "new"
    with suppress(InterruptedError), only_one(folder, "a build"):
        assert (folder / ".lock").exists()
        raise InterruptedError
    assert not folder.exists()
    plain = results._open_lock

    def opened(place: Path) -> TextIO:
        file = plain(place)
        place.unlink()
        return file

    monkeypatch.setattr(results, "_open_lock", opened)
    with pytest.raises(BlockingIOError, match="a build is at work"):
        only_one(folder, "a build").__enter__()


def test_the_run_of_a_process_that_was_killed_ends_and_its_stage_goes(
    checkout: Path,
) -> None:
    write_tiny(checkout / "notebooks", "part/tiny", SLEEPS)
    run, seen = started(checkout, "run", "tiny"), checkout / "seen"
    wait_for(lambda: seen.is_file() and seen.read_text())
    child = int(seen.read_text())
    run.kill()
    run.communicate()
    wait_for(lambda: not is_running(child))
    assert [one for one in left(checkout) if one.endswith(".part")]
    with stages(checkout / "results"):
        assert len(list((checkout / "results").glob(".*.part"))) == 1
    assert not [one for one in left(checkout) if ".part" in one]


def test_a_lock_says_who_has_it(tmp_path: Path) -> None:
    held = only_one(tmp_path, "a build")
    with (
        held,
        pytest.raises(BlockingIOError, match=f"a build .*: process {os.getpid()}"),
    ):
        only_one(tmp_path, "a build").__enter__()
    with only_one(tmp_path, "a build"):
        pass
