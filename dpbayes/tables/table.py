"""Counting a table of people as declared; the counts are the only thing that leaves.

Every value is read as text, and what was declared decides which text is which category:
nothing is guessed from the rows. Numbers are compared digit by digit.
"""

from __future__ import annotations

import codecs
import csv
import glob
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import choice
from dpbayes.tables.attributes import MOST_RECORDS, Attribute, check_attributes
from dpbayes.tables.units import RECORD, Unit, counted

REFUSE, DROP = "refuse", "drop"
PROGRESS = 2.0  # seconds after which a count says how far it is, at a terminal
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t"}
_PIECE = 1 << 11
_WHOLE = re.compile(r" *([0-9]{1,16})(\.0*)? *")
_OUTSIDE, _MISSING = -1, -2
Texts = tuple[str, ...]


class TableError(ValueError):
    """A table disagrees with what was declared; rows are named, their content only if
    asked.
    """


@dataclass(frozen=True)
class Rules:
    """What is done with rows that fit no cell, and what counts one row.

    `missing` is "refuse", "drop" or a label that every attribute has, for the texts in
    `missing_values`; `outside` is "refuse" or "drop"; `count` a column of numbers of
    records; `once` says that each cell has one row at most.
    """

    unit: Unit = RECORD
    outside: str = REFUSE
    missing: str = REFUSE
    missing_values: tuple[str, ...] = ()
    count: str | None = None
    once: bool = False

    def __post_init__(self) -> None:
        choice("outside", self.outside, (REFUSE, DROP))
        if self.count is not None and self.unit.person is not None:
            why = f"got {self.count!r}: a row would stand for several people"
            raise ValueError(
                f"count must not be used where the unit is a person, {why}"
            )


def count(
    table: str | Path,
    attributes: Sequence[Attribute],
    rules: Rules | None = None,
    show_values: bool = False,
) -> NDArray[np.int64]:
    """Return the counts of the cells of a CSV, TSV or Parquet file, last attribute
    fastest.

    Where the unit is a person, the first `keep` records of each are counted. Raises
    TableError for what was not declared, with the row; `show_values` adds what stands
    in it. Parquet needs the extra `tables`. For tables that differ by one record the
    counts differ by one in at most one cell (a record more or less) or by one in two (a
    record replaced).
    """
    table, declared, rules = Path(table), check_attributes(attributes), rules or Rules()
    places, other = (
        [_Places(one, rules) for one in declared],
        rules.unit.person or rules.count,
    )
    rows_of_cell = Counter[int]()
    sizes = [attribute.size for attribute in declared]
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    counts, persons, above = [0] * math.prod(sizes), Counter[str](), 0
    names = [attribute.name for attribute in declared] + ([other] if other else [])
    told = time.monotonic()
    for rows in _pieces(table, names, show_values):
        taken = (
            rows if rules.unit.person is None else _firsts(rows, above, rules, persons)
        )
        for texts, alike in Counter(taken).items():
            cell = [place[text] for place, text in zip(places, texts, strict=False)]
            records, reason = alike, ""
            if min(cell) < 0:
                reason = _refusal(cell, texts, names, rules, show_values)
            elif rules.count is not None:
                found = _WHOLE.fullmatch(texts[-1])
                if found is None:
                    reason = f"must have a whole number of records in {other!r}"
                else:
                    records = alike * int(found[1])
            if reason:
                row = 1 + next(
                    i for i, one in enumerate(rows) if one[: len(texts)] == texts
                )
                raise TableError(f"row {above + row} {reason}")
            if min(cell) >= 0:
                place = sum(i * stride for i, stride in zip(cell, strides, strict=True))
                counts[place] += records
                rows_of_cell[place] += alike
                if rules.once and rows_of_cell[place] > 1:
                    raise TableError(_twice(declared, cell, rules))
        above += len(rows)
        if time.monotonic() - told >= PROGRESS and sys.stderr.isatty():
            print(f"counting: {above:,} rows so far", file=sys.stderr, flush=True)
            told = time.monotonic()
    if max(counts) > MOST_RECORDS:
        raise TableError(
            f"column {other!r} must add up to at most 2^53 in a cell, got more"
        )
    return np.array(counts, dtype=np.int64)


def _firsts(
    rows: list[Texts], above: int, rules: Rules, persons: Counter[str]
) -> Iterator[Texts]:
    """Yield the rows that are among the first of their person; `persons` counts all so
    far.
    """
    absent, keep = {"", *rules.missing_values}, rules.unit.keep
    for i, texts in enumerate(rows, above + 1):
        person = texts[-1]
        if person in absent:
            told = (
                "the column that identifies people; leave such rows out, or give each a"
                " name"
            )
            raise TableError(f"row {i} has no value in {rules.unit.person!r}, {told}")
        if persons[person] < keep:
            persons[person] += 1
            yield texts[:-1]


def _refusal(
    cell: list[int], texts: Texts, names: list[str], rules: Rules, show: bool
) -> str:
    """Return why a row that fits no cell is refused, "" where it is dropped."""
    if _OUTSIDE in cell and rules.outside == REFUSE:
        i = cell.index(_OUTSIDE)
        value, hint = (
            (f" {texts[i]!r}", "") if show else ("", "; --show-values prints it")
        )
        told = "that was not declared: declare it, or mend the row"
        return f"has a value{value} in {names[i]!r} {told}{hint}"
    if _OUTSIDE in cell or rules.missing != REFUSE:
        return ""
    told = "missing values are refused (missing = a category counts them)"
    return f"has no value in {names[cell.index(_MISSING)]!r}; {told}"


def _twice(declared: Sequence[Attribute], cell: list[int], rules: Rules) -> str:
    """Return why a table of counts with two rows for one cell is refused."""
    names = (one.labels[i] for one, i in zip(declared, cell, strict=True))
    return (
        f"table must have one row for {', '.join(names)!r}, since {rules.count!r} is its"
        " number of records, got several: add them up, or name the other column that"
        " tells them apart in columns"
    )


class _Places(dict[str, int]):
    """The place of each text in an attribute, worked out once."""

    def __init__(self, attribute: Attribute, rules: Rules) -> None:
        self._attribute, labels = attribute, attribute.labels
        known = rules.missing in labels and rules.missing not in (REFUSE, DROP)
        place = labels.index(rules.missing) if known else _MISSING
        self.update(dict.fromkeys(rules.missing_values, place))

    def __missing__(self, text: str) -> int:
        self[text] = found = self._attribute.place(text)
        return found


def _pieces(table: Path, names: list[str], show: bool) -> Iterator[list[Texts]]:
    """Yield the texts of some columns, many rows at a time; TableError has the place of
    a fault.
    """
    kind = table.suffix.lower()
    if not table.is_file():
        raise TableError(
            f"table must be a CSV or Parquet file, got {str(table)!r}, which is none"
        )
    if kind == ".parquet":
        return _parquet_pieces(table, names, show)
    if kind not in _SEPARATORS:
        allowed = f"{', '.join(_SEPARATORS)} or .parquet"
        raise TableError(
            f"table must end in {allowed}, got {table.name!r}: export it so"
        )
    return _csv_pieces(table, _SEPARATORS[kind], names, show)


def _csv_pieces(
    table: Path, signs: str, names: list[str], show: bool
) -> Iterator[list[Texts]]:
    """Yield rows of a CSV file, whose separator finds most names in the first line."""
    rows: list[list[str]] = []
    line = 1
    try:
        with table.open("rb") as stream:
            head = stream.readline().removeprefix(codecs.BOM_UTF8)
            if not head.strip():
                raise TableError(
                    f"table {table} has no first line with the names of its columns"
                )
            heads = {
                s: next(csv.reader([head.decode()], delimiter=s), []) for s in signs
            }
            best = max(heads, key=lambda s: len({*names} & {*heads[s]}))
            text = map(bytes.decode, chain([head], stream))
            reader = csv.reader(text, delimiter=best, strict=True)
            there = next(reader)
            chosen = [_column(name, there, table, show) for name in names]
            while True:
                line, rows = reader.line_num + 1, []
                rows.extend(
                    islice(reader, _PIECE)
                )  # what was read before an error stays in it
                if not rows:
                    return
                wrong = [i for i, row in enumerate(rows) if len(row) != len(there)]
                if wrong:
                    why = "does not have as many fields as the first line"
                    if not rows[wrong[0]]:
                        why = 'is blank; take it out, or write an empty value as ""'
                    del rows[wrong[0] :]
                    break
                yield list(
                    zip(*(map(itemgetter(i), rows) for i in chosen), strict=True)
                )
    except UnicodeDecodeError:
        why = "is not UTF-8; save the table as UTF-8"
    except csv.Error as error:
        why = (
            f"cannot be read ({error}); a value with a quotation mark in it stands in"
            " quotation marks, and the one in it is written twice"
        )
    line += sum(1 + sum(field.count("\n") for field in row) for row in rows)
    raise TableError(f"table {table}: line {line} {why}")


def _parquet_pieces(table: Path, names: list[str], show: bool) -> Iterator[list[Texts]]:
    """Yield rows of a Parquet file, with the text that DuckDB writes for each value."""
    import duckdb

    source = (
        "read_parquet(?, hive_partitioning = false, union_by_name = false, filename ="
        " false, binary_as_string = true)"
    )
    file = [glob.escape(str(table.resolve()))]
    try:
        with duckdb.connect() as connection:
            # In a notebook without ipywidgets there is no progress bar to turn off, and
            # it fails.
            with suppress(duckdb.Error):
                connection.execute("SET enable_progress_bar = false")
            there = (
                connection.execute(f"SELECT * FROM {source} LIMIT 0", file).description
                or []
            )
            listed = [str(column[0]) for column in there]
            wanted = [_column(name, listed, table, show) for name in names]
            columns = ", ".join(f"coalesce(CAST(c{i} AS VARCHAR), '')" for i in wanted)
            renamed = ", ".join(f"c{i}" for i in range(len(listed)))
            connection.execute(f"SELECT {columns} FROM {source} AS t({renamed})", file)
            while rows := connection.fetchmany(_PIECE):
                yield rows
    except duckdb.Error as error:
        why = (
            f": {str(error).splitlines()[0]}" if show else "; --show-values prints why"
        )
        raise TableError(f"table {table} cannot be read as .parquet{why}") from None


def _column(name: str, there: Sequence[str], table: Path, show: bool) -> int:
    """Return the place of the one column called exactly so; `show` tells the names in
    the file.
    """
    if there.count(name) == 1:
        return there.index(name)
    if name in there:
        told = f"has {there.count(name)} columns {name!r}; rename all but one"
        raise TableError(f"table {table} {told}")
    wanted = name.strip().casefold()
    near = any(one.strip().casefold() == wanted for one in there)
    hint = ", only one that differs from it by capitals or spaces" if near else ""
    listed = (
        f": {', '.join(map(repr, there))}"
        if show
        else "; --show-values prints their names"
    )
    has = f"it has {counted(len(there), 'column')}{listed}"
    raise TableError(f"table {table} has no column {name!r}{hint}; {has}")
