"""Random cube files, small tables and all changes of one unit, for the property tests.

A table is a list of rows; the last block of rows is the unit that changes: one record,
or the records of one person.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

UNDECLARED, MISSING = ("x?", "7e9"), ("", "NA", " n/a ")
Row = tuple[str, ...]


def many(cases: int) -> int:
    """Return how many cases a slow test tries, for at most three processor minutes.

    The variable DPBAYES_CASES multiplies them: DPBAYES_CASES=10 for ten times as many.
    """
    return round(cases * float(os.environ.get("DPBAYES_CASES", "1")))


ATTRIBUTES = (
    ('edges = [0, 10, 20]', ("3", "10", "19.5"), ("{} < 10", "{} >= 10")),
    ("edges = [-inf, 1.5, inf]", ("-4", "1.5"), ("{} < 1.5", "not ({} < 1.5)")),
    (
        "edges = [0, 5, 9, 12]\nwhole = true",
        ("0", "5", "11"),
        ("{} > 4", "{} between 5 and 12"),
    ),
    ('values = ["f", "m"]', ("f", "m"), ("{} = f", "{} in (f, m)", "{} != f")),
    (
        "values = [1, 2.5, 4]",
        ("1", "2.50", "4e0"),
        ("{} = 1", "{} > 1", "{} in (1, 4)"),
    ),
    ('values = ["only"]', ("only",), ("{} = only",)),
)  # fmt: skip


@dataclass
class Case:
    """One cube file with its options; `values` that each attribute of a record may
    take.
    """

    relation: str
    person: bool = False
    keep: int = 1
    records: int = 1
    neighbours: str | None = None
    outside: str = "refuse"
    missing: str | None = None
    count: bool = False
    weighs: bool = False  # the column of records is the first attribute: a fault
    attributes: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=list
    )

    @property
    def names(self) -> list[str]:
        return [f"a{i}" for i in range(len(self.attributes))]

    @property
    def values(self) -> list[tuple[str, ...]]:
        """Every value of each attribute that the file does not refuse."""
        missing = self.missing or self.outside
        more = UNDECLARED if self.outside == "drop" else ()
        more += MISSING if missing != "refuse" else ()
        return [one[1] + more for one in self.attributes]

    def cube(self, source: str, bound: float) -> str:
        lines = [f"source = {json.dumps(source)}", f"bound = {bound!r}"]
        lines += [f'person = "id"\nkeep = {self.keep}'] if self.person else []
        lines += [] if self.person else ['unit = "record"']
        lines += [f'neighbours = "{self.neighbours}"'] if self.neighbours else []
        lines += [f'outside = "{self.outside}"'] if self.outside == "drop" else []
        lines += [f'missing = "{self.missing}"'] if self.missing else []
        lines += [f'count = "{"a0" if self.weighs else "n"}"'] if self.count else []
        for name, one in zip(self.names, self.attributes, strict=True):
            lines += [f'[[attribute]]\nname = "{name}"\n{one[0]}']
        return "\n".join(lines) + "\n"

    def question(self, rng: np.random.Generator) -> str:
        """Return a random question about the cube."""
        terms = []
        for _ in range(int(rng.integers(1, 4))):
            conditions = []
            for name, one in zip(self.names, self.attributes, strict=True):
                if rng.random() < 0.6:
                    conditions.append(str(rng.choice(one[2])).format(name))
            factor = rng.choice(["1", "2", "-1", "1000000", "1000001", "0.3", "1e-9"])
            terms.append(f"{factor} * ({' and '.join(conditions) or 'all'})")
        if rng.random() < 0.3:  # where only what is dropped is much apart
            return f"1000000 * all + {terms[0].split(' * ', 1)[1]}"
        if rng.random() < 0.4:
            return terms[0].split(" * ", 1)[1]
        return " + ".join(terms)

    def write(self, path: Path, rows: list[Row], unit: list[Row]) -> Path:
        """Write a table with a unit in it."""
        heads = (["id"] if self.person else []) + self.names + ["n"] * self.count
        lines = [heads]
        lines += [[f"p{i}"] * self.person + list(row) for i, row in enumerate(rows)]
        lines += [["me"] * self.person + list(row) for row in unit]
        quoted = (",".join(f'"{one}"' for one in line) for line in lines)
        path.write_text("\n".join(quoted) + "\n")
        return path

    def row(self, rng: np.random.Generator) -> Row:
        """Return the row of somebody else."""
        values = tuple(str(rng.choice(one)) for one in self.values)
        return (*values, str(rng.integers(0, 4))) if self.count else values

    def units(self, rng: np.random.Generator) -> list[list[Row]]:
        """Return what the unit that changes may be, in all ways that matter: a person
        with `records` of them, of which the first `keep` are counted.
        """
        each = [
            (*values, "1") if self.count else values for values in product(*self.values)
        ]
        if not self.person:
            return [[row] for row in each]
        mixed = [
            [each[int(rng.integers(len(each)))] for _ in range(self.records)]
            for _ in range(8)
        ]
        return [[row] * self.records for row in each] + mixed

    def neighbours_of(self, units: list[list[Row]]) -> list[tuple[list[Row], ...]]:
        """Return all pairs of units by which neighbouring tables differ."""
        if self.relation == "add-or-remove":
            return [(unit, []) for unit in units]
        return [(one, other) for i, one in enumerate(units) for other in units[:i]]


WHOLE = ATTRIBUTES[2]
OPTIONS = tuple(
    product(
        ("replace-one", "add-or-remove"),
        ("record", "count", "person", "persons"),
        ("refuse", "drop"),
        (None, "refuse", "drop", "unknown"),
    )
)


def random_case(rng: np.random.Generator, number: int | None = None) -> Case:
    """Return one combination of the options that a cube file may have."""
    chosen = int(rng.integers(len(OPTIONS))) if number is None else number
    relation, unit, outside, missing = OPTIONS[chosen % len(OPTIONS)]
    case = Case(relation, unit.startswith("person"), outside=outside, missing=missing)
    case.count = unit == "count"
    case.keep = int(rng.integers(2, 4)) if unit == "persons" else 1
    case.records = int(rng.integers(1, case.keep + 2)) if case.person else 1
    if rng.random() < 0.3:
        case.neighbours = str(rng.choice([relation, "add-or-remove"]))
    places = rng.choice(len(ATTRIBUTES), int(rng.integers(1, 3)), replace=False)
    listed = ATTRIBUTES
    if case.missing == "unknown":  # which every attribute must have
        listed = (
            ('values = ["f", "m", "unknown"]', ("f", "m"), ATTRIBUTES[3][2]),
            ('values = ["a", "unknown"]', ("a", "unknown"), ("{} = a", "{} != a")),
        )
        places = rng.permutation(2)[: len(places)]
    case.attributes = [listed[int(i)] for i in places]
    if case.count and case.missing is None and number is not None:
        case.weighs, case.attributes[0] = True, WHOLE
    return case
