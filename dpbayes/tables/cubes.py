"""Data cubes: one count a cell of declared attributes, last attribute fastest."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import count_array, shown
from dpbayes.tables.attributes import Attribute, check_attributes
from dpbayes.tables.table import MOST_RECORDS, REFUSE, Rules
from dpbayes.tables.table import count as count_table
from dpbayes.tables.units import RECORD, Unit


@dataclass(frozen=True)
class Cube:
    """Counts of records over the cells of declared attributes, last attribute fastest.

    `attributes` at least one; `counts` (cells,) whole and not negative.

    >>> from dpbayes.tables.attributes import Bins
    >>> cube = Cube((Bins("age", (18, 40, 65)), Bins("sex", (0, 1, 2))), [1, 2, 3, 4])
    >>> cube.shape, cube.counts
    ((2, 2), array([1, 2, 3, 4]))
    """

    attributes: tuple[Attribute, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", check_attributes(self.attributes))
        counts, cells = count_array("counts", self.counts), math.prod(self.shape)
        if counts.shape != (cells,):
            raise ValueError(f"counts must have {cells} numbers, one a cell, got {counts.shape}")
        if np.any(counts > MOST_RECORDS):
            raise ValueError(f"counts must be from 0 to 2^53, got {counts.max()!r}")
        object.__setattr__(self, "counts", counts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def query(self, text: str) -> NDArray[np.float64]:
        """Return the coefficients (cells,) of a query text.

        >>> from dpbayes.tables.attributes import Bins, Categories
        >>> cube = Cube((Bins("income", (0, 10, 20)), Categories("sex", ("f", "m"))), [1, 2, 3, 4])
        >>> cube.query("income >= 10 and sex = f")
        array([0., 0., 1., 0.])
        """
        from dpbayes.tables.predicate import coefficients

        return coefficients(text, self.attributes)

    def content(self) -> bytes:
        """Return bytes that two cubes share only if cells, by name, and counts are the same."""
        schema = [[type(a).__name__, a.name, list(a.labels)] for a in self.attributes]
        return json.dumps(schema).encode() + self.counts.astype("<i8").tobytes()


def build_cube(
    source: str | Path,
    attributes: Sequence[Attribute],
    *,
    outside: str = REFUSE,
    count: str | None = None,
    unit: Unit = RECORD,
) -> Cube:
    r"""Return the cube of a CSV, TSV or Parquet file, as `count` counts it.

    `outside` is what to do with records that fit no cell: "refuse" or "drop"; `count` a column with
    the number of records of each row, for tables that are already aggregated.

    >>> import tempfile
    >>> from dpbayes.tables.attributes import Bins
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "cells.csv"
    ...     _ = table.write_text("age,records\n20,3\n45,2\n39,1\n")
    ...     build_cube(table, [Bins("age", (18, 40, 65))], count="records").counts
    array([4, 2])
    """
    if not isinstance(source, (str, Path)):
        raise TypeError(f"source must be the path of a file, got {shown(source)}")
    declared = check_attributes(attributes)
    return Cube(declared, count_table(source, declared, Rules(unit, outside, count=count)))
