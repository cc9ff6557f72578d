"""The tables that the benchmarks write keep what was not timed again."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.kept import keep

ROOT = Path(__file__).parents[1]
COLUMNS = ("task", "k", "seconds")


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))[1:]


def test_rows_that_were_not_timed_again_stay(tmp_path):
    path = tmp_path / "timings.csv"
    keep(path, COLUMNS, [("mean, clamped", 4, "1.5"), ("law", 2, "0.1")], 2, whole=True)
    keep(path, COLUMNS, [("law", 2, "0.2"), ("law", 3, "0.3")], 2, whole=False)
    assert rows_of(path) == [
        ["mean, clamped", "4", "1.5"],
        ["law", "2", "0.2"],
        ["law", "3", "0.3"],
    ]


def test_a_whole_run_leaves_its_own_rows(tmp_path):
    path = tmp_path / "timings.csv"
    keep(path, COLUMNS, [("law", 2, "0.1")], 2, whole=True)
    keep(path, COLUMNS, [("law", 3, "0.3")], 2, whole=True)
    assert rows_of(path) == [["law", "3", "0.3"]]


def test_rows_of_other_columns_do_not_stay(tmp_path):
    path = tmp_path / "timings.csv"
    keep(path, ("task", "k", "minutes"), [("law", 2, "0.1")], 2, whole=True)
    keep(path, COLUMNS, [("law", 3, "0.3")], 2, whole=False)
    assert rows_of(path) == [["law", "3", "0.3"]]


def test_every_row_on_the_page_of_times_has_its_seconds():
    for name in ("timings.csv", "targets.csv"):
        with (ROOT / "book" / "scale" / name).open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert rows
        assert all(float(row["seconds of one core"]) >= 0.0 for row in rows)
