"""Entries that are chained with a key: written durably, and checked whenever they are read."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpbayes.tables.entries import (
    Entry,
    Receipt,
    append_lines,
    connected,
    lines_of,
    read_entry,
    rows_from,
    write_row,
)
from dpbayes.tables.keys import AccountError, Witness, read_witness, write_witness


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
        write_row(connection, self.entries[-1])

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
