"""Counting a table of people as declared; the counts are the only thing that leaves.

Every value is read as text, and what was declared decides which text is which category:
nothing is guessed from the rows. Numbers are compared digit by digit.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpbayes._validate import Whole, path
from dpbayes.tables.attributes import (
    MOST_RECORDS,
    Attribute,
    Categories,
    check_attributes,
)
from dpbayes.tables.columns import Columns, TableError, Texts
from dpbayes.tables.rules import DROP, REFUSE, Rules

__all__ = ["DROP", "REFUSE", "Reading", "Rules", "TableError", "count", "read"]

PROGRESS = 2.0  # seconds after which a count says how far it is, at a terminal
_WHOLE = re.compile(r" *([0-9]{1,16})(\.0*)? *")
_OUTSIDE, _MISSING = -1, -2


class Reading(NamedTuple):
    """Counts of a table's cells, and the digest of the very bytes that were counted."""

    counts: Whole
    digest: bytes


def count(
    table: str | Path,
    attributes: Sequence[Attribute],
    rules: Rules | None = None,
    show_values: bool = False,
) -> Whole:
    """Return the counts of the cells of a CSV, TSV or Parquet file, last attribute
    fastest.

    Where the unit is a person, the first `keep` records of each are counted. Raises
    TableError for what was not declared, with the row, the header not counted;
    `show_values` adds what stands in it. Parquet needs the extra `tables`. For tables
    that differ by one record the counts differ by one in at most one cell (a record
    more or less) or by one in two (a record replaced).
    """
    return read(table, attributes, rules, show_values).counts


def read(
    table: str | Path,
    attributes: Sequence[Attribute],
    rules: Rules | None = None,
    show_values: bool = False,
) -> Reading:
    """Return what `count` returns, with the digest of the bytes that were counted."""
    declared, rules = check_attributes(attributes), rules or Rules()
    rules.check(declared)
    columns = _columns(path("table", table), declared, rules, show_values)
    cells, persons, above = _Cells(declared, rules, show_values), Counter[str](), 0
    told = time.monotonic()
    for rows in columns.pieces():
        taken = (
            rows if rules.unit.person is None else _firsts(rows, above, rules, persons)
        )
        for texts, records in Counter(taken).items():
            reason = cells.add(texts, records)
            if reason:
                row = 1 + next(
                    i for i, one in enumerate(rows) if one[: len(texts)] == texts
                )
                raise TableError(f"data row {above + row} {reason}")
        above += len(rows)
        if time.monotonic() - told >= PROGRESS and sys.stderr.isatty():
            print(f"counting: {above:,} rows so far", file=sys.stderr, flush=True)
            told = time.monotonic()
    if max(cells.counts) > MOST_RECORDS:
        raise TableError(
            f"column {rules.count!r} must add up to at most 2^53 in a cell, got more"
        )
    return Reading(np.array(cells.counts, dtype=np.int64), columns.digest)


def _columns(
    table: Path, declared: Sequence[Attribute], rules: Rules, show: bool
) -> Columns:
    """Return the columns to read."""
    listed = [one for one in declared if isinstance(one, Categories)]
    labels = frozenset(label for one in listed for label in one.labels)
    return Columns(
        table,
        declared,
        rules.unit.person or rules.count,
        absent=frozenset(
            x for x in labels if x == rules.missing or rules.is_missing(x)
        ),
        show=show,
    )


def _firsts(
    rows: list[Texts], above: int, rules: Rules, persons: Counter[str]
) -> Iterator[Texts]:
    """Yield the rows that are among the first of their person; `persons` counts all so
    far.
    """
    keep = rules.unit.keep
    for i, texts in enumerate(rows, above + 1):
        person = texts[-1]
        if person not in persons:
            _check_person(person, i, rules)
        if persons[person] < keep:
            persons[person] += 1
            yield texts[:-1]


def _check_person(person: str, row: int, rules: Rules) -> None:
    """Refuse what names nobody: all such rows would be those of one person."""
    where = f"in {rules.unit.person!r}, the column that identifies people"
    if rules.names_nobody(person):
        raise TableError(
            f"data row {row} has no value {where}; leave such rows out, give each"
            " person a name, or list in missing_values what stands for none"
        )


class _Cells:
    """Counts of cells, to which rows are added."""

    def __init__(
        self, attributes: Sequence[Attribute], rules: Rules, show: bool
    ) -> None:
        self._rules, self._show, self._attributes = rules, show, attributes
        self._rows = Counter[int]()
        self._names = [one.name for one in attributes]
        self._places = [_Places(one, rules) for one in attributes]
        sizes = [one.size for one in attributes]
        self._strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self.counts = [0] * math.prod(sizes)

    def add(self, texts: Texts, records: int) -> str:
        """Count rows that are alike; return why they are refused, "" where not."""
        cell = [one[text] for one, text in zip(self._places, texts, strict=False)]
        if min(cell) < 0:
            return _refusal(cell, texts, self._names, self._rules, self._show)
        weight = 1
        if self._rules.count is not None:
            found = _WHOLE.fullmatch(texts[-1])
            if not found:
                return f"must have a whole number of records in {self._rules.count!r}"
            weight = int(found[1])
        place = sum(i * stride for i, stride in zip(cell, self._strides, strict=True))
        self.counts[place] += records * weight
        self._rows[place] += records
        if self._rules.once and self._rows[place] > 1:
            return self._twice(cell)
        return ""

    def _twice(self, cell: list[int]) -> str:
        """Return why a table of counts with two rows for one cell is refused."""
        names = (one.labels[i] for one, i in zip(self._attributes, cell, strict=True))
        return (
            f"is not the only one for its cell: the table must have one row for"
            f" {', '.join(names)!r}, since {self._rules.count!r} is its number of"
            " records, got several: add them up, or name the other column that tells"
            " them apart in columns"
        )


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
    if _MISSING in cell and rules.missing != DROP:
        i = cell.index(_MISSING)
        what = "a text that stands for none" if texts[i].strip() else "an empty cell"
        return (
            f"has no value in {names[i]!r} ({what}); missing values are refused:"
            ' missing = "drop" leaves such rows out, missing = "unknown" counts them'
            " where unknown is a value that the attribute lists"
        )
    return ""


class _Places(dict[str, int]):
    """The place of each text in an attribute, worked out once."""

    def __init__(self, attribute: Attribute, rules: Rules) -> None:
        self._attribute, self._rules, labels = attribute, rules, attribute.labels
        self._missing = (
            labels.index(rules.missing) if rules.missing in labels else _MISSING
        )

    def __missing__(self, text: str) -> int:
        listed = isinstance(self._attribute, Categories)
        found = self._attribute.place(text) if listed else _OUTSIDE
        if found == _OUTSIDE and self._rules.is_missing(text):
            found = self._missing
        elif not listed:
            found = self._attribute.place(text)
        self[text] = found
        return found
