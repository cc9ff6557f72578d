"""Sweeps: all points checked first, finished points kept, one table of all numbers."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import dpbayes as dp
from dpbayes.cli import main
from dpbayes.press.cache import Cache
from dpbayes.press.keys import Surroundings
from dpbayes.press.sweeping import Point, Sweep
from tests.tiny_notebooks import write_tiny


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "_toc.yml").touch()
    write_tiny(tmp_path / "notebooks", "part/tiny", "assert n != 4, 'four is not for us'")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(checkout: Path) -> list[dict[str, str]]:
    with (checkout / "sweep/part/tiny.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_point_of_the_grid_has_a_row(checkout, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=2;5", "-g", "label=a;b"]) == 0
    shown = [(row["n"], row["label"], row["status"], row["double"]) for row in table(checkout)]
    assert shown == [(n, label, "done", str(2 * int(n))) for n in "25" for label in "ab"]
    assert "4 of 4 points, 4 run now" in capsys.readouterr().out


def test_finished_points_survive_a_failure_and_are_not_run_again(checkout, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=3;4", "--jobs", "1"]) == 1
    assert "at n=4: " in capsys.readouterr().err
    assert [(row["n"], row["status"]) for row in table(checkout)] == [
        ("3", "done"),
        ("4", "failed"),
    ]
    assert table(checkout)[1]["problem"] == "AssertionError: four is not for us"
    kept = next((checkout / "sweep/part/tiny/points").glob("*/results/part/tiny/numbers.json"))
    written = kept.stat().st_mtime_ns
    assert main(["sweep", "part/tiny", "-g", "n=3;5"]) == 0
    assert "2 of 2 points, 1 run now" in capsys.readouterr().out
    assert kept.stat().st_mtime_ns == written
    assert [row["status"] for row in table(checkout)] == ["kept", "done"]


def test_a_point_is_run_again_when_the_notebook_changed_or_it_is_damaged(checkout, capsys):
    words = ["sweep", "part/tiny", "-g", "n=2;3"]
    assert main(words) == 0
    numbers = next((checkout / "sweep").rglob("numbers.json"))
    numbers.write_text('{"double": 1}')
    assert main(words) == 0
    assert "2 of 2 points, 1 run now" in capsys.readouterr().out
    assert [row["double"] for row in table(checkout)] == ["4", "6"]
    path = checkout / "notebooks/part/tiny.ipynb"
    path.write_text(path.read_text().replace("2 * n", "20 * n"))
    assert main(words) == 0
    assert "2 of 2 points, 2 run now" in capsys.readouterr().out
    assert [row["double"] for row in table(checkout)] == ["40", "60"]


def test_a_point_records_the_same_bytes_as_a_run(checkout):
    assert main(["sweep", "part/tiny", "-g", "n=5"]) == 0
    assert main(["run", "part/tiny", "-p", "n=5"]) == 0
    (point,) = (checkout / "sweep/part/tiny/points").glob("*/results/part/tiny")
    for file in ("numbers.json", "squares.csv"):
        assert (point / file).read_bytes() == (checkout / "results/part/tiny" / file).read_bytes()


def test_long_values_findings_and_the_parquet_table(checkout):
    duckdb = pytest.importorskip("duckdb")
    finding = "record.finding('long', len(label) > 2, true='Long.', false='Short.')"
    write_tiny(
        checkout / "notebooks", "part/tiny", finding, "record.number('n', 7)", "print(label)"
    )
    long = "x" * 2000
    words = ["sweep", "part/tiny", "-g", f"label=a;{long}", "-p", "n=2", "--parquet"]
    assert main(words) == 0
    assert [row["long holds"] for row in table(checkout)] == ["False", "True"]
    assert table(checkout)[1]["label"] == long
    rows = duckdb.sql(f"SELECT status, double, n FROM '{checkout}/sweep/part/tiny.parquet'")
    assert rows.fetchall() == [("done", 4, 7), ("done", 4, 7)]


def test_stages_of_a_killed_sweep_go(checkout):
    stage = checkout / f"sweep/part/tiny/points/abc.{socket.gethostname()}.999999999.part"
    stage.mkdir(parents=True)
    assert main(["sweep", "part/tiny", "-g", "n=2"]) == 0
    assert not stage.exists()


def test_a_point_that_is_killed_is_named_and_the_others_run(checkout, capsys):
    killing = "if n == 3:\n    import os\n    os.kill(os.getpid(), 9)"
    write_tiny(checkout / "notebooks", "part/tiny", killing)
    assert main(["sweep", "part/tiny", "-g", "n=2;3;5", "--jobs", "1"]) == 1
    assert "at n=3: part/tiny: killed by SIGKILL" in capsys.readouterr().err
    assert [row["status"] for row in table(checkout)] == ["done", "failed", "done"]


def test_cells_that_are_more_than_python_run_through_papermill(checkout):
    write_tiny(checkout / "notebooks", "part/tiny", "%time n + 1")
    assert main(["sweep", "part/tiny", "-g", "n=2"]) == 0
    assert [row["double"] for row in table(checkout)] == ["4"]


def test_the_state_tells_what_is_left(checkout, capsys):
    points = {str(i): Point(str(i), {}, {}) for i in range(4)}
    path = checkout / "notebooks/part/tiny.ipynb"
    sweep = Sweep("part/tiny", path, points, Cache(checkout), Surroundings(), lambda content: None)
    points["0"].status, points["1"].status = "done", "failed"
    assert sweep.state(sweep.started + 100) == "2 of 4 points, 1 failed, about 2 min left"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-g", "n=2;0"], "n must be >= 1, got 0"),
        (["-g", "m=2;3"], "part/tiny has no parameter 'm'"),
        (["-g", "n=2;x"], "n must be int, got 'x'"),
        (["-g", "n"], "a grid axis is given as name=value;value, got 'n'"),
        (["-g", "n=2;2"], "n lists a value twice"),
        (["-g", "n=2;3", "-p", "n=5"], "n is given more than once"),
        (["-g", "n=2;3", "--jobs", "0"], "--jobs must be an integer of at least 1, got 0"),
    ],
)
def test_bad_grids_are_refused_before_anything_runs(checkout, capsys, words, message):
    assert main(["sweep", "part/tiny", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (checkout / "sweep").exists()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers, each the leader of a process group of its own."""
    distributed = pytest.importorskip("distributed")
    where = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(where), "--no-dashboard"]
    words = [("scheduler", "--port", "0", "--host", "127.0.0.1")]
    words += [("worker", "--nthreads", "1", "--name", f"worker-{i}") for i in (1, 2)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *rest, *common],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for kind, *rest in words
    ]
    while not where.is_file():
        time.sleep(0.1)
    address = json.loads(where.read_text())["address"]
    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
    try:
        yield address, processes
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_of_a_cluster_costs_nothing(checkout, cluster):
    address, (_, first, _) = cluster
    grid = ["-g", "n=" + ";".join(map(str, range(5, 17)))]
    write_tiny(checkout / "notebooks", "part/tiny", "import time; time.sleep(0.4)")
    assert main(["sweep", "part/tiny", *grid, "--output", "here"]) == 0

    def kill_once_a_point_is_there() -> None:
        while not list((checkout / "there").rglob("entry.json")):
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGKILL)

    killing = threading.Thread(target=kill_once_a_point_is_there)
    killing.start()
    assert main(["sweep", "part/tiny", *grid, "--output", "there", "--cluster", address]) == 0
    killing.join()
    assert first.wait() == -signal.SIGKILL
    rows = [
        [{**row, "seconds": ""} for row in csv.DictReader((checkout / where).open())]
        for where in ("here/part/tiny.csv", "there/part/tiny.csv")
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 12


def test_audit_prints_the_actual_loss(capsys):
    assert main(["audit", "expMech-smooth", "--epsilon", "1", "--n", "100"]) == 0
    shown = capsys.readouterr().out
    found = float(shown.split("actual epsilon ")[1].split()[0])
    smooth = dp.mechanism("expMech-smooth", epsilon=1.0)
    assert found == pytest.approx(dp.audit(smooth, 100, [1, 1]).epsilon, rel=1e-8)
    assert "replacing one record" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "1", "--n", "0"], "n must be an integer of at least 1"),
        (["--epsilon", "-1", "--n", "5"], "epsilon must be positive"),
        (["--epsilon", "1", "--n", "5", "--prior", "1,x"], "--prior must be numbers"),
        (["--epsilon", "1", "--n", "5", "-o", "gamma"], "an option is given as name=value"),
        (["--epsilon", "1", "--n", "5", "-o", "delta=1"], "has no option 'delta'"),
    ],
)
def test_audit_refuses_bad_input(capsys, words, message):
    assert main(["audit", "expMech-smooth", *words]) == 2
    assert message in capsys.readouterr().err
