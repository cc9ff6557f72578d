"""The budget ledger: an SQLite file with one row an answer, written before the answer leaves.

A row holds the query, the scale of its noise and the noisy answer, and is committed in one
transaction. A process killed at any point can therefore lose an answer, never a spend. Several
processes may share a file: whoever writes holds the write lock from its decision to its commit.
Each row carries a digest chained to the row before, and the last digest stands in a table of its
own, so that a file that was damaged, or cut short without its digests, is noticed. The digests have
no key: whoever can write the file can make them fit. The file stays with the curator: the
fingerprint of the cube in it depends on the exact counts.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen, integer, shown
from dpbayes.queries.grid import as_text, from_text

_FORMAT = "1"
_PATIENCE = 60.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS terms (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY, label TEXT NOT NULL, "
    "query BLOB NOT NULL, scale TEXT NOT NULL, answer TEXT NOT NULL, digest TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS paid (request TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, asked TEXT NOT NULL, "
    "reply TEXT NOT NULL) STRICT",
)


class LedgerError(ValueError):
    """The ledger belongs to another cube, was opened on other terms, or is damaged.

    >>> open_ledger("/nowhere/spend", b"", 2, {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.queries.ledger.LedgerError: ledger /nowhere/spend cannot be used: ...
    """


@dataclass(frozen=True)
class Entry:
    """One answer: its number from 1, its label, the query, scale and noisy answer in grid units.

    >>> entry = Entry(1, "all", np.ones(2), 2**130, 30 * 2**128)
    >>> entry.answer / 2**128, len(entry.digest("start"))
    (30.0, 64)
    """

    number: int
    label: str
    query: NDArray[np.float64]
    scale: int
    answer: int

    def digest(self, before: str) -> str:
        """Return the digest of this entry, chained to the one before."""
        scale, answer = as_text(self.scale), as_text(self.answer)
        head = f"{before}|{self.number}|{self.label}|{scale}|{answer}|"
        return hashlib.sha256(head.encode() + self.query.astype("<f8").tobytes()).hexdigest()


class Ledger:
    """An open ledger; make one with `open_ledger`. `last` is the number of the last entry read.

    >>> ledger = open_ledger(None, b"cube", 2, {"bound": "1.0"})
    >>> with ledger.writing():
    ...     entry = ledger.append("all", np.ones(2), 2**130, 30 * 2**128)
    ...
    >>> ledger.accept(entry)
    >>> ledger.last
    1
    """

    def __init__(self, connection: sqlite3.Connection, place: str, cells: int, start: str) -> None:
        self._connection = connection
        self._place = place
        self._cells = cells
        self._digest = start
        self._process = os.getpid()
        self.last = 0

    def read_new(self) -> list[Entry]:
        """Return the entries written since the last call, after checking each digest."""
        self._own_process()
        with _clear_errors(self._place), self._snapshot():
            rows = self._connection.execute(
                "SELECT id, label, query, scale, answer, digest FROM answers WHERE id > ? "
                "ORDER BY id",
                (self.last,),
            ).fetchall()
            head = self._connection.execute(
                "SELECT value FROM terms WHERE name = 'head'"
            ).fetchone()
        entries, digest, number = [], self._digest, self.last
        for row in rows:
            entry = _entry(row, self._cells, self._place)
            number, digest = number + 1, entry.digest(digest)
            if entry.number != number or row[5] != digest:
                raise LedgerError(
                    f"ledger {self._place} is damaged: entry {row[0]} does not match its digest"
                )
            entries.append(entry)
        if head != (digest,):
            raise LedgerError(f"ledger {self._place} is damaged: entries are missing at its end")
        self.last, self._digest = number, digest
        return entries

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read rows and head from the same state of the file."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; commit durably at the end, or change nothing on an error."""
        self._own_process()
        with _clear_errors(self._place):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with _clear_errors(self._place):
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def append(
        self, label: str, query: NDArray[np.float64], scale: int, answer: int, request: str = ""
    ) -> Entry:
        """Write the next entry inside `writing`; give it to `accept` before the next one.

        `request` names the entry of the account it was paid with, if there is one.
        """
        if not self.locked:
            raise RuntimeError("append must be called inside writing()")
        entry = Entry(self.last + 1, label, query, scale, answer)
        blob = query.astype("<f8").tobytes()
        written = as_text(scale), as_text(answer)
        row = (entry.number, label, blob, *written, entry.digest(self._digest))
        with _clear_errors(self._place):
            self._connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)
            self._connection.execute("UPDATE terms SET value = ? WHERE name = 'head'", row[-1:])
            if request:
                self._connection.execute("INSERT INTO paid VALUES (?, ?)", (request, entry.number))
        return entry

    @property
    def locked(self) -> bool:
        """Whether this ledger holds the write lock."""
        return self._connection.in_transaction

    def holds(self, request: str) -> bool:
        """Return whether an entry was paid with this request to the account."""
        with _clear_errors(self._place):
            row = self._connection.execute("SELECT 1 FROM paid WHERE request = ?", (request,))
            return row.fetchone() is not None

    def remember(self, request: str, asked: str, reply: str) -> None:
        """Write, inside `writing`, what was asked under a request's name, and the reply to it."""
        if not self.locked:
            raise RuntimeError("remember must be called inside writing()")
        with _clear_errors(self._place):
            row = (request, asked, reply)
            self._connection.execute("INSERT INTO replies VALUES (?, ?, ?)", row)

    def remembered(self, request: str) -> tuple[str, str] | None:
        """Return what was asked under a name and the reply to it, None for a name not used yet."""
        with _clear_errors(self._place):
            row = self._connection.execute(
                "SELECT asked, reply FROM replies WHERE request = ?", (request,)
            ).fetchone()
        return None if row is None else (str(row[0]), str(row[1]))

    @property
    def position(self) -> tuple[int, str]:
        """Number and digest of the last entry read; set back what was undone after it."""
        return self.last, self._digest

    @position.setter
    def position(self, value: tuple[int, str]) -> None:
        self.last, self._digest = value

    def accept(self, entry: Entry) -> None:
        """Count an entry of our own, committed by now, as read."""
        self._digest = entry.digest(self._digest)
        self.last = entry.number

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _own_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "a ledger must be opened in the process that uses it; open it again after a fork"
            )


def open_ledger(
    path: str | Path | None, content: bytes, cells: int, terms: dict[str, str]
) -> Ledger:
    """Return the ledger at `path`, made if there is none; None keeps it in memory only.

    `content` identifies the cube: its digest, salted, is stored and compared. `terms` are what the
    spend was agreed on (bound, neighbours, accounting): opening a ledger on other terms is refused.
    Raises `LedgerError`, leaving the file as it was.

    >>> ledger = open_ledger(None, b"cube", 2, {"bound": "1.0"})
    >>> ledger.read_new(), ledger.last
    ([], 0)
    """
    if not isinstance(content, bytes):
        raise TypeError(f"content must be bytes, got {shown(content)}")
    if not isinstance(terms, dict):
        raise TypeError(f"terms must be a dict, got {shown(terms)}")
    integer("cells", cells, 1)
    place = ":memory:" if path is None else str(Path(path))
    with _clear_errors(place):
        connection = sqlite3.connect(
            place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            start = _agree(connection, place, content, {"format": _FORMAT, **terms})
        except BaseException:
            connection.close()
            raise
    return Ledger(connection, place, cells, start)


def _agree(
    connection: sqlite3.Connection, place: str, content: bytes, terms: dict[str, str]
) -> str:
    """Write the terms into a new ledger, or compare them with those of an old one."""
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = EXTRA")
    if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
        raise LedgerError(f"ledger {place} is damaged: SQLite's check of its pages fails")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _SCHEMA:
            connection.execute(statement)
        found = dict(connection.execute("SELECT name, value FROM terms").fetchall())
        if not found:
            salt = secrets.token_hex(16)
            cube = _fingerprint(salt, content)
            found = {**terms, "salt": salt, "cube": cube, "head": cube}
            connection.executemany("INSERT INTO terms VALUES (?, ?)", sorted(found.items()))
        _compare(place, found, terms, content)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return str(found["cube"])


def _compare(place: str, found: dict[str, str], terms: dict[str, str], content: bytes) -> None:
    for name, value in terms.items():
        if found.get(name) != value:
            raise LedgerError(
                f"ledger {place} was opened with {name} {found.get(name)!r}, got {value!r}"
            )
    if found.get("cube") != _fingerprint(found.get("salt", ""), content):
        raise LedgerError(
            f"ledger {place} belongs to another cube: its fingerprint differs, so its answers say "
            "nothing about this one"
        )


def _fingerprint(salt: str, content: bytes) -> str:
    return hashlib.sha256(salt.encode() + content).hexdigest()


def _entry(row: tuple[object, ...], cells: int, place: str) -> Entry:
    number, label, blob, scale, answer, _ = row
    whole = isinstance(blob, bytes) and len(blob) == 8 * cells
    if not (whole and isinstance(blob, bytes) and isinstance(number, int)):
        raise LedgerError(f"ledger {place} is damaged: entry {number} has a query of wrong length")
    try:
        units, value = from_text(str(scale)), from_text(str(answer))
    except ValueError:
        raise LedgerError(f"ledger {place} is damaged: entry {number} has no number") from None
    query = frozen(np.frombuffer(blob, dtype="<f8").astype(np.float64))
    return Entry(number, str(label), query, units, value)


@contextmanager
def _clear_errors(place: str) -> Iterator[None]:
    """Turn SQLite's errors into sentences that name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerError(f"ledger {place} cannot be used: {error}") from error
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"ledger {place} is damaged: {error}") from error
