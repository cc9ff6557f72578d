"""The file of an account: entries chained with a key, checked whenever they are read."""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen
from dpbayes.tables.keys import PATIENCE, AccountError, Witness, read_witness, write_witness

_EXACT = re.compile("[0-9]+(/[0-9]+)?")
_RECEIPT = re.compile(r"\S+ [0-9]{1,18} [0-9a-f]{64}")
_FIELDS = "sequence, kind, request, epsilon, delta, body, time, digest"
SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL,"
    " epsilon TEXT NOT NULL, delta TEXT NOT NULL, body TEXT NOT NULL, time TEXT NOT NULL, "
    "digest TEXT NOT NULL) STRICT"
)


@dataclass(frozen=True)
class Receipt:
    """Proof of an entry: its number in the account and its digest; keep it, or print it."""

    dataset: str
    sequence: int
    digest: str

    def __str__(self) -> str:
        return f"{self.dataset} {self.sequence} {self.digest}"

    @classmethod
    def parse(cls, text: str) -> Receipt:
        """Return the receipt that a printed line stands for."""
        words = text.split()
        if not _RECEIPT.fullmatch(" ".join(words)):
            raise ValueError(f"receipt must be 'dataset number digest', got {text!r}")
        return cls(words[0], int(words[1]), words[2])


@dataclass(frozen=True)
class Entry:
    """One line of an account: kind "open", "table", "spend", "result" or "reply"; what it took.

    `fields` are what its body says: a spend has statement, table and payer, an answer more.
    """

    sequence: int
    kind: str
    request: str
    epsilon: Fraction
    delta: Fraction
    body: str
    time: str
    digest: str = ""

    def content(self) -> str:
        """Return what the digest is computed from."""
        costs = [str(self.epsilon), str(self.delta)]
        return json.dumps([self.sequence, self.kind, self.request, *costs, self.body, self.time])

    @cached_property
    def fields(self) -> dict[str, Any]:
        """What the body says, as it was written."""
        found = json.loads(self.body)
        return found if isinstance(found, dict) else {}

    def row(self) -> tuple[Any, ...]:
        """Return the row of the file."""
        costs = str(self.epsilon), str(self.delta)
        return (self.sequence, self.kind, self.request, *costs, self.body, self.time, self.digest)


def exact(text: str) -> Fraction:
    """Return the fraction that an account's text stands for; ValueError for any other text.

    >>> exact("1/3"), exact("12")
    (Fraction(1, 3), Fraction(12, 1))
    """
    if not _EXACT.fullmatch(text):  # a power of ten could stand for more digits than there is room
        raise ValueError(f"text must be whole numbers with at most one slash, got {text[:40]!r}")
    return Fraction(text)


def read_entry(path: Path, row: tuple[Any, ...]) -> Entry:
    """Return the entry in a row of the file."""
    try:
        return Entry(int(row[0]), row[1], row[2], exact(row[3]), exact(row[4]), *row[5:])
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise AccountError(f"account {path} is damaged: entry {row[0]} cannot be read") from error


@contextmanager
def connected(path: Path, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file of an account; SQLite's errors become sentences that name the file."""
    place = f"file:{quote(str(path))}?mode={'rwc' if new else 'rw'}"
    try:
        connection = sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise AccountError(f"account {path} cannot be used: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise AccountError(f"account {path} is damaged: {error}") from error


def rows_from(connection: sqlite3.Connection, first: int) -> list[tuple[Any, ...]]:
    """Return the rows of the entries from one number on, in their order."""
    wanted = f"SELECT {_FIELDS} FROM entries WHERE sequence >= ? ORDER BY sequence"
    return connection.execute(wanted, (first,)).fetchall()


def append_lines(path: Path, lines: list[str]) -> None:
    """Add lines to a file of receipts durably; AccountError where that is not possible.

    What a full disk has left of a line is cut off first, so that the file can be read again.
    """
    try:
        _end_line(path)
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise AccountError(
            f"receipts {path} cannot be written: {error.strerror}. The account holds the entry; "
            "the same command again goes on from there and pays nothing twice"
        ) from error


def _end_line(path: Path) -> None:
    """End the last line of a file of receipts, or cut it off where it is none that is whole."""
    if not path.is_file():
        return
    with path.open("r+b") as stream:
        content = stream.read()
        last = content.rpartition(b"\n")[2]
        if last and _RECEIPT.fullmatch(last.decode(errors="replace")):
            stream.write(b"\n")
        elif last:
            stream.truncate(len(content) - len(last))


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file of receipts, none where there is no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # then nothing can be added to it either, and that is said
        return []


@dataclass
class Chain:
    """The entries of one account's file, as far as they were read, and its witness."""

    path: Path
    dataset: str
    receipts: str | None
    witness: Witness = field(repr=False)
    entries: list[Entry] = field(default_factory=list, repr=False)
    _named: dict[tuple[str, str], Entry] = field(default_factory=dict, repr=False)

    def append(
        self,
        connection: sqlite3.Connection,
        kind: str,
        request: str,
        body: dict[str, Any],
        epsilon: Fraction = Fraction(0),
        delta: Fraction = Fraction(0),
    ) -> None:
        """Write the next entry, inside `writing`."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before = self.entries[-1] if self.entries else None
        number = 0 if before is None else before.sequence + 1
        text = json.dumps(body, sort_keys=True)
        entry = Entry(number, kind, request, epsilon, delta, text, moment)
        digest = self.witness.sign("" if before is None else before.digest, entry.content())
        self._take(replace(entry, digest=digest))
        row = self.entries[-1].row()
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._named.setdefault((entry.request, entry.kind), entry)

    def settled(self) -> Receipt:
        """Return the last receipt once every entry has one in the second place, if there is one."""
        absent = self.unlisted()
        if absent and self.receipts is not None:
            append_lines(Path(self.receipts), [str(one) for one in absent])
        return self.receipt(self.entries[-1])

    def unlisted(self) -> list[Receipt]:
        """Return the receipts that the second place has no line for, if there is one."""
        if self.receipts is None:
            return []
        lines = set(lines_of(Path(self.receipts)))
        return [one for one in map(self.receipt, self.entries) if str(one) not in lines]

    def receipt(self, entry: Entry) -> Receipt:
        """Return the receipt of an entry."""
        return Receipt(self.dataset, entry.sequence, entry.digest)

    def of(self, request: str, kind: str) -> Entry | None:
        """Return the first entry of a kind under a request's name."""
        return self._named.get((request, kind))

    def read(self) -> None:
        """Take in what was written since, checking that nothing is missing or changed."""
        with connected(self.path) as connection:
            self._catch_up(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit durably, then move the witness, or change nothing."""
        with connected(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.witness = read_witness(self.dataset)
            self._catch_up(connection)
            known = len(self.entries)
            try:
                yield connection
                self._require_kept(connection, known)
                connection.execute("COMMIT")
            except BaseException:
                self.forget(known)
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._move_witness(connection)

    def forget(self, known: int) -> None:
        """Forget all entries but the first ones."""
        for entry in self.entries[known:]:
            if self._named.get((entry.request, entry.kind)) is entry:
                del self._named[entry.request, entry.kind]
        del self.entries[known:]

    def _require_kept(self, connection: sqlite3.Connection, known: int) -> None:
        """Refuse a file that forgets or changes what is written to it, as by a trigger."""
        written = [read_entry(self.path, row) for row in rows_from(connection, known)]
        if written != self.entries[known:]:
            raise AccountError(f"account {self.path} does not keep what is written to it")

    def _move_witness(self, connection: sqlite3.Connection) -> None:
        # Under the write lock again, so that two processes cannot move it backwards between them.
        last = self.entries[-1]
        connection.execute("BEGIN IMMEDIATE")
        newest = read_witness(self.dataset)
        tables = tuple(dict.fromkeys((*newest.tables, *self.witness.tables)))
        if newest.sequence < last.sequence:
            write_witness(replace(newest.seen(last.sequence, last.digest), tables=tables))
        connection.execute("COMMIT")

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Take in new entries, checking each digest and that nothing seen before has gone."""
        known = len(self.entries)
        witness = read_witness(self.dataset)
        rows = rows_from(connection, max(known - 1, 0))
        if known and (not rows or read_entry(self.path, rows.pop(0)) != self.entries[-1]):
            raise self._rolled_back(known - 1)
        fresh: list[Entry] = []
        before = self.entries[-1].digest if self.entries else ""
        for place, row in enumerate(rows, known):
            entry = read_entry(self.path, row)
            if entry.sequence != place or entry.digest != witness.sign(before, entry.content()):
                raise AccountError(
                    f"account {self.path} is damaged: entry {row[0]} does not match its digest"
                )
            fresh.append(entry)
            before = entry.digest
        last = witness.sequence
        seen = fresh[last - known : last - known + 1] if last >= known else [self.entries[last]]
        if not seen or seen[0].digest != witness.digest:
            raise self._rolled_back(last)
        for entry in fresh:
            self._take(entry)

    def _rolled_back(self, sequence: int) -> AccountError:
        return AccountError(
            f"account {self.path} was rolled back: entry {sequence}, which was seen before, is "
            "missing or another one"
        )


@dataclass(frozen=True)
class Answered:
    """A bought answer: its entry's `number`, query (cells,), scale and `value` in grid units.

    `value` is None where it was paid for and not drawn yet: whoever sees that draws and keeps it.
    """

    number: int
    request: str
    payer: str
    label: str
    query: NDArray[np.float64]
    scale: int
    value: int | None
    epsilon: Fraction
    asked: str
    table: str


def packed(query: NDArray[np.float64]) -> str:
    """Return coefficients as text.

    >>> len(packed(np.zeros(1000))) < 100
    True
    """
    return base64.b64encode(zlib.compress(query.astype("<f8").tobytes())).decode()


def answered(entry: Entry, kept: Entry | None) -> Answered:
    """Return what an entry says was bought, and what `kept` says was drawn."""
    fields = entry.fields
    content = zlib.decompress(base64.b64decode(fields["query"]))
    return Answered(
        entry.sequence,
        entry.request,
        fields["payer"],
        fields["statement"],
        frozen(np.frombuffer(content, dtype="<f8").astype(np.float64)),
        int(fields["scale"], 16),
        None if kept is None else int(kept.fields["result"], 0),
        entry.epsilon,
        fields["asked"],
        fields["table"],
    )
