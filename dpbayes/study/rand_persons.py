"""The RAND table person by person: one plan for each number of records kept of a person.

The table is public, so its true counts may stand beside a release. The draw is seeded, for a page
that is rebuilt; a release of a table that is not public goes through `release_table`.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from csv import DictReader
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes.mechanisms.guarantees import own
from dpbayes.study.example_table import SeededBits
from dpbayes.tables.drawn import Release
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.prices import planned_mechanism, promise
from dpbayes.tables.table import count

RAND = files("dpbayes") / "data" / "rand-hie-persons.csv"


def plan_text(epsilon: str, keep: int, mechanism: str) -> str:
    """Return the plan of a release that keeps at most `keep` records of a person, nine lines.

    >>> plan_text("1", 1, "lattice").count(chr(10))
    9
    """
    return (
        'dataset = "rand-hie"\n'
        'account = "rand.account"\n'
        'column = "health"\n'
        'categories = ["excellent", "good", "fair", "poor"]\n'
        'person = "person"\n'
        f"keep = {keep}\n"
        f'mechanism = "{mechanism}"\n'
        f'epsilon = "{epsilon}"\n'
        "prior = 1\n"
    )


@dataclass(frozen=True)
class Persons:
    """Who is in the table: records of each person (most first), and whether ratings ever differ."""

    records: tuple[int, ...]
    changing: int

    @property
    def most(self) -> int:
        """The largest number of records of one person."""
        return max(self.records)


def persons() -> Persons:
    """Return how many records each person of the RAND table has.

    >>> found = persons()
    >>> len(found.records), found.most, sum(found.records), found.changing
    (5912, 5, 20190, 0)
    """
    numbers: Counter[str] = Counter()
    ratings: dict[str, set[str]] = {}
    with RAND.open(encoding="utf-8") as stream:
        for row in DictReader(stream):
            numbers[row["person"]] += 1
            ratings.setdefault(row["person"], set()).add(row["health"])
    changing = sum(len(seen) > 1 for seen in ratings.values())
    return Persons(tuple(sorted(numbers.values(), reverse=True)), changing)


@dataclass(frozen=True)
class Kept:
    """A release that keeps so many records of a person: `truth` (k,) what was counted, the draw."""

    plan: Plan
    truth: NDArray[np.int64]
    private: Release

    @property
    def sentence(self) -> str:
        """The promise to a person."""
        return promise(self.plan)

    @property
    def error(self) -> float:
        """The exact mean Hellinger distance of such a release, at the true counts."""
        return float(self.private.mechanism.law(self.truth, self.plan.prior).mean_distance())

    @property
    def width(self) -> float:
        """The mean width of the noise-aware 95% intervals of this release."""
        return float(np.diff(self.private.interval()).mean())


def kept(epsilon: str, keep: int, mechanism: str, rng: np.random.Generator) -> Kept:
    """Return a release of the RAND table that keeps at most `keep` records of a person.

    >>> one = kept("1", 1, "lattice", np.random.default_rng(1))
    >>> one.truth.tolist(), float(one.private.mechanism.epsilon)
    ([3275, 2088, 457, 92], 1.0)
    """
    with tempfile.TemporaryDirectory() as folder, as_file(RAND) as table:
        planned = Path(folder) / "release.toml"
        planned.write_text(plan_text(epsilon, keep, mechanism), encoding="utf-8")
        plan = read_plan(planned)
        truth = count(table, plan.attributes, plan.rules)
    chosen = planned_mechanism(plan)
    noisy, counts = own(chosen, "draw")(truth, plan.prior, SeededBits(rng))
    return Kept(plan, truth, Release(chosen, plan.prior, int(truth.sum()), noisy, counts))
