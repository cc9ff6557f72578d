"""Lower bounds for three to five categories that took minutes, kept with the package.

`tools/bound_simplex.py` computes those that the record lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbayes.study.records import read_rows
from dpbayes.study.simplex import LARGEST_REMAP, Simplex, lattice_means, remapped_mean, simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_plateaus import plateaus

ROUNDS = {
    (3, 30): 240, (3, 100): 120, (3, 300): 60, (3, 1000): 16,
    (4, 30): 60, (4, 60): 36, (4, 100): 24,
    (5, 12): 60, (5, 20): 36, (5, 50): 24,
}  # fmt: skip
"""Rounds for each number of categories and of records."""

EPSILONS = (5.0, 2.0, 1.0, 0.5)

LONGEST = {(3, 0.5): 300, (4, 0.5): 0, (4, 1.0): 30, (5, 0.5): 0, (5, 1.0): 12, (5, 2.0): 20}
"""Largest number of records that is tried at an epsilon, where windows are wide."""


@dataclass(frozen=True)
class Bounded:
    """The mean of lattice noise over all data of n records, and what none can be below.

    `remapped` is the mean of lattice noise with the best answer to each noisy row, nan where there
    are too many data sets; `folded` that of folded noise, nan where there is none or that is not
    decided, and `plateaus` that of folded noise with plateaus, nan there too and for other than
    three categories.
    """

    k: int
    n: int
    epsilon: float
    rounds: int
    lower: float
    lattice: float
    remapped: float
    folded: float
    plateaus: float

    @property
    def ratio(self) -> float:
        """`lattice` over `lower`."""
        return self.lattice / self.lower

    @property
    def best(self) -> float:
        """The smallest of `lattice`, `remapped`, `folded` and `plateaus`, over `lower`."""
        means = [self.lattice, self.remapped, self.folded, self.plateaus]
        return float(np.nanmin(means)) / self.lower


def bounded(n: int, epsilon: float, rounds: int, k: int = 3) -> Bounded:
    """Return the bound after so many rounds, and lattice noise beside it; flat prior.

    Book: `thm-simplex-certificate`.

    >>> 1.0 < bounded(40, 2.0, 24).ratio < 1.015
    True
    """
    space = simplex(n, k)
    lower = simplex_bound(n, epsilon, rounds=rounds, k=k).lower
    few = space.copies.sum() <= LARGEST_REMAP
    remapped = remapped_mean(space, epsilon) if few else float("nan")
    lattice = space.mean(lattice_means(space, epsilon))
    alike = _folded(space, epsilon)
    flat = plateaus(space, epsilon).mean if k == 3 and alike > 0.0 else float("nan")
    return Bounded(k, n, epsilon, rounds, lower, lattice, remapped, alike, flat)


def _folded(space: Simplex, epsilon: float) -> float:
    try:
        found = folded(space, epsilon)
        return found.mean if found.exists else float("nan")
    except ArithmeticError:  # not decided
        return float("nan")


def read_record(path: Path | None = None) -> list[Bounded]:
    """Return the bounds of the record that ships with the package, or of the file `path`."""
    return read_rows(Bounded, "simplex-bounds.csv", path)


def missing(found: Sequence[Bounded]) -> list[tuple[int, int, float]]:
    """Return the cases (k, n, epsilon) that are not among `found`, small ones first."""
    have = {(one.k, one.n, one.epsilon) for one in found}
    plan = [(k, n, e) for k, n in ROUNDS for e in EPSILONS if n <= LONGEST.get((k, e), n)]
    return [case for case in plan if case not in have]
