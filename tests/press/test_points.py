"""A point of a sweep, run without a kernel, records what a run records."""

from __future__ import annotations

import socket

from dpbayes.cli import main
from tests.tiny_notebooks import rows_of, write_tiny


def test_a_point_records_the_same_bytes_as_a_run(picky):
    assert main(["sweep", "part/tiny", "-g", "n=5"]) == 0
    assert main(["run", "part/tiny", "-p", "n=5"]) == 0
    (point,) = (picky / "sweep/part/tiny/points").glob("*/results/part/tiny")
    for file in ("numbers.json", "squares.csv"):
        assert (point / file).read_bytes() == (picky / "results/part/tiny" / file).read_bytes()


def test_stages_of_a_killed_sweep_go(picky):
    stage = picky / f"sweep/part/tiny/points/abc.{socket.gethostname()}.999999999.part"
    stage.mkdir(parents=True)
    assert main(["sweep", "part/tiny", "-g", "n=2"]) == 0
    assert not stage.exists()


def test_a_point_that_is_killed_is_named_and_the_others_run(picky, capsys):
    killing = "if n == 3:\n    import os\n    os.kill(os.getpid(), 9)"
    write_tiny(picky / "notebooks", "part/tiny", killing)
    assert main(["sweep", "part/tiny", "-g", "n=2;3;5", "--jobs", "1"]) == 1
    assert "at n=3: part/tiny: killed by SIGKILL" in capsys.readouterr().err
    assert [row["status"] for row in rows_of(picky)] == ["done", "failed", "done"]


def test_cells_that_are_more_than_python_run_through_papermill(picky):
    write_tiny(picky / "notebooks", "part/tiny", "%time n + 1")
    assert main(["sweep", "part/tiny", "-g", "n=2"]) == 0
    assert [row["double"] for row in rows_of(picky)] == ["4"]
