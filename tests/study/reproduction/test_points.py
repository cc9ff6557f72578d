"""The points read off the pictures: complete, well formed, and each of them compared."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

from dpbayes.study.catalogue import catalogue
from dpbayes.study.printed import all_points, raw_means

ROOT = Path(__file__).parents[3]
LOWEST = "actual epsilon (lowest marker; n read as 10)"


def rows() -> list[dict[str, str]]:
    text = files("dpbayes").joinpath("data/published-curves.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_every_point_is_well_formed() -> None:
    assert len(rows()) == 1538
    for row in rows():
        assert row["document"] in "ABCD"
        assert float(row["y_error"]) > 0
        assert float(row["x_error"]) >= 0
        assert -0.01 < float(row["y"]) <= 1.01
        assert "@" in row["source"] or row["method"] == "eye"


def test_every_raster_point_belongs_to_a_series_but_the_one_whose_size_is_not_known() -> None:
    compared = sum(len(series.points) for series in catalogue())
    raster = [row for row in rows() if row["method"] == "raster"]
    assert len(raster) - compared == sum(row["curve"] == LOWEST for row in raster) == 1


def test_raw_means_are_complete() -> None:
    assert len(raw_means()) == 70
    assert {mean.runs for mean in raw_means()} == {1000, 3000}


def test_the_draft_looks_at_two_to_thirty_records() -> None:
    data = [p.x.partition("|")[0] for p in all_points() if p.document == "B"]
    records = [sum(map(int, x.split("/"))) for x in data]
    assert (min(records), max(records)) == (2, 30)
