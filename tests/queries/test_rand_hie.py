"""The real table of the chapter against the counts shipped with the package, two ways to it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from dpbayes import datasets
from dpbayes.queries.cube import build_cube
from dpbayes.queries.rand_hie import ATTRIBUTES, HEALTH, rand_hie_cells, rand_hie_cube


def test_its_health_margin_is_the_data_set_of_the_other_chapters() -> None:
    cube = rand_hie_cube()
    margin = cube.counts.reshape(cube.shape).sum(axis=(1, 2, 3))
    np.testing.assert_array_equal(margin, datasets.load("self-rated-health").counts)


def test_duckdb_counts_the_same_cells() -> None:
    counted = build_cube(rand_hie_cells(), ATTRIBUTES, count="records")
    np.testing.assert_array_equal(counted.counts, rand_hie_cube().counts)


def test_every_row_is_one_cell_and_none_is_empty() -> None:
    with Path(rand_hie_cells()).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    cells = {tuple(row[a.name] for a in ATTRIBUTES) for row in rows}
    assert len(cells) == len(rows) == int((rand_hie_cube().counts > 0).sum())
    assert all(int(row["records"]) > 0 for row in rows)
    assert {row["health"] for row in rows} == set(HEALTH)
