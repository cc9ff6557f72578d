"""A file of people as it is written: its columns, its lines, and SQL that reads all of it as text.

Every automatic option of DuckDB is off, since each would let one row decide how the others are
read: types, names, separators, quotation marks, remarks, line ends, blank lines, folders that look
like columns, names of files that look like patterns. What is looked for is looked for here, in the
first line; the lines are counted here too, and a file in which DuckDB finds another number of
records is refused.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t"}
KINDS = (*SEPARATORS, ".parquet")
_LONGEST_LINE = 1 << 20
_PIECE = 1 << 22
_TROUBLE = {
    "Expected Number of Columns": "does not have as many fields as the first line",
    "Invalid unicode": "is not UTF-8",
    "not utf-8": "is not UTF-8",
    "Value with unterminated quote": "has a quotation mark without its partner",
    "Maximum line size": "is longer than 2 MB",
}


class TableError(ValueError):
    """A table disagrees with what was declared; rows are named, their content only if asked.

    >>> open_source(None, Path("people.csv"), ())
    Traceback (most recent call last):
        ...
    dpbayes.tables.source.TableError: table must be a CSV or Parquet file, got 'people.csv', \
which is none
    """


@dataclass(frozen=True)
class Source:
    """A table in a file: SQL that reads it, names of its columns, and its number of records.

    `names` as the file has them, column i is `c{i}` in the SQL; `records` is None for Parquet.
    """

    name: str
    kind: str
    place: Path
    sql: str
    names: tuple[str, ...]
    nested: tuple[bool, ...]
    records: int | None

    @property
    def parameters(self) -> list[str]:
        """The parameters of `sql`: the name of the file, in which no letter is a pattern."""
        return [glob.escape(str(self.place))]

    def column(self, name: str, show: bool = False) -> str:
        """Return the SQL name of the one column called exactly so, or raise TableError.

        The names in the file are told only where `show` is True: without a first line of names
        they are a record.
        """
        found = [i for i, one in enumerate(self.names) if one == name]
        alike = [one for one in self.names if one.casefold() == name.casefold()]
        if len(found) > 1:
            raise TableError(
                f"table {self.name} has {len(found)} columns {name!r}; rename all but one"
            )
        if found and len(alike) > 1:
            raise TableError(
                f"table {self.name} has {len(alike)} columns that differ from {name!r} by capitals "
                "alone; rename all but one"
            )
        if not found:
            shown = ": " + ", ".join(map(repr, self.names)) if show else ""
            hint = "" if show else "; --show-values prints their names"
            listed = f"{len(self.names)} column{'s' * (len(self.names) != 1)}{shown}"
            raise TableError(
                f"table {self.name} has no column {name!r}{near(name, self.names)}; it has "
                f"{listed}{hint}"
            )
        if self.nested[found[0]]:
            raise TableError(
                f"table {self.name}: column {name!r} holds lists or fields, not one value a row"
            )
        return f"c{found[0]}"


def near(name: str, there: Sequence[str]) -> str:
    """Return a hint at a column whose name differs by capitals or spaces; it shows no name.

    >>> near("health", ["age", " Health"]), near("health", ["helth"])
    (', only one that differs from it by capitals or spaces', '')
    """
    wanted = name.strip().casefold()
    known = any(one.strip().casefold() == wanted for one in there)
    return ", only one that differs from it by capitals or spaces" if known else ""


def open_source(connection: Any, table: Path, wanted: Iterable[str]) -> Source:
    """Return a CSV, TSV or Parquet file as a source; `wanted` names decide the separator."""
    kind = table.suffix.lower()
    if not table.is_file():
        raise TableError(f"table must be a CSV or Parquet file, got {str(table)!r}, which is none")
    if kind not in KINDS:
        raise TableError(f"table must end in {', '.join(KINDS)}, got {table.name!r}")
    place = table.resolve()
    if kind == ".parquet":
        names, nested = _parquet_columns(connection, place)
        listed = ", ".join(f"c{i}" for i in range(len(names)))
        sql = (
            "(SELECT * FROM read_parquet(?, hive_partitioning = false, union_by_name = false, "
            f"filename = false, binary_as_string = true) AS t({listed}))"
        )
        return Source(str(table), kind, place, sql, names, nested, None)
    separator, names, end = _first_line(str(table), place, kind, set(wanted))
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    sql = (
        f"read_csv(?, auto_detect = false, delim = '{separator}', header = true, skip = 0, "
        "quote = '\"', escape = '\"', comment = '', compression = 'none', null_padding = false, "
        "ignore_errors = false, hive_partitioning = false, union_by_name = false, "
        f"filename = false, new_line = '{end}', columns = {{{columns}}})"
    )
    records = _records(str(table), place, end)
    return Source(str(table), kind, place, sql, names, (False,) * len(names), records)


def _parquet_columns(connection: Any, place: Path) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Return the names of the columns, and which of them hold others; fields are left out."""
    rows = connection.execute(
        "SELECT name, num_children FROM parquet_schema(?)", [glob.escape(str(place))]
    ).fetchall()
    names, nested, place_of = [], [], 1
    while place_of < len(rows):
        name, children = rows[place_of]
        names.append(str(name))
        nested.append(bool(children))
        open_fields = children or 0
        place_of += 1
        while open_fields:
            open_fields += (rows[place_of][1] or 0) - 1
            place_of += 1
    return tuple(names), tuple(nested)


def _first_line(
    name: str, place: Path, kind: str, wanted: set[str]
) -> tuple[str, tuple[str, ...], str]:
    """Return separator, names and line end, from the first line of a CSV file alone.

    The separator is the first that finds the most of the wanted names.
    """
    with place.open("rb") as stream:
        content = stream.read(_LONGEST_LINE)
        whole = not stream.read(1)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(content)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise TableError(f"table {name}: line {line} is not UTF-8") from None
    if not text.strip():
        raise TableError(f"table {name} has no first line with the names of its columns")
    lines: dict[str, tuple[list[str], str]] = {}
    for separator in SEPARATORS[kind]:
        letters = io.StringIO(text, newline="")
        with suppress(csv.Error):
            found = next(csv.reader(letters, delimiter=separator), [])
            lines[separator] = found, text[: letters.tell()]
    if not lines:
        longest = csv.field_size_limit()
        raise TableError(f"table {name}: line 1 has a name of more than {longest} letters")
    best = max(lines, key=lambda separator: len(wanted & set(lines[separator][0])))
    names, written = lines[best]
    if not written.endswith(("\n", "\r")) and not (whole and written == text):
        raise TableError(f"table {name}: line 1 is longer than {_LONGEST_LINE} letters")
    end = r"\r\n" if written.endswith("\r\n") else r"\n"
    return best, tuple(names), end


def _records(name: str, place: Path, end: str) -> int:
    """Return the number of records below the first line; TableError names the line of a fault.

    Blank lines, line ends of two kinds, and a quotation mark without its partner are faults.
    """
    lines, records, opened, windows = 0, 0, 0, end == r"\r\n"
    with place.open("rb") as stream:
        while piece := stream.read(_PIECE):
            piece += stream.readline()
            if not opened and _is_plain(piece, windows):
                found = piece.count(b"\n") + (not piece.endswith(b"\n"))
                lines, records = lines + found, records + found
                continue
            for line in io.BytesIO(piece):
                lines += 1
                if not opened:
                    if not line.strip(b" \t\r\n"):
                        raise TableError(
                            f"table {name}: line {lines} is blank; take it out, or write an empty "
                            'value as ""'
                        )
                    records, began = records + 1, lines
                if line.count(b'"') % 2:
                    opened = 0 if opened else began
                if not opened:
                    _require_one_end(name, lines, line, windows)
    if opened:
        raise TableError(
            f"table {name}: line {opened} has a quotation mark without its partner; one within a "
            "value is written twice, in a value in quotation marks"
        )
    return records - 1


def _require_one_end(name: str, number: int, line: bytes, windows: bool) -> None:
    if line.endswith(b"\n") and line.endswith(b"\r\n") != windows:
        raise TableError(
            f"table {name}: line {number} ends in another way (\\n or \\r\\n) than the first line; "
            "let all lines end alike"
        )
    if b'"' not in line and b"\r" in line.removesuffix(b"\r\n"):
        raise TableError(f"table {name}: line {number} holds a carriage return alone")


def _is_plain(piece: bytes, windows: bool) -> bool:
    """Return whether whole lines hold no quotation mark, no blank line and one kind of line end."""
    ends = piece.count(b"\n")
    returns = piece.count(b"\r")
    alike = returns == (ends if windows else 0) and piece.count(b"\r\n") == returns
    blank = any(sign in piece for sign in (b"\n\n", b"\n\r", b"\n ", b"\n\t"))
    return alike and not blank and b'"' not in piece and piece[:1] not in b" \t\r\n"


def trouble(name: str, kind: str, error: Exception, show: bool) -> TableError:
    """Return the error for a file that DuckDB cannot read, with the line if it is known."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    known = [words for sign, words in _TROUBLE.items() if sign in text]
    if line is not None and known:
        return TableError(f"table {name}: line {line[1]} {known[0]}")
    where = "" if line is None else f", line {line[1]}"
    reason = f": {text.splitlines()[0]}" if show else "; --show-values prints why"
    return TableError(f"table {name}{where} cannot be read as {kind}{reason}")
