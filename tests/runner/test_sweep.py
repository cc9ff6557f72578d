"""Sweeps: every value checked first, finished points kept, one table; the same on a
cluster.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dpbayes.notebooks.parameters import find
from dpbayes.runner.sweep import grid, sweep
from tests.tiny_notebooks import write_tiny


def rows(checkout: Path) -> list[dict[str, str]]:
    with (checkout / "out" / "tiny.csv").open() as file:
        return list(csv.DictReader(file))


def swept(
    checkout: Path, *axes: str, address: str | None = None
) -> tuple[dict[str, str], int]:
    name, path = find("tiny", checkout)
    points = grid(name, path, list(axes), [])
    return sweep(name, path, points, checkout / "out" / "tiny.csv", address=address)


def test_points_are_kept_and_not_run_again(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert swept(checkout, "n=2;3") == ({}, 2)
    assert capsys.readouterr().err.splitlines()[-1].startswith("[2/2] n=")
    assert [(one["n"], one["status"], one["double"]) for one in rows(checkout)] == [
        ("2", "done", "4"), ("3", "done", "6"),
    ]  # fmt: skip
    assert swept(checkout, "n=2;3;5") == ({}, 1)
    write_tiny(checkout / "notebooks", "part/tiny", "record.number('n', 9)")
    assert swept(checkout, "n=2;3;5") == ({}, 3)
    assert [(one["n"], one["recorded n"]) for one in rows(checkout)][:2] == [
        ("2", "9"),
        ("3", "9"),
    ]
    assert not list((checkout / "out").rglob("*.part"))


def test_a_failed_point_leaves_the_others(picky: Path) -> None:
    problems, ran = swept(picky, "n=3;4;1e1", "label=a/b;c")
    assert ran == 6
    assert set(problems) == {"n=4,label=a/b", "n=4,label=c"}
    assert "four is not for us" in problems["n=4,label=c"]
    assert [one["status"] for one in rows(picky)] == ["done"] * 2 + ["failed"] * 2 + [
        "done"
    ] * 2
    assert swept(picky, "n=3;4", "label=c")[1] == 1


def test_every_value_is_checked_before_anything_runs(checkout: Path) -> None:
    for axes, said in (
        (["n=1;0"], "n must be at least 1"),
        (["m=1"], "no parameter 'm'"),
    ):
        with pytest.raises(ValueError, match=said):
            swept(checkout, *axes)
    assert not (checkout / "out").exists()


def test_a_parameter_is_fixed_or_an_axis(checkout: Path) -> None:
    name, path = find("tiny", checkout)
    assert grid(name, path, ["n=1;2"], ["label=b"])["n=2"] == {"n": 2, "label": "b"}
    with pytest.raises(ValueError, match="n must be given once"):
        grid(name, path, ["n=1;2"], ["n=3"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_runs_the_same_points(checkout: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        assert swept(checkout, "n=2;3", address=cluster.scheduler_address) == ({}, 2)
    assert [one["double"] for one in rows(checkout)] == ["4", "6"]
