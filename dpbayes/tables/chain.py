"""The file of an account: entries chained with a key, checked whenever they are read; receipts."""

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

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen
from dpbayes.tables.keys import (
    AccountError,
    Witness,
    connected,
    read_witness,
    witness_file,
    write_witness,
)

SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL,"
    " epsilon TEXT NOT NULL, body TEXT NOT NULL, time TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
)
_EXACT = re.compile("[0-9]+(/[0-9]+)?")
_RECEIPT = re.compile(r"\S+ [0-9]{1,18} [0-9a-f]{64}")


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
    """One line of an account: kind "open", "table", "spend" or "result"; and what it took."""

    sequence: int
    kind: str
    request: str
    epsilon: Fraction
    body: str
    time: str
    digest: str = ""

    def row(self) -> tuple[Any, ...]:
        """Return the row of the file."""
        what = self.sequence, self.kind, self.request, str(self.epsilon)
        return (*what, self.body, self.time, self.digest)

    def content(self) -> str:
        """Return what the digest is computed from."""
        return json.dumps(self.row()[:-1])

    @cached_property
    def fields(self) -> dict[str, Any]:
        """What the body says: a spend has statement, table and payer, an answer more."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def exact(text: str) -> Fraction:
    """Return the fraction that an account's text stands for; ValueError for any other text."""
    if not _EXACT.fullmatch(text):  # a power of ten could stand for more digits than there is room
        raise ValueError(f"text must be whole numbers with at most one slash, got {text[:40]!r}")
    return Fraction(text)


def read_entries(path: Path, connection: sqlite3.Connection, first: int) -> list[Entry]:
    """Return the entries of a file from one number on, in their order."""
    wanted = "SELECT * FROM entries WHERE sequence >= ? ORDER BY sequence"
    rows = connection.execute(wanted, (first,)).fetchall()
    try:
        return [Entry(row[0], row[1], row[2], exact(row[3]), *row[4:]) for row in rows]
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise AccountError(f"account {path} is damaged: an entry cannot be read") from error


def append_lines(path: Path, lines: list[str]) -> None:
    """Add lines to a file of receipts durably; AccountError where that is not possible.

    What a full disk has left of a line is cut off first, so that the file can be read again.
    """
    try:
        with path.open("a+b") as stream:
            stream.seek(0)
            last = stream.read().rpartition(b"\n")[2]
            if last and _RECEIPT.fullmatch(last.decode(errors="replace")):
                stream.write(b"\n")
            elif last:
                stream.truncate(stream.tell() - len(last))
            stream.write("".join(f"{line}\n" for line in lines).encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise AccountError(
            f"receipts {path} cannot be written: {error.strerror}. The account holds the entry; "
            "the same command again goes on from there and pays nothing twice"
        ) from error


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, none where there is no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # then nothing can be added to it either, and that is said
        return []


@dataclass(frozen=True)
class Answered:
    """A bought answer: its entry's `number`, query (cells,), scale and `value` in grid units.

    `offer` is what was known of it before it was drawn. `value` is None where it was paid for and
    not drawn yet: whoever sees that draws and keeps it.
    """

    number: int
    request: str
    cube: str
    asked: str
    label: str
    query: NDArray[np.float64]
    scale: int
    offer: dict[str, Any]
    value: int | None

    @classmethod
    def of(cls, entry: Entry, kept: Entry | None) -> Answered:
        """Return what an entry says was bought, and what `kept` says was drawn."""
        said = entry.fields
        coefficients = zlib.decompress(base64.b64decode(said["query"]))
        return cls(
            entry.sequence,
            entry.request,
            said["cube"],
            said["asked"],
            said["statement"],
            frozen(np.frombuffer(coefficients, dtype="<f8").astype(np.float64)),
            int(said["scale"], 16),
            said["offer"],
            None if kept is None else int(kept.fields["result"], 0),
        )


def packed(query: NDArray[np.float64]) -> str:
    """Return coefficients as text, from which `Answered.of` makes them again."""
    return base64.b64encode(zlib.compress(query.astype("<f8").tobytes())).decode()


@dataclass(kw_only=True)
class Chain:
    """The entries of one account's file, as far as they were read, and its witness."""

    path: Path
    dataset: str
    receipts: str | None = None
    witness: Witness = field(repr=False)
    _known: list[Entry] = field(default_factory=list, repr=False)
    _named: dict[tuple[str, str], Entry] = field(default_factory=dict, repr=False)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, after checking that none is missing or changed."""
        with connected(self.path) as connection:
            self._catch_up(connection)
        return tuple(self._known)

    @property
    def position(self) -> int:
        """The number of entries, after checking them."""
        return len(self.entries)

    @property
    def receipt(self) -> Receipt:
        """The receipt of the last entry."""
        return self._receipt(self.entries[-1])

    def without_receipt(self) -> list[Receipt]:
        """Return the receipts that the second place has no line for, if there is one."""
        if self.receipts is None:
            return []
        lines = set(lines_of(Path(self.receipts)))
        return [one for one in map(self._receipt, self.entries) if str(one) not in lines]

    def settle(self) -> None:
        """Give every entry its line in the second place, if there is one."""
        absent = self.without_receipt()
        if absent and self.receipts is not None:
            append_lines(Path(self.receipts), [str(one) for one in absent])

    def _receipt(self, entry: Entry) -> Receipt:
        return Receipt(self.dataset, entry.sequence, entry.digest)

    def append(
        self,
        connection: sqlite3.Connection,
        kind: str,
        request: str,
        body: dict[str, Any],
        epsilon: Fraction = Fraction(0),
    ) -> None:
        """Write the next entry, inside `_writing`."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before = self._known[-1].digest if self._known else ""
        text = json.dumps(body, sort_keys=True)
        entry = Entry(len(self._known), kind, request, epsilon, text, moment)
        self._take(replace(entry, digest=self.witness.sign(before, entry.content())))
        row = self._known[-1].row()
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _take(self, entry: Entry) -> None:
        self._known.append(entry)
        self._named.setdefault((entry.kind, entry.request), entry)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit durably, then move the witness, or change nothing."""
        with connected(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._catch_up(connection)
            known = len(self._known)
            try:
                yield connection
                if read_entries(self.path, connection, known) != self._known[known:]:  # a trigger
                    raise AccountError(f"account {self.path} does not keep what is written to it")
                connection.execute("COMMIT")
            except BaseException:
                self._known.clear()
                self._named.clear()
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._move_witness(connection)
        self.settle()

    def _move_witness(self, connection: sqlite3.Connection) -> None:
        # Under the write lock again, so that two processes cannot move it backwards between them.
        connection.execute("BEGIN IMMEDIATE")
        newest, last = read_witness(witness_file(self.dataset)), self._known[-1]
        if newest.sequence < last.sequence:
            tables = [e.fields["table"] for e in self._known if e.kind == "table"]
            moved = replace(newest, sequence=last.sequence, digest=last.digest, tables=tables)
            write_witness(moved)
        connection.execute("COMMIT")

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Take in new entries, checking each digest and that nothing seen before has gone."""
        self.witness = witness = read_witness(witness_file(self.dataset))
        known = len(self._known)
        fresh = read_entries(self.path, connection, max(known - 1, 0))
        if known and (not fresh or fresh.pop(0) != self._known[-1]):
            raise self._rolled_back(known - 1)
        before = self._known[-1].digest if known else ""
        for place, entry in enumerate(fresh, known):
            if entry.sequence != place or entry.digest != witness.sign(before, entry.content()):
                raise AccountError(
                    f"account {self.path} is damaged: entry {entry.sequence} does not match its "
                    "digest"
                )
            before = entry.digest
        seen = [*self._known, *fresh][witness.sequence : witness.sequence + 1]
        if not witness.pending and (not seen or seen[0].digest != witness.digest):
            raise self._rolled_back(witness.sequence)
        for entry in fresh:
            self._take(entry)

    def _rolled_back(self, sequence: int) -> AccountError:
        return AccountError(
            f"account {self.path} was rolled back: entry {sequence}, which was seen before, is "
            "missing or another one. Put the newest file back; nothing is paid from an older one"
        )
