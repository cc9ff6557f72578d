"""The file of an account: its entries, their receipts, and how the file is opened."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpbayes.tables.keys import AccountError

FORMAT = 2
PATIENCE = 60.0
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
    mode = "rwc" if new else "rw"
    place = f"file:{quote(str(path))}?mode={mode}"
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


def terms_of(path: Path) -> dict[str, Any]:
    """Return what an account was made on; AccountError where that cannot be told, or is old."""
    with connected(path) as connection:
        try:
            row = connection.execute("SELECT body FROM entries WHERE sequence = 0").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                raise AccountError(f"{path} is no account: it has no entries") from None
            raise
    try:
        terms: dict[str, Any] = json.loads(row[0])
        made = terms["format"]
    except (TypeError, KeyError, ValueError) as error:
        raise AccountError(f"account {path} is damaged: its terms cannot be read") from error
    if made != FORMAT:
        raise AccountError(
            f"account {path} has format {made!r}, which states no unit of protection; this version "
            f"reads format {FORMAT}. Make a new account (another name of the data set), with what "
            "was left as its epsilon"
        )
    return terms


def rows_from(connection: sqlite3.Connection, first: int) -> list[tuple[Any, ...]]:
    """Return the rows of the entries from one number on, in their order."""
    return connection.execute(
        f"SELECT {_FIELDS} FROM entries WHERE sequence >= ? ORDER BY sequence", (first,)
    ).fetchall()


def write_row(connection: sqlite3.Connection, entry: Entry) -> None:
    """Write an entry."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", entry.row())


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
