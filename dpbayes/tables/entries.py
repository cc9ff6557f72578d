"""The entries of an account: the rows of its file, each chained to the one before."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpbayes.tables.keys import AccountError, Witness

SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, request"
    " TEXT NOT NULL, epsilon TEXT NOT NULL, body TEXT NOT NULL, time TEXT NOT NULL,"
    " digest TEXT NOT NULL) STRICT"
)


class RequestTakenError(AccountError):
    """A request's id was used for something else; the message names no file."""


@dataclass(frozen=True)
class Entry:
    """One line of an account: kind "open", "table", "spend" or "result"; what it
    took."""

    sequence: int
    kind: str
    request: str
    epsilon: Fraction
    body: str
    time: str
    digest: str = ""

    def row(self) -> tuple[Any, ...]:
        """Return the entry as the file has it."""
        what = self.sequence, self.kind, self.request, str(self.epsilon)
        return (*what, self.body, self.time, self.digest)

    def signed(self, witness: Witness, before: str) -> str:
        """Return the digest that this entry must have after one with digest
        `before`."""
        return witness.sign(f"{before}|{json.dumps(self.row()[:-1])}".encode())

    @cached_property
    def fields(self) -> dict[str, Any]:
        """What the body says: a spend has statement, table and payer, an answer
        more."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def exact(text: str) -> Fraction:
    """Return the fraction that an account's text stands for; ValueError for any other
    text.
    """
    # A power of ten could stand for more digits than there is room.
    if not re.fullmatch("[0-9]+(/[0-9]+)?", text):
        raise ValueError(
            f"text must be whole numbers with at most one slash, got {text[:40]!r}"
        )
    return Fraction(text)


def read_entries(path: Path, connection: sqlite3.Connection, first: int) -> list[Entry]:
    """Return the entries of a file from one number on, in their order."""
    wanted = "SELECT * FROM entries WHERE sequence >= ? ORDER BY sequence"
    rows = connection.execute(wanted, (first,)).fetchall()
    try:
        return [Entry(row[0], row[1], row[2], exact(row[3]), *row[4:]) for row in rows]
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise AccountError(
            f"account {path} is damaged: an entry cannot be read"
        ) from error
