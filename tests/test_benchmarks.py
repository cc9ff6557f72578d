"""The tables that the benchmarks write keep what was not timed again."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.kept import keep

SCALE = Path(__file__).parents[1] / "book" / "scale"
COLUMNS = ("task", "k", "seconds")


def test_rows_that_were_not_timed_again_stay_unless_the_run_was_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "timings.csv"
    keep(path, COLUMNS, [("mean, clamped", 4, "1.5"), ("law", 2, "0.1")], 2, whole=True)
    keep(path, COLUMNS, [("law", 2, "0.2"), ("law", 3, "0.3")], 2, whole=False)
    assert path.read_text().splitlines()[1:] == [
        '"mean, clamped",4,1.5',
        "law,2,0.2",
        "law,3,0.3",
    ]
    keep(path, COLUMNS, [("law", 3, "0.3")], 2, whole=True)
    keep(path, ("task", "k", "minutes"), [("law", 5, "0.4")], 2, whole=False)
    assert path.read_text().splitlines()[1:] == ["law,5,0.4"]


def test_every_row_on_the_page_of_times_has_its_seconds() -> None:
    for name in ("timings.csv", "targets.csv"):
        rows = list(csv.DictReader((SCALE / name).read_text("utf-8").splitlines()))
        assert rows
        assert all(float(row["seconds of one core"]) >= 0.0 for row in rows)
