"""Lower bounds for three categories and many records that took minutes, kept with the package.

`tools/bound_three.py` computes those that the record lacks.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from dpbayes.study.simplex import lattice_means, simplex
from dpbayes.study.simplex_bound import simplex_bound

ROUNDS = {30: 240, 100: 96, 300: 48, 1000: 24}
"""Rounds for each number of records."""

EPSILONS = (5.0, 2.0, 1.0, 0.5)

LONGEST = {0.5: 300}
"""Largest number of records that is tried at an epsilon, where windows are wide."""


@dataclass(frozen=True)
class Bounded:
    """The mean of lattice noise over all data of n records, k = 3, and what none can be below."""

    n: int
    epsilon: float
    rounds: int
    lower: float
    lattice: float

    @property
    def ratio(self) -> float:
        """`lattice` over `lower`."""
        return self.lattice / self.lower


def bounded(n: int, epsilon: float, rounds: int) -> Bounded:
    """Return the bound after so many rounds, and lattice noise beside it; flat prior.

    Book: `thm-simplex-certificate`.

    >>> 1.0 < bounded(40, 2.0, 24).ratio < 1.015
    True
    """
    space = simplex(n)
    lower = simplex_bound(n, epsilon, rounds=rounds).lower
    return Bounded(n, epsilon, rounds, lower, space.mean(lattice_means(space, epsilon)))


def read_record(path: Path | None = None) -> list[Bounded]:
    """Return the bounds of the record that ships with the package, or of the file `path`."""
    source = files("dpbayes").joinpath("data/simplex-bounds.csv") if path is None else path
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    return [
        Bounded(
            int(row["n"]), float(row["epsilon"]), int(row["rounds"]), float(row["lower"]),
            float(row["lattice"]),
        )
        for row in rows
    ]  # fmt: skip


def write_record(found: Iterable[Bounded], path: Path) -> None:
    """Write the bounds to `path`, ordered by size and epsilon."""
    kept = sorted(found, key=lambda one: (one.n, one.epsilon))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(kept[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in kept)


def missing(found: Sequence[Bounded]) -> list[tuple[int, float]]:
    """Return the cases that are not among `found`, small ones first."""
    have = {(one.n, one.epsilon) for one in found}
    plan = [(n, e) for n in ROUNDS for e in EPSILONS if n <= LONGEST.get(e, n)]
    return [case for case in plan if case not in have]
