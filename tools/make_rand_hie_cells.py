"""Write dpbayes/data/rand-hie-cells.csv from the RAND HIE table shipped with
statsmodels.

Needs statsmodels. Run it from the top of the repository: python
tools/make_rand_hie_cells.py
"""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import statsmodels.datasets.randhie as randhie

from dpbayes.tables.files import RAND_HIE, read_cube

TARGET = RAND_HIE.with_name("rand-hie-cells.csv")
ATTRIBUTES = read_cube(RAND_HIE).attributes
HEALTH = ATTRIBUTES[0].labels


def main() -> None:
    """Count person-years by health, physical limitation, chronic diseases and
    visits."""
    table = randhie.load_pandas().data
    flags = np.stack([table["hlthg"], table["hlthf"], table["hlthp"]], axis=1)
    health = np.where(flags.any(axis=1), flags.argmax(axis=1) + 1, 0)
    columns = {
        "physical_limitation": table["physlm"],
        "chronic_diseases": table["disea"],
        "visits": table["mdvis"],
    }
    lows = [[HEALTH[i] for i in health]]
    for attribute in ATTRIBUTES[1:]:
        edges = np.array(attribute.edges)
        place = np.searchsorted(edges, columns[attribute.name], side="right") - 1
        if place.min() < 0 or place.max() >= attribute.size:
            raise ValueError(f"{attribute.name} has values outside its bins")
        lows.append([f"{edges[i]:g}" for i in place])
    counts = Counter(zip(*lows, strict=True))
    order = {name: i for i, name in enumerate(HEALTH)}
    rows = sorted(counts, key=lambda cell: (order[cell[0]], *map(float, cell[1:])))
    with TARGET.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*(attribute.name for attribute in ATTRIBUTES), "records"])
        writer.writerows([*cell, counts[cell]] for cell in rows)


if __name__ == "__main__":
    main()
