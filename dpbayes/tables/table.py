"""Counting a table of people as declared; the counts are the only thing that leaves.

One reader for releases and cubes. DuckDB reads every column as text and groups; which text is
which category is decided by what was declared, never by the rows. Numbers are compared digit by
digit: a text whose nearest float is an edge is placed by its decimals.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import choice
from dpbayes.tables.attributes import (
    Attribute,
    Bins,
    Categories,
    check_attributes,
)
from dpbayes.tables.source import Source, TableError, open_source, trouble
from dpbayes.tables.units import RECORD, Unit

__all__ = ["Bins", "Categories", "Rules", "TableError", "count"]

REFUSE, DROP = "refuse", "drop"
_MEMORY = "2GB"
_MOST_GROUPS = 1 << 21
MOST_RECORDS = 1 << 53
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?"
_OUTSIDE, _MISSING = "?", "-"
_KEPT = "="
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """What is done with rows that fit no cell, and what counts one row.

    `missing` is "refuse", "drop" or a label that every attribute has; `missing_values` the texts
    that stand for no value; without them an empty text is one like any other. `outside` is "refuse"
    or "drop"; `count` a column with the number of records of each row.
    """

    unit: Unit = RECORD
    outside: str = REFUSE
    missing: str = REFUSE
    missing_values: tuple[str, ...] = ()
    count: str | None = None

    def __post_init__(self) -> None:
        choice("outside", self.outside, (REFUSE, DROP))
        if self.count is not None and self.unit.person is not None:
            raise ValueError(
                f"count must not be used where the unit is a person, got {self.count!r}: a row "
                "would stand for several people"
            )


def count(
    table: str | Path,
    attributes: Sequence[Attribute],
    rules: Rules | None = None,
    show_values: bool = False,
) -> Counts:
    r"""Return the counts of the cells of a CSV, TSV or Parquet file, last attribute fastest.

    Where the unit is a person, the first `keep` records of each are counted, in the order of the
    table. Raises TableError for what was not declared, with the row; `show_values` adds what stands
    in it. Needs the extra `tables`. For tables that differ by one record the counts differ by one
    in at most one cell (a record more or less) or by one in two (a record replaced).

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\ngood\n")
    ...     count(table, [Categories("health", ("good", "fair", "poor"))])
    array([2, 0, 1])
    """
    declared = check_attributes(attributes)
    with _opened(Path(table), declared, rules or Rules(), show_values) as counting:
        counting.check_persons()
        groups = counting.groups()
        counting.check_records(groups)
        return counting.placed(groups)


@contextmanager
def _opened(
    table: Path, attributes: tuple[Attribute, ...], rules: Rules, show: bool
) -> Iterator[_Counting]:
    try:
        import duckdb
    except ImportError:
        raise ImportError("counting a table needs DuckDB: install dpbayes[tables]") from None
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": folder})
        try:
            # In a notebook without ipywidgets there is no progress bar to turn off, and it fails.
            with suppress(duckdb.Error):
                connection.execute("SET enable_progress_bar = false")
            others = [name for name in (rules.unit.person, rules.count) if name is not None]
            wanted = [*(attribute.name for attribute in attributes), *others]
            source = open_source(connection, table, wanted)
            yield _Counting(connection, source, attributes, rules, show)
        except duckdb.Error as error:
            raise trouble(str(table), table.suffix.lower(), error, show) from None
        finally:
            connection.close()


@dataclass(frozen=True)
class _Counting:
    """A source that is being counted: v0, v1, … are the attributes' texts, in SQL."""

    connection: Any
    source: Source
    attributes: tuple[Attribute, ...]
    rules: Rules
    show: bool

    def rows(self, sql: str, numbered: bool) -> list[tuple[Any, ...]]:
        columns = [
            f"coalesce(CAST({self.source.column(name, self.show)} AS VARCHAR), '') AS {new}"
            for new, name in self._names().items()
        ]
        table = f"SELECT {', '.join(columns)} FROM {self.source.sql}"
        if numbered:
            table = f"SELECT *, row_number() OVER () AS _row FROM ({table})"
        statement = f"WITH people AS ({table}) {sql}"
        return list(self.connection.execute(statement, self.source.parameters).fetchall())

    def _names(self) -> dict[str, str]:
        names = {f"v{i}": attribute.name for i, attribute in enumerate(self.attributes)}
        more = {"person": self.rules.unit.person, "weight": self.rules.count}
        return names | {new: name for new, name in more.items() if name is not None}

    def check_persons(self) -> None:
        if self.rules.unit.person is None:
            return
        none = _listed(("", *self.rules.missing_values))
        row, number = self.rows(
            f"SELECT min(_row), count(*) FROM people WHERE person IN ({none})", True
        )[0]
        if number:
            raise TableError(
                f"row {row} (and {number - 1} more) has no value in {self.rules.unit.person!r}, "
                "the column that identifies people"
            )

    def groups(self) -> list[tuple[Any, ...]]:
        """Return the different cells, each with its numbers of rows, of records, of bad numbers."""
        cells = [f"{self._cell(i)} AS c{i}" for i in range(len(self.attributes))]
        people, unit = "people", self.rules.unit
        if unit.person is not None:
            people = (
                "(SELECT * FROM people QUALIFY row_number() OVER (PARTITION BY person ORDER BY "
                f"_row) <= {unit.keep})"
            )
        measure = "count(*), 0"
        if self.rules.count is not None:
            whole = r"'^ *([0-9]{1,16})(\.0*)? *$'"
            number = f"TRY_CAST(regexp_extract(weight, {whole}, 1) AS HUGEINT)"
            measure = f"coalesce(sum({number}), 0), count(*) - count({number})"
        found = self.rows(
            f"SELECT {', '.join(cells)}, count(*), {measure} FROM {people} GROUP BY ALL "
            f"LIMIT {_MOST_GROUPS + 1}",
            unit.person is not None,
        )
        if len(found) > _MOST_GROUPS:
            raise TableError(
                f"table {self.source.name} has more than {_MOST_GROUPS} spellings of numbers at "
                "the edges"
            )
        return found

    def _cell(self, i: int) -> str:
        """Return SQL for a value: its text where it is listed, the number of its bin, ? or -."""
        attribute, text = self.attributes[i], f"v{i}"
        absent = _listed(self.rules.missing_values)
        missing = f"WHEN {text} IN ({absent}) THEN '{_MISSING}' " if absent else ""
        if attribute.of_texts:
            listed = _listed(attribute.labels)
            kept = f"WHEN {text} IN ({listed}) THEN '{_KEPT}' || {text}"
            return f"CASE {missing}{kept} ELSE '{_OUTSIDE}' END"
        number = f"TRY_CAST(trim({text}) AS DOUBLE)"
        points = ", ".join(f"{point!r}::DOUBLE" for point in attribute.points)
        exact = f"WHEN {number} IN ({points}) THEN '{_KEPT}' || trim({text})"
        bins = _halved(number, attribute.edges, 0) if isinstance(attribute, Bins) else "-1"
        outside = f"'{_OUTSIDE}'"
        if isinstance(attribute, Bins):
            low, high = attribute.edges[0], attribute.edges[-1]
            within = f"{number} > {low!r}::DOUBLE AND {number} < {high!r}::DOUBLE"
            inside = f"WHEN {within} THEN CAST({bins} AS VARCHAR) "
        else:
            inside = ""
        return (
            f"CASE {missing}WHEN NOT regexp_full_match(trim({text}), '{_NUMBER}') OR {number} IS "
            f"NULL THEN {outside} {exact} {inside}ELSE {outside} END"
        )

    def check_records(self, groups: list[tuple[Any, ...]]) -> None:
        """Refuse a file in which DuckDB finds more or fewer records than it has lines for them."""
        if self.source.records is None:
            return
        if self.rules.unit.person is None:
            found = sum(group[-3] for group in groups)
        else:
            found = self.rows("SELECT count(*) FROM people", False)[0][0]
        if found != self.source.records:
            raise TableError(
                f"table {self.source.name} has lines for {self.source.records} records, but "
                f"{found} are found: a quotation mark stands within a value; write it twice, in a "
                "value in quotation marks"
            )

    def placed(self, groups: list[tuple[Any, ...]]) -> Counts:
        counts = np.zeros(tuple(a.size for a in self.attributes), dtype=np.int64)
        places = [_Places(attribute, self.rules.missing) for attribute in self.attributes]
        outside = 0
        for *cell, _, records, wrong in groups:
            if wrong or int(records) > MOST_RECORDS:
                raise TableError(
                    f"column {self.rules.count!r} must hold a whole number from 0 to 2^53 in every "
                    f"row, but {wrong or 'a sum'} {'do not' if wrong else 'does not'}"
                )
            place = [one.of(code) for one, code in zip(places, cell, strict=True)]
            missed = [i for i, one in enumerate(place) if one is None]
            if not missed:
                counts[tuple(place)] += int(records)
            elif any(cell[i] != _MISSING for i in missed):
                if self.rules.outside == REFUSE:
                    i = next(i for i in missed if cell[i] != _MISSING)
                    raise self._disagreement(i, cell[i])
                outside += 1
            elif self.rules.missing == REFUSE:
                raise self._absence(missed[0])
        return counts.reshape(-1)

    def _disagreement(self, i: int, code: str) -> TableError:
        row, value = self._first(i, code)
        shown_value = f" {value!r}" if self.show else ""
        return TableError(
            f"row {row} has a value{shown_value} in {self.attributes[i].name!r} that was not "
            f"declared{'' if self.show else '; --show-values prints it'}"
        )

    def _absence(self, i: int) -> TableError:
        row, _ = self._first(i, _MISSING)
        return TableError(
            f"row {row} has no value in {self.attributes[i].name!r}; missing values are refused "
            "(missing = a category counts them)"
        )

    def _first(self, i: int, code: str) -> tuple[int, str]:
        where = f"{self._cell(i)} = {_literal(code)}"
        found = self.rows(f"SELECT _row, v{i} FROM people WHERE {where} ORDER BY 1 LIMIT 1", True)
        return int(found[0][0]), str(found[0][1])


class _Places:
    """The place of a value in an attribute, by the code it was grouped under; None for none."""

    def __init__(self, attribute: Attribute, missing: str) -> None:
        self._attribute = attribute
        self._known: dict[str, int | None] = {_OUTSIDE: None, _MISSING: None}
        if missing not in (REFUSE, DROP) and missing in attribute.labels:
            self._known[_MISSING] = attribute.labels.index(missing)

    def of(self, code: str) -> int | None:
        if code not in self._known:
            self._known[code] = self._found(code)
        return self._known[code]

    def _found(self, code: str) -> int | None:
        if not code.startswith(_KEPT):
            return int(code)
        text = code[len(_KEPT) :]
        if self._attribute.of_texts:
            return self._attribute.labels.index(text)
        place = self._attribute.place(Decimal(text))
        return None if place < 0 else place


def _halved(number: str, edges: Sequence[float], first: int) -> str:
    # A hundred bins are told apart by seven comparisons, not by one after the other.
    bins = len(edges) - 1
    if bins == 1:
        return str(first)
    middle = bins // 2
    below = _halved(number, edges[: middle + 1], first)
    above = _halved(number, edges[middle:], first + middle)
    return f"CASE WHEN {number} < {edges[middle]!r}::DOUBLE THEN {below} ELSE {above} END"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(_literal(text) for text in texts)
