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
from dpbayes.study.simplex_answers import answered
from dpbayes.study.simplex_bound import SimplexBound, simplex_bound
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_plateaus import plateaus
from dpbayes.study.simplex_wide import wide_bound

ROUNDS = {
    (3, 30): 240, (3, 100): 120, (3, 300): 60, (3, 1000): 16,
    (4, 30): 60, (4, 60): 36, (4, 100): 24,
    (5, 12): 60, (5, 20): 36, (5, 50): 24,
}  # fmt: skip
"""Rounds for each number of categories and of records."""

EPSILONS = (5.0, 2.0, 1.0, 0.5)

WIDE, MANY = 1.0, 100
"""Below this epsilon answers to plateaus are sought; from so many records on with a mesh."""

TURNS = {100: 20, 300: 25, 1000: 14}
"""Turns of the search on a mesh for each number of records; for others as many as for the most."""

WIDE_ROUNDS = {100: 24, 300: 24, 1000: 14}
"""Rounds in which shares are learned for prices from a mesh, for each number of records."""

LONGEST = {(4, 0.5): 0, (4, 1.0): 30, (5, 0.5): 0, (5, 1.0): 12, (5, 2.0): 20}
"""Largest number of records that is tried at an epsilon, where windows are wide."""


@dataclass(frozen=True)
class Bounded:
    """The mean of lattice noise over all data of n records, and what none can be below.

    `remapped` is the mean of lattice noise with the best answer to each noisy row, nan where there
    are too many data sets; `folded` that of folded noise, nan where there is none or that is not
    decided, and `plateaus` that of folded noise with plateaus, nan there too and for other than
    three categories. `answered` is the mean of that noise with the best answers to it, for three
    categories and an epsilon below `WIDE`.
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
    answered: float

    @property
    def ratio(self) -> float:
        """`lattice` over `lower`."""
        return self.lattice / self.lower

    @property
    def best(self) -> float:
        """The smallest of the means of mechanisms over `lower`."""
        means = [self.lattice, self.remapped, self.folded, self.plateaus, self.answered]
        return float(np.nanmin(means)) / self.lower


def bounded(n: int, epsilon: float, rounds: int, k: int = 3) -> Bounded:
    """Return the bound after so many rounds, and lattice noise beside it; flat prior.

    Book: `thm-simplex-certificate`.

    >>> 1.0 < bounded(40, 2.0, 24).ratio < 1.015
    True
    """
    space = simplex(n, k)
    lower = best_bound(n, epsilon, rounds, k).lower
    few = space.copies.sum() <= LARGEST_REMAP
    remapped = remapped_mean(space, epsilon) if few else float("nan")
    lattice = space.mean(lattice_means(space, epsilon))
    alike = _folded(space, epsilon)
    flat, meant = _flat(space, epsilon) if alike > 0.0 else (float("nan"), float("nan"))
    return Bounded(k, n, epsilon, rounds, lower, lattice, remapped, alike, flat, meant)


def best_bound(n: int, epsilon: float, rounds: int, k: int) -> SimplexBound:
    """Return the bound after so many rounds, by prices on a mesh where noise is wide."""
    if k == 3 and epsilon < WIDE and n >= MANY:
        return wide_bound(n, epsilon, TURNS.get(n, max(TURNS.values())), rounds)
    return simplex_bound(n, epsilon, rounds=rounds, k=k)


def rounds_of(k: int, n: int, epsilon: float) -> int:
    """Return the rounds of a line of the record.

    >>> rounds_of(3, 1000, 1.0), rounds_of(3, 1000, 0.5)
    (16, 14)
    """
    wide = k == 3 and epsilon < WIDE and n >= MANY
    return WIDE_ROUNDS[n] if wide else ROUNDS[k, n]


def _flat(space: Simplex, epsilon: float) -> tuple[float, float]:
    if space.k != 3:
        return float("nan"), float("nan")
    found = plateaus(space, epsilon)
    return found.mean, answered(space, epsilon, found).mean if epsilon < WIDE else float("nan")


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
