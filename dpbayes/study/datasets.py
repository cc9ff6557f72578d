"""Real counts shipped with the package; the book's data cards say where they come
from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate


@dataclass(frozen=True)
class DataSet:
    """Counts (k,) of a variable with named categories."""

    name: str
    categories: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.counts.sum())


def load(name: str) -> DataSet:
    """Return one of the shipped data sets.

    >>> load("self-rated-health").counts
    array([11019,  7309,  1560,   302])
    """
    source = resources.files("dpbayes").joinpath("data/counts.csv")
    rows = list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
    _validate.choice("name", name, {row["data"] for row in rows})
    own = {row["category"]: int(row["count"]) for row in rows if row["data"] == name}
    return DataSet(name, tuple(own), _validate.counts("counts", [*own.values()]))
