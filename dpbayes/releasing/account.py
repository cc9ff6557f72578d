"""One account for one data set: what may be spent on it, and what has been.

An account is an append-only SQLite file. Each entry carries a digest keyed with a secret that is
kept elsewhere (`dpbayes.releasing.witness`) and chained to the entry before, and the last digest is
kept beside the key. An entry that was edited, a file that was cut short, deleted, or replaced by an
older copy is noticed. Opening an account never makes one. Spends are written durably before
anything is drawn; the drawn result is written durably before it is shown.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from dpbayes.releasing.account_file import (
    Entry,
    Receipt,
    append_line,
    connected,
    has_line,
    read_entry,
    rows_from,
)
from dpbayes.releasing.witness import (
    AccountError,
    Witness,
    read_witness,
    write_witness,
)
from dpbayes.tables.decimals import decimal_text, significant_text

FORMAT = 1


@dataclass
class Account:
    r"""An open account; make one with `create_account`, open one with `open_account`.

    `dataset` its name, `bound` the largest epsilon of all spends together, `delta_bound` their
    largest delta, `neighbours` the relation that both are for. Spends add up, epsilon and delta
    each by itself: all of them together are (sum of epsilons, sum of deltas)-private, also where
    one was chosen after seeing another (basic composition).

    >>> import os, tempfile
    >>> from dpbayes.releasing.opening import create_account
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\n")
    ...     account = create_account(Path(folder) / "clinic.account", "clinic", "0.3", table)
    ...     account.spend("spring", Fraction(1, 10), "a plan"), account.keep("spring", "the draw")
    ...     account.spend("spring", Fraction(1, 10), "a plan"), account.keep("spring", "another")
    ...     account.spent, account.balance
    (True, 'the draw')
    (False, 'the draw')
    (Fraction(1, 10), Fraction(1, 5))
    """

    path: Path
    dataset: str
    bound: Fraction
    neighbours: str
    receipts: str | None
    delta_bound: Fraction
    _witness: Witness = field(repr=False)
    _entries: list[Entry] = field(default_factory=list, repr=False)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, after checking that none is missing or changed."""
        with self._reading() as connection:
            self._catch_up(connection)
        return tuple(self._entries)

    @property
    def spent(self) -> Fraction:
        """The sum of all spends, each an epsilon under the account's relation."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def balance(self) -> Fraction:
        """What is left to spend."""
        return self.bound - self.spent

    @property
    def delta_spent(self) -> Fraction:
        """The sum of the deltas of all spends."""
        return sum((entry.delta for entry in self.entries), Fraction(0))

    @property
    def delta_balance(self) -> Fraction:
        """What is left of the delta."""
        return self.delta_bound - self.delta_spent

    @property
    def receipt(self) -> Receipt:
        """The receipt of the last entry."""
        last = self.entries[-1]
        return Receipt(self.dataset, last.sequence, last.digest)

    def check_table(self, table: Path) -> None:
        """Raise AccountError unless the account stands for this table."""
        if self._witness.fingerprint(table) not in self._witness.tables:
            raise AccountError(
                f"table {table} is not one that account {self.path} stands for. If it is a newer "
                f"version about the same people, say so first: dpbayes account accept {self.path} "
                f"{table}"
            )

    def fingerprint(self, table: Path) -> str:
        """Return the keyed fingerprint of a table, which tells nothing without the key."""
        return self._witness.fingerprint(table)

    def mark(self, content: bytes) -> str:
        """Return a keyed mark of some bytes, by which only the holder of the key can know them."""
        return self._witness.sign("mark", content.hex())[:24]

    def accept(self, table: Path) -> Receipt:
        """Let the account stand for another version of its table too; costs nothing."""
        fingerprint = self._witness.fingerprint(table)
        with self._writing() as connection:
            self._append(connection, "table", "", fingerprint)
            known = dict.fromkeys((*self._witness.tables, fingerprint))
            self._witness = replace(self._witness, tables=tuple(known))
        return self._settled()

    def spend(
        self, request: str, epsilon: Fraction, statement: str, delta: Fraction = Fraction(0)
    ) -> bool:
        """Reserve `epsilon` and `delta` for a request, durably; return False if it was done before.

        `statement` says what is bought; a request that was made for something else is refused, and
        so is one that the balance does not cover.
        """
        if epsilon <= 0:
            raise ValueError(f"epsilon must be positive, got {epsilon}")
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta}")
        with self._writing() as connection:
            fresh = self._reserved(connection, request, statement, epsilon, delta)
        self._settled(fresh)
        return fresh

    def buy(self, request: str, epsilon: Fraction, statement: str, seen: int) -> bool:
        """Reserve `epsilon`, which may be 0, for what was decided after `seen` entries, durably.

        Return False, having written nothing, where there are more entries by now: what they bought
        may change what this one has to cost, so decide again.
        """
        if epsilon < 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon}")
        with self._writing() as connection:
            if len(self._entries) != seen:
                return False
            self._reserved(connection, request, statement, epsilon, Fraction(0))
        self._settled()
        return True

    def _reserved(
        self,
        connection: sqlite3.Connection,
        request: str,
        statement: str,
        epsilon: Fraction,
        delta: Fraction,
    ) -> bool:
        before = self._of(request, "spend")
        if before is not None:
            if (before.body, before.epsilon, before.delta) != (statement, epsilon, delta):
                raise AccountError(
                    f"request {request!r} was made for something else (entry "
                    f"{before.sequence}); name the new one differently"
                )
            return False
        self._require(epsilon, delta)
        self._append(connection, "spend", request, statement, epsilon, delta)
        return True

    def keep(self, request: str, result: str) -> str:
        """Write the result of a request durably and return it; the first one stays for ever."""
        with self._writing() as connection:
            if self._of(request, "spend") is None:
                raise AccountError(f"request {request!r} has not been paid for")
            before = self._of(request, "result")
            if before is None:
                self._append(connection, "result", request, result)
        self._settled(before is None)
        return result if before is None else before.body

    def result(self, request: str) -> str | None:
        """Return the result kept for a request, if there is one."""
        with self._reading() as connection:
            self._catch_up(connection)
        found = self._of(request, "result")
        return None if found is None else found.body

    def verify(self, receipts: list[Receipt]) -> None:
        """Raise AccountError unless every receipt is an entry of this account."""
        entries = {entry.sequence: entry.digest for entry in self.entries}
        for receipt in receipts:
            if receipt.dataset != self.dataset:
                raise AccountError(f"receipt {receipt} is for another data set")
            if entries.get(receipt.sequence) != receipt.digest:
                raise AccountError(
                    f"account {self.path} does not hold entry {receipt.sequence} as it was when "
                    "its receipt was given: the account was rolled back or rewritten"
                )

    def _of(self, request: str, kind: str) -> Entry | None:
        found = [e for e in self._entries if e.kind == kind and e.request == request]
        return found[0] if found else None

    def _require(self, epsilon: Fraction, delta: Fraction) -> None:
        """Refuse a spend that the entries known under the write lock do not leave room for."""
        left = self.bound - sum((entry.epsilon for entry in self._entries), Fraction(0))
        if epsilon > left:
            raise AccountError(
                f"epsilon must be at most {decimal_text(left, 'down')}, what is left of "
                f"account {self.path}, got {decimal_text(epsilon, 'up')}"
            )
        spare = self.delta_bound - sum((entry.delta for entry in self._entries), Fraction(0))
        if delta > spare:
            raise AccountError(
                f"delta must be at most {significant_text(spare, 'down')}, what is left of "
                f"account {self.path}, got {significant_text(delta, 'up')}"
            )

    def _append(
        self,
        connection: sqlite3.Connection,
        kind: str,
        request: str,
        body: str,
        epsilon: Fraction = Fraction(0),
        delta: Fraction = Fraction(0),
    ) -> None:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before = self._entries[-1] if self._entries else None
        number = 0 if before is None else before.sequence + 1
        entry = Entry(number, kind, request, epsilon, body, moment, "", delta)
        digest = self._witness.sign("" if before is None else before.digest, entry.content())
        row = (number, kind, request, entry.cost, body, moment, digest)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._entries.append(replace(entry, digest=digest))

    def _settled(self, fresh: bool = True) -> Receipt:
        """Return the last receipt once it is in the second place, too, if there is one."""
        receipt = self.receipt
        if self.receipts is not None and (fresh or not has_line(self.receipts, str(receipt))):
            append_line(Path(self.receipts), str(receipt))
        return receipt

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with connected(self.path) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit durably, then move the witness, or change nothing."""
        with connected(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._witness = read_witness(self.dataset)
            self._catch_up(connection)
            known = len(self._entries)
            try:
                yield connection
                self._require_kept(connection, known)
                connection.execute("COMMIT")
            except BaseException:
                del self._entries[known:]
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._move_witness(connection)

    def _require_kept(self, connection: sqlite3.Connection, known: int) -> None:
        """Refuse a file that forgets or changes what is written to it, as by a trigger."""
        written = [read_entry(self.path, row) for row in rows_from(connection, known)]
        if written != self._entries[known:]:
            raise AccountError(f"account {self.path} does not keep what is written to it")

    def _move_witness(self, connection: sqlite3.Connection) -> None:
        # Under the write lock again, so that two processes cannot move it backwards between them.
        last = self._entries[-1]
        connection.execute("BEGIN IMMEDIATE")
        newest = read_witness(self.dataset)
        if newest.sequence < last.sequence:
            tables = dict.fromkeys((*newest.tables, *self._witness.tables))
            moved = newest.seen(last.sequence, last.digest)
            write_witness(replace(moved, tables=tuple(tables)))
        connection.execute("COMMIT")

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Take in new entries, checking each digest and that nothing seen before has gone."""
        known = len(self._entries)
        witness = read_witness(self.dataset)
        fresh: list[Entry] = []
        before = self._entries[-1].digest if self._entries else ""
        for place, row in enumerate(rows_from(connection, known), known):
            entry = read_entry(self.path, row)
            if entry.sequence != place or entry.digest != witness.sign(before, entry.content()):
                raise AccountError(
                    f"account {self.path} is damaged: entry {row[0]} does not match its digest"
                )
            fresh.append(entry)
            before = entry.digest
        total = [*self._entries, *fresh]
        if len(total) <= witness.sequence or total[witness.sequence].digest != witness.digest:
            raise AccountError(
                f"account {self.path} was rolled back: entry {witness.sequence}, which its key "
                "file remembers, is missing or another one"
            )
        self._entries = total
