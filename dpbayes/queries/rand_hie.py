"""The real table of the chapter: 20 190 person-years of the RAND Health Insurance Experiment.

Counts of person-years by self-rated health, physical limitation, chronic diseases and outpatient
visits, derived from the public-domain table that statsmodels ships. One record is one person in one
year: a person can have up to five, so that the guarantee for one record is not one for one person.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import cast

import numpy as np

from dpbayes.queries.cube import Bins, Categories, Cube

HEALTH = ("excellent", "good", "fair", "poor")
ATTRIBUTES: tuple[Categories, Bins, Bins, Bins] = (
    Categories("health", HEALTH),
    Bins("physical_limitation", (0, 0.5, 1.5)),
    Bins("chronic_diseases", (0, 3, 6, 9, 12, 15, 20, 30, 60)),
    Bins("visits", (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 35, 80), whole=True),
)


def rand_hie_cells() -> str:
    """Return the path of the table of cell counts, one row a cell that is not empty.

    >>> from pathlib import Path
    >>> Path(rand_hie_cells()).read_text().splitlines()[0]
    'health,physical_limitation,chronic_diseases,visits,records'
    """
    return str(files("dpbayes") / "data" / "rand-hie-cells.csv")


def rand_hie_cube() -> Cube:
    """Return the cube of 4 x 2 x 8 x 16 = 1024 cells.

    >>> cube = rand_hie_cube()
    >>> cube.shape, int(cube.counts.sum())
    ((4, 2, 8, 16), 20190)
    """
    counts = np.zeros(tuple(attribute.size for attribute in ATTRIBUTES), dtype=np.int64)
    with open(rand_hie_cells(), newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            place = [HEALTH.index(row["health"])]
            for attribute in cast(tuple[Bins, ...], ATTRIBUTES[1:]):
                place.append(attribute.edges.index(float(row[attribute.name])))
            counts[tuple(place)] = int(row["records"])
    return Cube(ATTRIBUTES, counts.reshape(-1))
