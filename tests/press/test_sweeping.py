"""A sweep runs what it must, keeps what is finished, and writes its table as it goes."""

from __future__ import annotations

import pytest

from dpbayes.cli import main
from dpbayes.press.cache import Cache
from dpbayes.press.keys import Surroundings
from dpbayes.press.sweeping import Point, Sweep
from tests.tiny_notebooks import rows_of, write_tiny


def test_every_point_of_the_grid_has_a_row(picky, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=2;5", "-g", "label=a;b"]) == 0
    shown = [(row["n"], row["label"], row["status"], row["double"]) for row in rows_of(picky)]
    assert shown == [(n, label, "done", str(2 * int(n))) for n in "25" for label in "ab"]
    assert "4 of 4 points, 4 run now" in capsys.readouterr().out


def test_finished_points_survive_a_failure_and_are_not_run_again(picky, capsys):
    assert main(["sweep", "part/tiny", "-g", "n=3;4", "--jobs", "1"]) == 1
    assert "at n=4: " in capsys.readouterr().err
    assert [(row["n"], row["status"]) for row in rows_of(picky)] == [
        ("3", "done"),
        ("4", "failed"),
    ]
    assert rows_of(picky)[1]["problem"] == "AssertionError: four is not for us"
    kept = next((picky / "sweep/part/tiny/points").glob("*/results/part/tiny/numbers.json"))
    written = kept.stat().st_mtime_ns
    assert main(["sweep", "part/tiny", "-g", "n=3;5"]) == 0
    assert "2 of 2 points, 1 run now" in capsys.readouterr().out
    assert kept.stat().st_mtime_ns == written
    assert [row["status"] for row in rows_of(picky)] == ["kept", "done"]


def test_a_point_is_run_again_when_the_notebook_changed_or_it_is_damaged(picky, capsys):
    words = ["sweep", "part/tiny", "-g", "n=2;3"]
    assert main(words) == 0
    numbers = next((picky / "sweep").rglob("numbers.json"))
    numbers.write_text('{"double": 1}')
    assert main(words) == 0
    assert "2 of 2 points, 1 run now" in capsys.readouterr().out
    assert [row["double"] for row in rows_of(picky)] == ["4", "6"]
    path = picky / "notebooks/part/tiny.ipynb"
    path.write_text(path.read_text().replace("2 * n", "20 * n"))
    assert main(words) == 0
    assert "2 of 2 points, 2 run now" in capsys.readouterr().out
    assert [row["double"] for row in rows_of(picky)] == ["40", "60"]


def test_long_values_findings_and_the_parquet_table(picky):
    duckdb = pytest.importorskip("duckdb")
    finding = "record.finding('long', len(label) > 2, true='Long.', false='Short.')"
    write_tiny(picky / "notebooks", "part/tiny", finding, "record.number('n', 7)", "print(label)")
    long = "x" * 2000
    words = ["sweep", "part/tiny", "-g", f"label=a;{long}", "-p", "n=2", "--parquet"]
    assert main(words) == 0
    assert [row["long holds"] for row in rows_of(picky)] == ["False", "True"]
    assert rows_of(picky)[1]["label"] == long
    rows = duckdb.sql(f"SELECT status, double, n FROM '{picky}/sweep/part/tiny.parquet'")
    assert rows.fetchall() == [("done", 4, 7), ("done", 4, 7)]


def test_the_state_tells_what_is_left(picky, capsys):
    points = {str(i): Point(str(i), {}, {}) for i in range(4)}
    path = picky / "notebooks/part/tiny.ipynb"
    sweep = Sweep("part/tiny", path, points, Cache(picky), Surroundings(), lambda content: None)
    points["0"].status, points["1"].status = "done", "failed"
    assert sweep.state(sweep.started + 100) == "2 of 4 points, 1 failed, about 2 min left"
