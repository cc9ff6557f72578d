"""Counting a table of people as its plan declares; DuckDB reads CSV and Parquet.

The counts are the only thing that leaves. What the plan does not foresee stops the count, and the
message gives the row's number but not what stands in it, unless that is asked for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.releasing.columns import Column
from dpbayes.releasing.plan import DROP, REFUSE, Plan
from dpbayes.releasing.sources import Source, TableError, relation, source, trouble

_MEMORY = "2GB"
_MOST_VALUES = 100_000
_OUTSIDE, _MISSING = -1, -2
_PERSON = "person"
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Table:
    """A table as DuckDB sees it: `relation` in SQL with the places of its parameters."""

    connection: Any
    source: Source
    plan: Plan
    relation: str
    values: list[str]
    show: bool

    def rows(self, sql: str, more: list[Any] | None = None) -> list[tuple[Any, ...]]:
        numbered = (
            f"WITH numbered AS (SELECT *, row_number() OVER () AS _row FROM {self.relation}) "
        )
        found = self.connection.execute(numbered + sql, [*self.values, *(more or [])]).fetchall()
        return list(found)


def count_table(table: str | Path, plan: Plan, show_values: bool = False) -> Counts:
    r"""Return the counts of the plan's cells, shape (k,), last column fastest.

    `table` ends in .csv, .tsv or .parquet. Where the plan names a person, the first `keep` records
    of each are counted, in the order of the table. Raises TableError for an unknown value, a
    missing value where the plan refuses it, a missing person, a column that is not there.
    Needs the extra `queries`.

    >>> import tempfile
    >>> from dpbayes.releasing.plan import read_plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\ngood\n")
    ...     _ = (Path(folder) / "plan.toml").write_text(
    ...         'dataset = "clinic"\naccount = "a"\ncolumn = "health"\n'
    ...         'categories = ["good", "fair", "poor"]\nepsilon = "0.5"\n'
    ...     )
    ...     count_table(table, read_plan(Path(folder) / "plan.toml"))
    array([2, 0, 1])
    """
    with _opened(Path(table), plan, show_values) as opened:
        _check_persons(opened)
        return _placed(opened, _grouped(opened))


@contextmanager
def _opened(table: Path, plan: Plan, show: bool) -> Iterator[_Table]:
    duckdb = _duckdb()
    with tempfile.TemporaryDirectory() as folder:
        found = source(table, Path(folder))
        settings = {"memory_limit": _MEMORY, "temp_directory": folder}
        connection = duckdb.connect(config=settings)
        try:
            # In a notebook without ipywidgets there is no progress bar to turn off, and it fails.
            with suppress(duckdb.Error):
                connection.execute("SET enable_progress_bar = false")
            wanted = {f"v{i}": column.name for i, column in enumerate(plan.columns)}
            wanted |= {_PERSON: plan.person} if plan.person is not None else {}
            sql, values = relation(connection, found, wanted, show)
            yield _Table(connection, found, plan, sql, values, show)
        except duckdb.Error as error:
            raise trouble(found, error, show) from None
        finally:
            connection.close()


def _check_persons(opened: _Table) -> None:
    if opened.plan.person is None:
        return
    absent = opened.rows(
        f"SELECT min(_row), count(*) FROM numbered WHERE {_is_missing(opened.plan, _PERSON)}",
    )
    row, number = absent[0]
    if number:
        raise TableError(
            f"row {row} (and {number - 1} more) has no value in {opened.plan.person!r}, the column "
            "that identifies people"
        )


def _grouped(opened: _Table) -> list[tuple[Any, ...]]:
    """Return the different cells with their numbers of records and first rows."""
    plan = opened.plan
    columns = ", ".join(f"{_cell(plan, c, f'v{i}')} AS c{i}" for i, c in enumerate(plan.columns))
    rows = "numbered"
    if plan.person is not None:
        rows = (
            f"(SELECT * FROM numbered QUALIFY row_number() OVER (PARTITION BY {_PERSON} "
            f"ORDER BY _row) <= {plan.keep})"
        )
    grouped = opened.rows(
        f"SELECT {columns}, count(*), min(_row) FROM {rows} GROUP BY ALL LIMIT {_MOST_VALUES + 1}"
    )
    if len(grouped) > _MOST_VALUES:
        raise TableError(
            f"table {opened.source.name} has more than {_MOST_VALUES} different rows in the "
            "columns of the plan; declare edges for numbers"
        )
    return grouped


def _cell(plan: Plan, column: Column, text: str) -> str:
    """Return SQL for the value of a column: NULL when missing, text, or the number of its bin."""
    if column.edges is None:
        return f"CASE WHEN {_is_missing(plan, text)} THEN NULL ELSE {text} END"
    number = f"TRY_CAST({text} AS DOUBLE)"
    bins = " ".join(
        f"WHEN {number} >= {low!r} AND {number} < {high!r} THEN '{i}'"
        for i, (low, high) in enumerate(zip(column.edges, column.edges[1:], strict=False))
    )
    return f"CASE WHEN {_is_missing(plan, text)} THEN NULL {bins} ELSE 'outside' END"


def _placed(opened: _Table, grouped: list[tuple[Any, ...]]) -> Counts:
    plan = opened.plan
    counts = np.zeros(plan.shape, dtype=np.int64)
    for *cell, number, row in sorted(grouped, key=lambda found: found[-1]):
        places = [_place(plan, c, value) for c, value in zip(plan.columns, cell, strict=True)]
        for column, place, value in zip(plan.columns, places, cell, strict=True):
            if place == _OUTSIDE:
                raise _disagreement(opened, row, column, value)
            if place == _MISSING and plan.missing == REFUSE:
                raise TableError(
                    f"row {row} has no value in {column.name!r}; the plan refuses missing values "
                    "(missing = a category counts them)"
                )
        if _MISSING in places and plan.missing == DROP:
            continue
        counts[tuple(places)] += number
    return counts.reshape(-1)


def _place(plan: Plan, column: Column, value: str | None) -> int:
    if value is None:
        return column.labels.index(plan.missing) if plan.missing in column.labels else _MISSING
    if column.edges is not None:
        return _OUTSIDE if value == "outside" else int(value)
    return column.labels.index(value) if value in column.labels else _OUTSIDE


def _disagreement(opened: _Table, row: int, column: Column, value: Any) -> TableError:
    shown = f" {value!r}" if opened.show and column.edges is None else ""
    return TableError(
        f"row {row} has a value{shown} in {column.name!r} that the plan does not list"
        + ("" if opened.show else "; --show-values prints it")
    )


def _is_missing(plan: Plan, text: str) -> str:
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in plan.missing_values)
    return f"({text} IS NULL" + (f" OR {text} IN ({listed}))" if listed else ")")


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("counting a table needs DuckDB: install dpbayes[queries]") from None
    return duckdb
