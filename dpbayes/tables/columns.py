"""The texts of some columns of a CSV, TSV or Parquet file, and the file's digest.

Texts and digest come from one reading, so that what is counted is what an account knows
by its digest, whoever writes to the file meanwhile.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from dpbayes.tables.attributes import Attribute, Bins, Categories, decimal
from dpbayes.tables.units import counted

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t"}
PIECE = 1 << 11
_NUMERIC = re.compile(
    r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|VARCHAR|ENUM.*)"
)
_NESTED = re.compile(r"STRUCT|MAP|UNION|VARIANT|.*\[[0-9]*\]$")
Texts = tuple[str, ...]


class TableError(ValueError):
    """A table disagrees with what was declared; rows are named, their content only if
    asked.
    """


class Columns:
    """Columns of a table; `pieces` yields their texts, `digest` is the file's SHA-256
    then.

    `attributes` are declared, `other` is a further column; `absent` labels need no
    cell that has them, since they stand for cells without a value. In a CSV file only a
    value that an attribute lists may have a line break: any other cell with one, in
    whatever column, may be rows that a quotation mark has swallowed. They would be
    missing from all counts, so that one record hides many.
    """

    def __init__(
        self,
        table: Path,
        attributes: Sequence[Attribute],
        other: str | None = None,
        absent: frozenset[str] = frozenset(),
        show: bool = False,
    ) -> None:
        self.table, self.attributes, self._show = table, attributes, show
        self.names = [one.name for one in attributes] + ([other] if other else [])
        self._absent, self._hash = absent, hashlib.sha256()
        self._returns = False  # whether a carriage return stood within a line

    @property
    def digest(self) -> bytes:
        """The digest of all bytes read."""
        return self._hash.digest()

    def pieces(self) -> Iterator[list[Texts]]:
        """Yield the texts, many rows at a time; TableError has the place of a fault."""
        table, kind = self.table, self.table.suffix.lower()
        if not table.is_file():
            raise TableError(
                f"table must be a CSV or Parquet file, got {str(table)!r}, which is"
                " none"
            )
        if kind == ".parquet":
            return self._parquet()
        if kind not in SEPARATORS:
            allowed = f"{', '.join(SEPARATORS)} or .parquet"
            raise TableError(
                f"table must end in {allowed}, got {table.name!r}: export it so"
            )
        return self._csv(SEPARATORS[kind])

    def _csv(self, signs: str) -> Iterator[list[Texts]]:
        """Yield rows of a CSV file, whose separator finds most names in the first
        line.
        """
        rows: list[list[str]] = []
        line = 1
        try:
            with self.table.open("rb") as stream:
                begin = stream.readline()
                self._hash.update(begin)
                head = begin.removeprefix(codecs.BOM_UTF8)
                if not head.strip():
                    raise TableError(
                        f"table {self.table} has no first line with the names of its"
                        " columns"
                    )
                heads = {
                    s: next(csv.reader([head.decode()], delimiter=s), []) for s in signs
                }
                best = max(heads, key=lambda s: self._found(heads[s]))
                text = map(bytes.decode, chain([head], self._hashed(stream)))
                reader = csv.reader(text, delimiter=best, strict=True)
                there = next(reader)
                self._refuse_breaks([there], 1, {})
                chosen = [self._column(name, there) for name in self.names]
                listed = {
                    i: one.labels if isinstance(one, Categories) else ()
                    for i, one in zip(chosen, self.attributes, strict=False)
                }
                while True:
                    line, rows = reader.line_num + 1, []
                    # What was read before an error stays in it.
                    rows.extend(islice(reader, PIECE))
                    if not rows:
                        return
                    wrong = [i for i, row in enumerate(rows) if len(row) != len(there)]
                    if wrong:
                        why = "does not have as many fields as the first line"
                        if not rows[wrong[0]]:
                            why = 'is blank; take it out, or write an empty value as ""'
                        del rows[wrong[0] :]
                        break
                    if self._returns or reader.line_num - line + 1 > len(rows):
                        self._refuse_breaks(rows, line, listed)
                    picked = (map(itemgetter(i), rows) for i in chosen)
                    yield list(zip(*picked, strict=True))
        except UnicodeDecodeError:
            why = "is not UTF-8; save the table as UTF-8"
        except csv.Error as error:
            why = (
                f"cannot be read ({error}); a value that begins with a quotation mark"
                " must end with one, and a quotation mark in it is written twice"
            )
            if "new-line" in str(error):
                why = (
                    "has a carriage return where no line feed follows, as in tables of"
                    " old programs; save it with line feeds at the ends of lines"
                )
        raise TableError(f"table {self.table}: line {line + _lines(rows)} {why}")

    def _found(self, there: Sequence[str]) -> tuple[int, int, int]:
        """Return how many columns are there, how many but for capitals and spaces, and
        how many names there are: the message of a wrong name is about them.
        """
        exact = {*self.names} & {*there}
        near = set(map(_alike, self.names)) & set(map(_alike, there))
        return len(exact), len(near), len(there)

    def _hashed(self, stream: Any) -> Iterator[bytes]:
        for line in stream:
            self._hash.update(line)
            self._returns = self._returns or b"\r" in line.rstrip(b"\r\n")
            yield line

    def _refuse_breaks(
        self, rows: list[list[str]], line: int, listed: Mapping[int, Sequence[str]]
    ) -> None:
        """Refuse line breaks in cells, and so rows in them; `listed` are the values
        that each column may have all the same.
        """
        for above, row in enumerate(rows):
            for i, text in enumerate(row):
                if has_break(text) and text not in listed.get(i, ()):
                    raise TableError(
                        f"table {self.table}: line {line + _lines(rows[:above])} begins"
                        f" a value with a line break in it, field {i + 1} of"
                        f" {len(row)}: after a quotation mark that nothing closes,"
                        " whole rows are one value. If that is so, close the mark; if"
                        " the value is meant, write it in one line, leave its column"
                        " out, or save the table as Parquet"
                    )

    def _parquet(self) -> Iterator[list[Texts]]:
        """Yield rows of a Parquet file, with the text that DuckDB writes for each
        value.
        """
        import duckdb

        with NamedTemporaryFile(suffix=".parquet") as copy:
            with self.table.open("rb") as stream:
                while block := stream.read(1 << 20):
                    self._hash.update(block)
                    copy.write(block)
            copy.flush()
            try:
                with duckdb.connect() as connection:
                    # In a notebook without ipywidgets there is no progress bar to turn
                    # off, and it fails.
                    with suppress(duckdb.Error):
                        connection.execute("SET enable_progress_bar = false")
                    connection.execute("SET TimeZone = 'UTC'")  # on every machine
                    self._select(connection, copy.name)
                    while rows := connection.fetchmany(PIECE):
                        yield rows
            except duckdb.Error as error:
                told = str(error).splitlines()[0]
                why = f": {told}" if self._show else "; --show-values prints why"
                raise TableError(
                    f"table {self.table} cannot be read as .parquet{why}"
                ) from None

    def _select(self, connection: Any, copy: str) -> None:
        """Begin a query for the texts of the columns, whose types fit what is
        declared.
        """
        source = (
            "read_parquet(?, hive_partitioning = false, union_by_name = false, filename"
            " = false, binary_as_string = true)"
        )
        listed = connection.execute(f"DESCRIBE SELECT * FROM {source}", [[copy]])
        there = [(str(row[0]), str(row[1])) for row in listed.fetchall()]
        wanted = [self._column(name, [one for one, _ in there]) for name in self.names]
        for attribute, i in zip(self.attributes, wanted, strict=False):
            self._check_type(connection, attribute, there[i][1])
        for i in wanted:
            if _NESTED.match(there[i][1]):
                raise TableError(
                    f"table {self.table}: column {there[i][0]!r} is of type"
                    f" {there[i][1]}, whose cells are no single values"
                )
        texts = (
            f"CASE WHEN isnan(c{i}) THEN '' ELSE coalesce(CAST(c{i} AS VARCHAR), '')"
            " END"
            if there[i][1] in ("FLOAT", "DOUBLE")
            else f"coalesce(CAST(c{i} AS VARCHAR), '')"
            for i in wanted
        )
        renamed = ", ".join(f"c{i}" for i in range(len(there)))
        connection.execute(
            f"SELECT {', '.join(texts)} FROM {source} AS t({renamed})", [[copy]]
        )

    def _check_type(self, connection: Any, attribute: Attribute, kind: str) -> None:
        """Refuse what no cell of a column of this type can be."""
        where = f"table {self.table}: column {attribute.name!r} is of type {kind}"
        if isinstance(attribute, Bins):
            if not _NUMERIC.fullmatch(kind):
                raise TableError(f"{where}, whose cells are no numbers to be binned")
            return
        if kind == "VARCHAR":
            return
        for label in attribute.labels:
            found = connection.execute(
                f"SELECT CAST(TRY_CAST(? AS {kind}) AS VARCHAR)", [label]
            ).fetchone()[0]
            same = found == label
            if not attribute.of_texts:
                same = found is not None and decimal(found) == decimal(label)
            if not same and label.strip() and label not in self._absent:
                hint = "" if found is None else f"; it would be {found!r} there"
                raise TableError(
                    f"{where}, in which no cell can be {label!r}, a value that is"
                    f" declared{hint}"
                )

    def _column(self, name: str, there: Sequence[str]) -> int:
        """Return the place of the one column called exactly so."""
        if there.count(name) == 1:
            return there.index(name)
        if name in there:
            told = f"has {there.count(name)} columns {name!r}; rename all but one"
            raise TableError(f"table {self.table} {told}")
        near = any(_alike(one) == _alike(name) for one in there)
        hint = ", only one that differs from it by capitals or spaces" if near else ""
        listed = (
            f": {', '.join(map(repr, there))}"
            if self._show
            else "; --show-values prints their names"
        )
        has = f"it has {counted(len(there), 'column')}{listed}"
        raise TableError(f"table {self.table} has no column {name!r}{hint}; {has}")


def _alike(name: str) -> str:
    """Return a name without what is easily written otherwise."""
    return name.strip().casefold()


def has_break(text: str) -> bool:
    """Return whether a value goes on in another line.

    >>> has_break("5 foot"), has_break("5 foot\\n6"), has_break("5 foot\\r6")
    (False, True, True)
    """
    return "\n" in text or "\r" in text


def _lines(rows: list[list[str]]) -> int:
    """Return how many lines some rows take."""
    return sum(1 + sum(field.count("\n") for field in row) for row in rows)
