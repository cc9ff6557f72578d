"""A file of people as DuckDB reads it: this one file, in one way, with nothing guessed.

Left alone, DuckDB guesses how a CSV file is written from its content. It may then take rows that
begin with "#" for comments and leave the people in them out, or take "*" in a file's name for a
pattern and count other files too. Here only the separator is looked for, in the first line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t"}
KINDS = (*SEPARATORS, ".parquet")
_LONGEST_HEAD = 1 << 20
_WRITTEN = "header = true, quote = '\"', escape = '\"', comment = '', skip = 0"
_TROUBLE = {
    "Expected Number of Columns": "does not have as many fields as the first line",
    "Invalid unicode": "is not UTF-8",
    "Value with unterminated quote": "has a quotation mark without its partner",
    "Maximum line size": "is longer than 2 MB",
}


class TableError(ValueError):
    """A table disagrees with its plan; the message gives the row, and its content only if asked."""


@dataclass(frozen=True)
class Source:
    """Where a table stands: the file's own name, for messages, and the place it is read from."""

    name: str
    place: Path

    @property
    def kind(self) -> str:
        """The ending of the name, in lower case."""
        return self.place.suffix.lower()


def source(table: Path, folder: Path) -> Source:
    """Return a table under a plain name in `folder`, so that no letter of its name is a pattern."""
    kind = table.suffix.lower()
    if not table.is_file():
        raise TableError(f"table must be a CSV or Parquet file, got {str(table)!r}, which is none")
    if kind not in KINDS:
        raise TableError(f"table must end in {', '.join(KINDS)}, got {table.name!r}")
    place = folder / f"table{kind}"
    place.symlink_to(table.resolve())
    return Source(str(table), place)


def relation(
    connection: Any, found: Source, wanted: Mapping[str, str], show: bool
) -> tuple[str, list[Any]]:
    """Return SQL for the wanted columns as text, under the names given, and its parameters.

    `wanted` maps the new names to those in the file, each of which must be there once. The names in
    the file are told only where `show` is True: without a first line of names they are a record.
    """
    if found.kind == ".parquet":
        there = parquet_names(connection, found)
        names = {new: _quoted(_once(found, old, there, show)) for new, old in wanted.items()}
        reader, values = "read_parquet(?)", [str(found.place)]
    else:
        separator, there = first_line(found, list(wanted.values()))
        places = {new: there.index(_once(found, old, there, show)) for new, old in wanted.items()}
        names = {new: f"c{place}" for new, place in places.items()}
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(there)))
        reader = (
            f"read_csv(?, auto_detect = false, delim = '{separator}', {_WRITTEN}, "
            f"compression = 'none', columns = {{{columns}}})"
        )
        values = [str(found.place)]
    selected = ", ".join(f"CAST({old} AS VARCHAR) AS {new}" for new, old in names.items())
    return f"(SELECT {selected} FROM {reader})", values


def first_line(found: Source, wanted: Sequence[str]) -> tuple[str, list[str]]:
    """Return the separator and the names in the first line of a CSV file.

    It is the first separator that finds the most of the wanted names.
    """
    with found.place.open("rb") as stream:
        content = stream.read(_LONGEST_HEAD)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(content)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise TableError(f"table {found.name}: line {line} is not UTF-8") from None
    lines = {separator: _cut(text, separator) for separator in SEPARATORS[found.kind]}
    best = max(lines, key=lambda separator: len(set(wanted) & set(lines[separator])))
    return best, lines[best]


def _cut(text: str, separator: str) -> list[str]:
    with suppress(csv.Error, StopIteration):
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return []


def parquet_names(connection: Any, found: Source) -> list[str]:
    """Return the names in a Parquet file, those within other columns included."""
    rows = connection.execute(
        "SELECT name FROM parquet_schema(?) OFFSET 1", [str(found.place)]
    ).fetchall()
    return [row[0] for row in rows]


def _once(found: Source, name: str, there: Sequence[str], show: bool) -> str:
    if there.count(name) == 1:
        return name
    shown = ": " + ", ".join(map(repr, there)) if show else ""
    listed = f"{len(there)} column{'s' * (len(there) != 1)}{shown}"
    hint = "" if show else "; --show-values prints their names"
    if name in there:
        raise TableError(
            f"table {found.name} has {there.count(name)} columns {name!r}; rename all but one"
        )
    raise TableError(
        f"table {found.name} has no column {name!r}{near(name, there)}; it has {listed}{hint}"
    )


def near(name: str, there: Sequence[str]) -> str:
    """Return a hint at a column whose name differs by capitals or spaces; it shows no name.

    >>> near("health", ["age", " Health"]), near("health", ["helth"])
    (', only one that differs from it by capitals or spaces', '')
    """
    wanted = name.strip().casefold()
    known = any(one.strip().casefold() == wanted for one in there)
    return ", only one that differs from it by capitals or spaces" if known else ""


def trouble(found: Source, error: Exception, show: bool) -> TableError:
    """Return the error for a file that DuckDB cannot read, with the line if it is known."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    known = [words for sign, words in _TROUBLE.items() if sign in text]
    if line is not None and known:
        return TableError(f"table {found.name}: line {line[1]} {known[0]}")
    where = "" if line is None else f", line {line[1]}"
    reason = f": {text.splitlines()[0]}" if show else "; --show-values prints why"
    return TableError(f"table {found.name}{where} cannot be read as {found.kind}{reason}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
