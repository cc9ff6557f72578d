"""A point of a sweep, run without a kernel, records what a run records."""

from __future__ import annotations

import csv
import socket
from pathlib import Path

import pytest

from dpbayes.cli import main
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


def test_a_point_records_the_same_bytes_as_a_run(checkout):
    assert main(["sweep", "part/tiny", "-g", "n=5"]) == 0
    assert main(["run", "part/tiny", "-p", "n=5"]) == 0
    (point,) = (checkout / "sweep/part/tiny/points").glob("*/results/part/tiny")
    for file in ("numbers.json", "squares.csv"):
        assert (point / file).read_bytes() == (checkout / "results/part/tiny" / file).read_bytes()


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
