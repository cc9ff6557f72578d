"""Lower bounds for four and five categories by boxes, kept with the package.

`tools/bound_boxes.py` computes those that the record lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbayes.study.records import read_rows
from dpbayes.study.simplex_box_bound import BoxBound, box_bound
from dpbayes.study.simplex_box_means import box_mean
from dpbayes.study.simplex_corner_bound import CornerBound, corner_bound
from dpbayes.study.simplex_corner_columns import column_bound

RATIOS = {
    (4, 300, 5.0): 1.05, (4, 1000, 5.0): 1.05, (5, 300, 5.0): 1.1, (5, 1000, 5.0): 1.12,
    (4, 300, 2.0): 1.06, (4, 1000, 2.0): 1.06, (4, 300, 1.0): 1.1, (4, 1000, 1.0): 1.08,
    (5, 1000, 2.0): 1.15, (5, 300, 2.0): 1.15,
}  # fmt: skip
"""For each number of categories, of records, and epsilon how far the counts of a level differ."""

CORNERS = {(4, 300, 2.0): (6, 20), (4, 1000, 2.0): (6, 20)}
"""Lines whose conditions are asked at corners: `radius` and `rounds` of `corner_bound`."""

COLUMNS: dict[tuple[int, int, float], tuple[int, int, int, float, int, float, float | None]] = {
    (4, 300, 1.0): (14, 4000, 12, 1.5, 7, 0.0, None),
    (4, 1000, 1.0): (15, 8000, 12, 1.45, 9, 0.004, None),
    (5, 300, 2.0): (8, 5000, 10, 2.0, 6, 0.002, None),
    (5, 1000, 2.0): (8, 7000, 10, 2.2, 6, 0.002, None),
}
"""Lines whose factors come from a mesh and whose columns count by their prices: `radius`,
`answers`, `turns`, `mesh`, `learned`, `reserve` and `plateau` of `column_bound`.
"""

ROUNDS, FALL = 15, 1.5
"""Rounds and length of steps for the other lines of the record, see `box_bound`."""

LATTICE = {4: 1.025, 5: 1.06}
"""How far they differ at most where lattice noise of so many categories is bounded."""


@dataclass(frozen=True)
class BoxBounded:
    """The mean distance over all data of n records: its lower bound and lattice noise's.

    No epsilon-DP mechanism that answers with histograms has a mean below `lower`, and lattice noise
    with the nearest histogram has at most `lattice`. Found with `boxes` boxes; the counts of one
    level differ by the factor `ratio`. Book: `thm-simplex-boxes`, `thm-simplex-corners`.
    """

    k: int
    n: int
    epsilon: float
    ratio: float
    boxes: int
    lower: float
    lattice: float

    @property
    def above(self) -> float:
        """By which part `lattice` is above `lower`."""
        return self.lattice / self.lower - 1.0


def box_bounded(n: int, epsilon: float, ratio: float, k: int = 4) -> BoxBounded:
    """Return the bound and lattice noise beside it; flat prior. Book: `thm-simplex-boxes`.

    >>> round(box_bounded(40, 5.0, 1.1).above, 3)
    0.054
    """
    found = found_bound(n, epsilon, ratio, k)
    lattice = box_mean(n, epsilon, k, ratio=min(ratio, LATTICE.get(k, ratio)))
    return BoxBounded(k, n, epsilon, ratio, len(found.boxes.rows), found.lower, lattice)


def found_bound(n: int, epsilon: float, ratio: float, k: int) -> BoxBound | CornerBound:
    """Return the bound behind a line: by boxes, if it is in none of the tables for corners."""
    if (k, n, epsilon) in COLUMNS:
        return column_bound(n, epsilon, k, 1.0, ratio, *COLUMNS[k, n, epsilon])
    if (k, n, epsilon) in CORNERS:
        radius, rounds = CORNERS[k, n, epsilon]
        return corner_bound(n, epsilon, k, ratio=ratio, radius=radius, rounds=rounds)
    return box_bound(n, epsilon, k, ratio=ratio, rounds=ROUNDS, fall=FALL)


def read_record(path: Path | None = None) -> list[BoxBounded]:
    """Return the bounds of the record that ships with the package, or of the file `path`."""
    return read_rows(BoxBounded, "box-bounds.csv", path)


def missing(found: Sequence[BoxBounded]) -> list[tuple[int, int, float]]:
    """Return the cases (k, n, epsilon) that are not among `found`, in the order of `RATIOS`."""
    have = {(one.k, one.n, one.epsilon) for one in found}
    return [case for case in RATIOS if case not in have]
