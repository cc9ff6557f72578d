"""The tables that the benchmarks write keep what was not timed again."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import dpbayes as dp
from benchmarks import test_scale
from benchmarks.kept import keep
from dpbayes.laws.series import candidate_sums

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


def test_a_law_is_timed_without_the_sums_that_an_earlier_round_has_kept(monkeypatch):
    mechanism, counts, known = dp.mechanism("expMech-smooth", 1.0), [5000, 3000, 2000], []
    monkeypatch.setattr(test_scale, "ROWS", [])

    def law() -> float:
        known.append(candidate_sums.kept())
        return float(mechanism.law(counts, np.ones(3)).mean_distance())

    def pedantic(action, setup, rounds, warmup_rounds):
        for _ in range(rounds + warmup_rounds):
            setup()
            found = action()
        return found

    stats = SimpleNamespace(stats=SimpleNamespace(data=[1.0]))
    timed = SimpleNamespace(pedantic=pedantic, stats=stats, extra_info={})
    law()
    test_scale.measured(timed, 1.0, "mean", 10_000, 3, 1.0, law)
    assert candidate_sums.kept() == 1
    assert known[1:] == [0] * 6
