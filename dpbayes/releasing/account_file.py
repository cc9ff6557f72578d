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
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpbayes.releasing.witness import AccountError

_PATIENCE = 60.0
_EXACT = re.compile("[0-9]+(/[0-9]+)?")
_RECEIPT = re.compile(r"\S+ [0-9]{1,18} [0-9a-f]{64}")
SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL,"
    " epsilon TEXT NOT NULL, body TEXT NOT NULL, time TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
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
    """One line of an account: kind "open", "table", "spend" or "result"; what it took, if any."""

    sequence: int
    kind: str
    request: str
    epsilon: Fraction
    body: str
    time: str
    digest: str
    delta: Fraction = Fraction(0)

    @property
    def cost(self) -> str:
        """What it took, as it stands in the file: an epsilon, and a delta where there is one."""
        return f"{self.epsilon};{self.delta}" if self.delta else str(self.epsilon)

    def content(self) -> str:
        """Return what the digest is computed from."""
        fields = [self.sequence, self.kind, self.request, self.cost, self.body, self.time]
        return json.dumps(fields)


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
        epsilon, mark, delta = row[3].partition(";")
        cost = exact(epsilon), exact(delta if mark else "0")
        return Entry(int(row[0]), row[1], row[2], cost[0], row[4], row[5], row[6], cost[1])
    except (ValueError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise AccountError(f"account {path} is damaged: entry {row[0]} cannot be read") from error


@contextmanager
def connected(path: Path, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file of an account; SQLite's errors become sentences that name the file."""
    mode = "rwc" if new else "rw"
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
        )
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


_ROWS = (
    "SELECT sequence, kind, request, epsilon, body, time, digest FROM entries "
    "WHERE sequence >= ? ORDER BY sequence"
)


def rows_from(connection: sqlite3.Connection, first: int) -> list[tuple[Any, ...]]:
    """Return the rows of the entries from one number on, in their order."""
    return connection.execute(_ROWS, (first,)).fetchall()


def append_line(path: Path, line: str) -> None:
    """Add a line to a file of receipts durably; AccountError where that is not possible.

    What a full disk has left of a line is cut off first, so that the file can be read again.
    """
    try:
        _end_line(path)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
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


def has_line(path: str, line: str) -> bool:
    """Return whether a file is there and has this line.

    >>> has_line("/nowhere/receipts.txt", "clinic 1")
    False
    """
    try:
        return line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # then nothing can be added to it either, and that is said
        return False
