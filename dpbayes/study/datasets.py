"""Real counts shipped with the package; the book's data cards say where they come from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate

_RECORDS = {
    "self-rated-health": "one person in one year",
    "cryotherapy": "one patient",
    "immunotherapy": "one patient",
    "badges": "one conference attendee",
    "bike-days": "one calendar day",
    "cryotherapy-types": "one patient",
    "immunotherapy-types": "one patient",
    "bike-weather": "one calendar day",
}
LONGEST_STAY = 5
"""Most years one person spent in the Health Insurance Experiment, and so most records of one."""


@dataclass(frozen=True)
class DataSet:
    """Counts (k,) of a variable with named categories; `record` says what is counted."""

    name: str
    categories: tuple[str, ...]
    counts: NDArray[np.int64]
    record: str

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


def names() -> tuple[str, ...]:
    """Return the names of the data sets, in the order of the data cards."""
    return tuple(_RECORDS)


def load(name: str) -> DataSet:
    """Return one of the shipped data sets.

    >>> load("self-rated-health").counts
    array([11019,  7309,  1560,   302])
    """
    return _tables()[_validate.choice("name", name, _RECORDS)]


@cache
def _tables() -> dict[str, DataSet]:
    source = resources.files("dpbayes").joinpath("data/counts.csv")
    rows = list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
    tables = {}
    for name, record in _RECORDS.items():
        own = [row for row in rows if row["data"] == name]
        counts = _validate.counts("counts", [int(row["count"]) for row in own])
        tables[name] = DataSet(name, tuple(row["category"] for row in own), counts, record)
    return tables
