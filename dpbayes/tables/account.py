"""One account for one table: what may be spent on it, what has been, and every answer
so far.

An account is an append-only SQLite file of entries chained with a key kept elsewhere
(`keys`). A spend is durable before anything is drawn, a draw before it is shown.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpbayes.tables import keys
from dpbayes.tables.keys import AccountError, Witness, connected
from dpbayes.tables.units import RELATIONS, Unit, decimal_text

SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, request"
    " TEXT NOT NULL, epsilon TEXT NOT NULL, body TEXT NOT NULL, time TEXT NOT NULL,"
    " digest TEXT NOT NULL) STRICT"
)


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


@dataclass
class Account:
    """An open account; make one with `create_account`, open one with `open_account`.

    `bound` is the largest epsilon of all spends together, under `neighbours` and for
    `unit`. Spends add up, also where one was chosen after seeing another (book:
    `thm-account`, each delta 0).
    """

    path: Path
    dataset: str
    bound: Fraction
    neighbours: str
    unit: Unit
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
    def receipt(self) -> str:
        """Proof of the last entry, its number and digest, to be kept elsewhere."""
        last = self.entries[-1]
        return f"{self.dataset} {last.sequence} {last.digest}"

    @property
    def spent(self) -> Fraction:
        """The sum of all spends."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def balance(self) -> Fraction:
        """What is left to spend."""
        return self.bound - self.spent

    def paid_by(self, payer: str) -> Fraction:
        spends = (
            e for e in self.entries if e.kind == "spend" and e.fields["payer"] == payer
        )
        return sum((entry.epsilon for entry in spends), Fraction(0))

    def fingerprint(self, table: Path) -> str:
        return self.witness.sign(keys.file_digest(table))

    def mark(self, content: bytes) -> str:
        return self.witness.sign(b"mark|" + content)[:24]

    def check_table(self, table: Path) -> str:
        """Return the name of a table's version; AccountError unless the account stands
        for it.

        The name is the fingerprint, and how often it was accepted if that is more than
        once: a version that did not change is paid anew like one that did, or the
        price would tell whether it changed.
        """
        mark = self.fingerprint(table)
        accepted = sum(
            e.kind == "table" and e.fields["table"] == mark for e in self.entries
        )
        if not accepted:
            raise AccountError(
                f"table {table} is not one that account {self.path} stands for. If it"
                " is a newer one about the same people, say so: dpbayes account accept"
                f" {self.path} {table}"
            )
        return mark if accepted == 1 else f"{mark} {accepted}"

    def require_unit(self, unit: Unit) -> None:
        """Raise AccountError unless the account protects exactly this unit."""
        if unit != self.unit:
            raise AccountError(
                f"unit must be {self.unit}, for which account {self.path} adds up what"
                f" is spent, got {unit}: sums over different units promise nothing"
            )

    def factor(self, neighbours: str) -> int:
        """Return the account's epsilon for one of 1 for a record; AccountError where
        none.
        """
        # All counted records of a person change together; replaced is taken away and
        # added.
        if neighbours != self.neighbours == RELATIONS[1]:
            whose = f"whose epsilon is for {self.unit.differ_by(self.neighbours)}"
            raise AccountError(
                f"neighbours must be {RELATIONS[1]!r} for account {self.path}, {whose},"
                " got "
                f'{neighbours!r}; in a plan: records = "secret"'
            )
        return self.unit.keep * (1 if neighbours == self.neighbours else 2)

    def accept(self, table: Path) -> None:
        """Let the account stand for another version of its table too; costs nothing."""
        with self._writing() as connection:
            self.append(connection, "table", "", {"table": self.fingerprint(table)})

    def reserve(
        self,
        request: str,
        epsilon: Fraction,
        statement: str,
        *,
        table: str = "",
        payer: str = "",
        seen: int | None = None,
        more: dict[str, Any] | None = None,
    ) -> bool:
        """Reserve `epsilon` for a request, durably, before anything is drawn.

        Return whether it was done now: not where it was done before for the same
        `statement` on the same `table` (its fingerprint), nor where the number of
        entries is not the one `seen`, since others may change what this one costs.
        Answers (`more`) may cost nothing.
        """
        if epsilon < 0 or (not epsilon and more is None):
            raise ValueError(f"epsilon must be positive, got {epsilon}")
        body = {"statement": statement, "table": table, "payer": payer, **(more or {})}
        with self._writing() as connection:
            if seen is not None and len(self._known) != seen:
                return False
            before = self._paid(request, table)
            if before is not None and (before.fields, before.epsilon) != (
                body,
                epsilon,
            ):
                raise _other(before, "for something else")
            if before is None:
                left = self.bound - sum(
                    (entry.epsilon for entry in self._known), Fraction(0)
                )
                if epsilon > left:
                    raise AccountError(
                        f"epsilon must be at most {decimal_text(left, 'down')}, what is"
                        f" left of account {self.path}, got"
                        f" {decimal_text(epsilon, 'up')}"
                    )
                self.append(connection, "spend", request, body, epsilon)
        return before is None

    def keep(self, request: str, result: str) -> str:
        """Write the result of a request durably and return it; the first one stays for
        ever.
        """
        with self._writing() as connection:
            if ("spend", request) not in self._named:
                raise AccountError(f"request {request!r} has not been paid for")
            before = self._drawn(request)
            if before is None:
                self.append(connection, "result", request, {"result": result})
        return result if before is None else before

    def result(self, request: str, table: str = "") -> str | None:
        """Return the result kept for a request on this version of the table, if there
        is one.
        """
        return None if self.spend(request, table) is None else self._drawn(request)

    def spend(self, request: str, table: str = "") -> Entry | None:
        """Return what was paid for under a request on this version of the table, if
        anything.
        """
        _ = self.entries
        return self._paid(request, table)

    def history(self, cube: str, after: int = -1) -> list[tuple[Entry, str | None]]:
        """Return the answers bought about a cube in entries above `after`, and what was
        drawn.
        """
        spends = [e for e in self.entries[after + 1 :] if e.fields.get("cube") == cube]
        return [(spend, self._drawn(spend.request)) for spend in spends]

    def verify(self, receipts: list[str]) -> None:
        """Raise AccountError unless every receipt is of an entry of this account."""
        known = {
            f"{self.dataset} {entry.sequence} {entry.digest}" for entry in self.entries
        }
        for receipt in receipts:
            if " ".join(receipt.split()) not in known:
                raise AccountError(
                    f"receipt must be of an entry of account {self.path}, 'dataset"
                    f" number digest', got {receipt!r}: if it was printed for this"
                    " account, the account was rolled back or rewritten since"
                )

    def append(
        self,
        connection: sqlite3.Connection,
        kind: str,
        request: str,
        body: dict[str, Any],
        epsilon: Fraction = Fraction(0),
    ) -> Entry:
        """Write the next entry, inside `_writing`, and return it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before = self._known[-1].digest if self._known else ""
        text = json.dumps(body, sort_keys=True)
        entry = Entry(len(self._known), kind, request, epsilon, text, moment)
        entry = replace(entry, digest=entry.signed(self.witness, before))
        connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry.row()
        )
        self._take(entry)
        return entry

    def _take(self, entry: Entry) -> None:
        self._known.append(entry)
        self._named.setdefault((entry.kind, entry.request), entry)

    def _drawn(self, request: str) -> str | None:
        found = self._named.get(("result", request))
        return None if found is None else str(found.fields["result"])

    def _paid(self, request: str, table: str) -> Entry | None:
        """Return the spend of a request if it was made on this version of the table."""
        found = self._named.get(("spend", request))
        if found is not None and found.fields["table"] != table:
            raise _other(found, "on another version of the table")
        return found

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock; commit durably, then move the witness, or change
        nothing.
        """
        with connected(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._catch_up(connection)
            known = len(self._known)
            try:
                yield connection
                # a trigger
                if read_entries(self.path, connection, known) != self._known[known:]:
                    raise AccountError(
                        f"account {self.path} does not keep what is written to it"
                    )
                connection.execute("COMMIT")
            except BaseException:
                self._known.clear()
                self._named.clear()
                raise
            self._move_witness(connection)

    def _move_witness(self, connection: sqlite3.Connection) -> None:
        # Under the write lock again, so that two processes cannot move it backwards
        # between them.
        connection.execute("BEGIN IMMEDIATE")
        newest, last = (
            keys.read_witness(keys.witness_file(self.dataset)),
            self._known[-1],
        )
        # made again by another while this one was written
        if newest.key != self.witness.key:
            raise AccountError(f"account {self.path} was replaced by {newest.account}")
        if newest.sequence < last.sequence:
            tables = [e.fields["table"] for e in self._known if e.kind == "table"]
            newest = replace(
                newest, sequence=last.sequence, digest=last.digest, tables=tables
            )
            keys.write_witness(newest)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Take in new entries, checking each digest and that nothing seen before has
        gone.
        """
        self.witness = witness = keys.read_witness(keys.witness_file(self.dataset))
        known = len(self._known)
        fresh = read_entries(self.path, connection, max(known - 1, 0))
        if known and (not fresh or fresh.pop(0) != self._known[-1]):
            raise self._rolled_back(known - 1)
        before = self._known[-1].digest if known else ""
        for place, entry in enumerate(fresh, known):
            if entry.sequence != place or entry.digest != entry.signed(witness, before):
                told = f"entry {entry.sequence} does not match its digest"
                raise AccountError(f"account {self.path} is damaged: {told}")
            before = entry.digest
        seen = [*self._known, *fresh][witness.sequence : witness.sequence + 1]
        if not seen or seen[0].digest != witness.digest:
            raise self._rolled_back(witness.sequence)
        for entry in fresh:
            self._take(entry)

    def _rolled_back(self, sequence: int) -> AccountError:
        return AccountError(
            f"account {self.path} was rolled back: entry {sequence}, which was seen"
            " before, is missing or another one. Put the newest file back; nothing is"
            " paid from an older one"
        )


def _other(before: Entry, how: str) -> AccountError:
    return AccountError(
        f"request {before.request!r} was made {how} (entry {before.sequence}); name the"
        " new one differently"
    )
