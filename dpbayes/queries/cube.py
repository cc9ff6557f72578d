"""Data cubes: declared attributes, one count a cell, and how real tables become one.

The bins are declared, never read off the data: a domain that follows the data would itself leak. A
table is counted by DuckDB in one GROUP BY, so that a large file never has to fit in memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import choice, flag, frozen, items, real, shown
from dpbayes.queries import _arrays
from dpbayes.queries.edges import bin_expression, digits
from dpbayes.queries.predicate import coefficients
from dpbayes.queries.reading import reader

_MOST_CELLS = 1 << 20
_MOST_RECORDS = 1 << 53
_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True)
class Bins:
    """A numeric attribute cut at `edges`: bin i holds edges[i] <= value < edges[i + 1].

    `whole` says that values are whole numbers, so that "> 4" and ">= 5" mean the same.

    >>> age = Bins("age", (18, 40, 65), whole=True)
    >>> age.size, age.labels, age.select("<", 40)
    (2, ('18 to 40', '40 to 65'), array([ True, False]))
    >>> age.select("<", 50)
    Traceback (most recent call last):
        ...
    ValueError: age < 50 cuts through the bin 40 to 65; the edges are 18, 40, 65
    """

    name: str
    edges: tuple[float, ...]
    whole: bool = False
    of_texts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        flag("whole", self.whole)
        edges = tuple(real("edges", edge) for edge in items("edges", self.edges))
        if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
            raise ValueError(
                f"edges of {self.name} must be at least 2 and increase, got {shown(self.edges)}"
            )
        object.__setattr__(self, "edges", edges)

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a bin."""
        return tuple(f"{digits(a)} to {digits(b)}" for a, b in pairwise(self.edges))

    def select(self, sign: str, value: float | str) -> NDArray[np.bool_]:
        """Return which bins satisfy `attribute sign value`; a bin that is cut is an error."""
        if isinstance(value, str):
            raise ValueError(f"{self.name} is numeric, but is compared with {value!r}")
        lows, highs = np.array(self.edges[:-1]), np.array(self.edges[1:])
        if self.whole:
            first, last = np.ceil(lows), np.ceil(highs) - 1
        else:
            first, last = lows, np.nextafter(highs, -math.inf)
        below, above = _COMPARE[sign](first, value), _COMPARE[sign](last, value)
        holds = (first <= value) & (value <= last) & (first < last)
        cut = holds if sign in ("=", "!=") else below != above
        if np.any(cut):
            i = int(np.flatnonzero(cut)[0])
            raise ValueError(
                f"{self.name} {sign} {digits(value)} cuts through the bin {self.labels[i]}; "
                f"the edges are {', '.join(digits(edge) for edge in self.edges)}"
            )
        return np.asarray(below)

    def sql(self, column: str) -> tuple[str, list[Any]]:
        """Return an SQL expression for the bin's index, and its parameters."""
        return bin_expression(column, self.edges)


@dataclass(frozen=True)
class Categories:
    """An attribute with listed `values`, all text or all numbers.

    >>> sex = Categories("sex", ("f", "m"))
    >>> sex.size, sex.select("=", "m")
    (2, array([False,  True]))
    """

    name: str
    values: tuple[str | float, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        values = items("values", self.values)
        text = [isinstance(value, str) for value in values]
        if any(text) and not all(text):
            raise TypeError(
                f"values of {self.name} must be all text or all numbers, got {shown(values)}"
            )
        if not all(text):
            values = tuple(value for value in values if real("values", value) == value)
        if not values or len(set(values)) != len(values):
            raise ValueError(
                f"values of {self.name} must be distinct and at least 1, got {shown(self.values)}"
            )
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def of_texts(self) -> bool:
        """Whether the values are texts, so that 01 and 1 are two of them."""
        return isinstance(self.values[0], str)

    @property
    def labels(self) -> tuple[str, ...]:
        """One text a value."""
        return tuple(v if isinstance(v, str) else digits(v) for v in self.values)

    def select(self, sign: str, value: float | str) -> NDArray[np.bool_]:
        """Return which values satisfy `attribute sign value`."""
        if self.of_texts != isinstance(value, str):
            raise ValueError(
                f"{self.name} has values {self.labels}, but is compared with {value!r}"
            )
        if sign in ("=", "!=") and value not in self.values:
            raise ValueError(f"{self.name} must be one of {', '.join(self.labels)}, got {value!r}")
        if self.of_texts and sign not in ("=", "!="):
            raise ValueError(f"{self.name} has no order: use =, != or in, got {sign!r}")
        return np.asarray(_COMPARE[sign](np.array(self.values), value), dtype=np.bool_)

    def sql(self, column: str) -> tuple[str, list[Any]]:
        """Return an SQL expression for the value's index, and its parameters."""
        kind = "VARCHAR" if self.of_texts else "DOUBLE"
        cases = [f"WHEN {column}::{kind} = ?::{kind} THEN {i}" for i in range(self.size)]
        return f"CASE {' '.join(cases)} ELSE -1 END", list(self.values)


Attribute = Bins | Categories


@dataclass(frozen=True)
class Cube:
    """Counts of records over the cells of declared attributes, last attribute fastest.

    `attributes` at least one; `counts` (cells,) whole and not negative.

    >>> cube = Cube((Bins("age", (18, 40, 65)), Categories("sex", ("f", "m"))), [1, 2, 3, 4])
    >>> cube.shape, float(cube.query("age < 40") @ cube.counts)
    ((2, 2), 3.0)
    """

    attributes: tuple[Attribute, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", items("attributes", self.attributes))
        _check_attributes(self.attributes)
        counts = _whole_counts("counts", self.counts, math.prod(self.shape))
        object.__setattr__(self, "counts", counts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def query(self, text: str) -> NDArray[np.float64]:
        """Return the coefficients (cells,) of a query text.

        >>> cube = Cube((Bins("income", (0, 10, 20)), Categories("sex", ("f", "m"))), [1, 2, 3, 4])
        >>> cube.query("income >= 10 and sex = f")
        array([0., 0., 1., 0.])
        """
        return coefficients(text, self.attributes)

    def content(self) -> bytes:
        """Return bytes that two cubes share only if cells, by name, and counts are the same."""
        schema = [[type(a).__name__, a.name, list(a.labels)] for a in self.attributes]
        return json.dumps(schema).encode() + self.counts.astype("<i8").tobytes()


def as_cube(value: Cube | ArrayLike) -> Cube:
    """Return a cube unchanged, or counts as a cube with the single attribute "cell"."""
    if isinstance(value, Cube):
        return value
    counts = _whole_counts("cube", value)
    return Cube((Bins("cell", tuple(range(counts.size + 1)), whole=True),), counts)


def _whole_counts(name: str, value: ArrayLike, cells: int | None = None) -> NDArray[np.int64]:
    values = _arrays.vector(name, value, cells)
    wrong = (values < 0) | (values != np.floor(values)) | (values > _MOST_RECORDS)
    if np.any(wrong):
        raise ValueError(f"{name} must be whole numbers from 0 to 2^53, got {values[wrong][0]!r}")
    return frozen(values.astype(np.int64))


def build_cube(
    source: str | Path,
    attributes: Sequence[Attribute],
    *,
    outside: str = "refuse",
    count: str | None = None,
    connection: Any = None,
) -> Cube:
    """Return the cube of a CSV file, a Parquet file or a table, counted by DuckDB.

    Parameters: `source` a path ending in .csv, .tsv or .parquet, or the name of a table in
    `connection`, a DuckDB connection; `attributes` whose names are columns; `outside` what to do
    with records that fit no cell: "refuse" or "drop"; `count` a column with the number of records
    of each row, for tables that are already aggregated. Needs the extra `queries`.

    >>> from dpbayes.queries.rand_hie import HEALTH, rand_hie_cells
    >>> build_cube(rand_hie_cells(), [Categories("health", HEALTH)], count="records").counts
    array([11019,  7309,  1560,   302])
    """
    declared = items("attributes", attributes)
    if not isinstance(source, (str, Path)):
        raise TypeError(f"source must be a path or the name of a table, got {shown(source)}")
    _check_attributes(declared)
    choice("outside", outside, ("refuse", "drop"))
    duckdb = _duckdb()
    owned = connection is None
    active = _quiet_connection(duckdb) if owned else connection
    try:
        rows = _grouped(active, source, declared, count)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"source {str(source)!r} cannot be counted: {reason}") from error
    finally:
        if owned:
            active.close()
    return Cube(declared, _placed(rows, tuple(a.size for a in declared), outside))


def _grouped(
    connection: Any, source: str | Path, attributes: tuple[Attribute, ...], count: str | None
) -> list[tuple[Any, ...]]:
    parts, values = [], []
    measured = [] if count is None else [count]
    wanted = dict.fromkeys([*(attribute.name for attribute in attributes), *measured])
    relation, place, columns = reader(source, list(wanted))
    for attribute in attributes:
        expression, parameters = attribute.sql(columns[attribute.name])
        parts.append(expression)
        values += parameters
    measure = "count(*), 0" if count is None else _added(columns[count])
    statement = f"SELECT {', '.join(parts)}, {measure} FROM {relation} GROUP BY ALL"
    return list(connection.execute(statement, values + place).fetchall())


def _added(count: str) -> str:
    """Return the records of a group, and how many of its rows have no whole number of them."""
    whole = f"{count} >= 0 AND {count} <= {_MOST_RECORDS} AND {count} = floor({count})"
    each = f"CASE WHEN {whole} THEN {count}::HUGEINT END"
    return f"coalesce(sum({each}), 0), count(*) - count({each})"


def _placed(rows: list[tuple[Any, ...]], shape: tuple[int, ...], outside: str) -> NDArray[np.int64]:
    counts = np.zeros(shape, dtype=np.int64)
    missed = 0
    for *cell, number, wrong in rows:
        if wrong or number > _MOST_RECORDS:
            found = f"{wrong} rows without one" if wrong else f"{number:.0f} in a cell"
            raise ValueError(f"count must be a whole number from 0 to 2^53, got {found}")
        if min(cell) < 0:
            missed += int(number)
        else:
            counts[tuple(cell)] += int(number)
    if missed and outside == "refuse":
        raise ValueError(
            f"attributes must cover every record, but {missed} lie outside; widen the bins or "
            "pass outside='drop'"
        )
    return counts.reshape(-1)


def _check_attributes(attributes: Sequence[Attribute]) -> None:
    if not attributes or not all(isinstance(a, (Bins, Categories)) for a in attributes):
        raise TypeError(
            f"attributes must be Bins or Categories, at least 1, got {shown(attributes)}"
        )
    names = [attribute.name for attribute in attributes]
    if len(set(names)) != len(names):
        raise ValueError(f"attributes must have different names, got {names}")
    cells = math.prod(attribute.size for attribute in attributes)
    if cells > _MOST_CELLS:
        raise ValueError(f"attributes must make at most {_MOST_CELLS} cells, got {cells}")


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name or '"' in name or "'" in name:
        raise ValueError(f"name must be text without quotation marks, got {shown(name)}")


def _quiet_connection(duckdb: Any) -> Any:
    """Return a connection that stays small and draws no progress bar."""
    connection = duckdb.connect(config={"memory_limit": "512MB"})
    connection.execute("SET enable_progress_bar = false")
    return connection


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("building a cube needs DuckDB: install dpbayes[queries]") from None
    return duckdb
