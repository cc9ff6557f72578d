"""Sweeps: all points checked first, finished points kept, one table of all numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import dpbayes as dp
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


@pytest.mark.slow
def test_every_point_of_the_grid_has_a_row(checkout, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=2;5", "-g", "label=a;b"]) == 0
    assert table(checkout) == [
        {"n": n, "label": label, "double": str(2 * int(n))} for n in "25" for label in "ab"
    ]
    assert "4 of 4 points, 4 run now" in capsys.readouterr().out


@pytest.mark.slow
def test_finished_points_survive_a_failure_and_are_not_run_again(checkout, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=3;4", "--jobs", "1"]) == 1
    assert "at n=4: " in capsys.readouterr().err
    assert [row["n"] for row in table(checkout)] == ["3"]
    page = next((checkout / "sweep/points").glob("*n=3*/part/tiny.html"))
    written = page.stat().st_mtime_ns
    assert main(["sweep", "part/tiny", "-g", "n=3;5"]) == 0
    assert "2 of 2 points, 1 run now" in capsys.readouterr().out
    assert page.stat().st_mtime_ns == written


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


@pytest.mark.slow
def test_points_can_run_on_a_dask_cluster(checkout):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(dashboard_address=None, **options) as cluster:
        words = ["sweep", "part/tiny", "-g", "n=2;3", "--cluster", cluster.scheduler_address]
        assert main(words) == 0
    assert [row["double"] for row in table(checkout)] == ["4", "6"]


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
