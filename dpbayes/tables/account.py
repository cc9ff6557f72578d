"""One account for one table: what may be spent on it, what has been, and every answer
so far.

An account is an append-only SQLite file of entries chained with a key kept elsewhere
(`keys`). A spend is durable before anything is drawn, a draw before it is shown.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dpbayes.tables import keys, notes
from dpbayes.tables.entries import Entry, RequestTakenError, read_entries
from dpbayes.tables.keys import AccountError, Witness, connected
from dpbayes.tables.units import RELATIONS, Unit, decimal_text


class _Version(NamedTuple):
    """A version of the table: the place at which it was accepted, its digest, its mark
    and the entry that says so.
    """

    path: str
    fingerprint: str
    mark: str
    entry: int


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
        """Return the sum of all spends of one payer."""
        spends = (
            e for e in self.entries if e.kind == "spend" and e.fields["payer"] == payer
        )
        return sum((entry.epsilon for entry in spends), Fraction(0))

    def fingerprint(self, table: Path) -> str:
        """Return the keyed digest of a table's bytes."""
        return self.witness.sign(keys.file_digest(table))

    def mark(self, content: bytes) -> str:
        """Return a short keyed digest of what answers are about."""
        return self.witness.sign(b"mark|" + content)[:24]

    def check_table(self, table: Path) -> str:
        """Return the mark of the version of the table that is in force at its place;
        AccountError where other bytes stand there.

        In force is the version that was accepted last at a place, whatever is in it:
        of versions that are alike each has a mark of its own, since whether they are
        is not for anybody to see. An older one that is put back must be accepted, too,
        and has no answers yet.
        """
        fingerprint, place = self.fingerprint(table), table.resolve()
        versions = self._versions()
        here = [one for one in versions if Path(one.path).resolve() == place]
        if here and here[-1].fingerprint == fingerprint:
            return here[-1].mark
        accept = f"dpbayes account accept {self.path} {table}"
        refused = f"table {table} is not one that account {self.path} stands for"
        if here:
            raise AccountError(
                f"{refused}: what it stands for there was accepted by its entry"
                f" {here[-1].entry}; put that back. If this one, newer or older, is to"
                f" be in force, with answers of its own, say so: {accept}"
            )
        elsewhere = [one for one in versions if one.fingerprint == fingerprint]
        if elsewhere:
            raise AccountError(
                f"table {table} is a copy of {elsewhere[-1].path}, for which account"
                f" {self.path} stands: put it there, or let it be a version of its own,"
                f" with answers of its own: {accept}"
            )
        raise AccountError(
            f"{refused}. If it is a newer one about the same people, say so: {accept}"
        )

    def check_reading(self, table: Path, mark: str, digest: bytes) -> None:
        """Raise AccountError unless the bytes that were read are those of a version."""
        read = self.witness.sign(digest)
        if (read, mark) not in [(v.fingerprint, v.mark) for v in self._versions()]:
            raise AccountError(
                f"table {table} changed while it was counted; nothing was spent. Give"
                " the command again when nobody writes to the table"
            )

    def _versions(self) -> list[_Version]:
        """Return all accepted versions of the table, the newest last."""
        found, known = [], set[str]()
        for entry in self.entries:
            if entry.kind == "table":
                mark = fingerprint = str(entry.fields["table"])
                if mark in known:
                    mark = self.witness.sign(f"{mark}|{entry.sequence}".encode())
                known.add(fingerprint)
                path = str(entry.fields["path"])
                found.append(_Version(path, fingerprint, mark, entry.sequence))
        return found

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
        """Let the account stand for another version of its table, too; costs nothing.

        A table that has another account is refused. Nothing that was answered before
        is known of a new version: what is asked of it is drawn and paid anew.
        """
        with keys.creating():
            digest = keys.file_digest(table)
            for _, witness, named in notes.owners(self.dataset, digest):
                if witness.key != self.witness.key:
                    notes.refuse_owned(table, witness, named)
            notes.refuse_noted(table, self.path)
            body = {"table": self.witness.sign(digest), "path": str(table.resolve())}
            with self._writing() as connection:
                self.append(connection, "table", "", body)
        notes.leave_note(table, self.path, self.dataset)

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

    def spends(self, after: int = -1) -> list[tuple[Entry, str | None]]:
        """Return what was paid for in entries above `after`, and what was drawn."""
        paid = [entry for entry in self.entries[after + 1 :] if entry.kind == "spend"]
        return [(spend, self._drawn(spend.request)) for spend in paid]

    def history(self, cube: str, after: int = -1) -> list[tuple[Entry, str | None]]:
        """Return the answers bought about a cube in entries above `after`, and what was
        drawn.
        """
        return [one for one in self.spends(after) if one[0].fields.get("cube") == cube]

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
    return RequestTakenError(
        f"request {before.request!r} was made {how} (entry {before.sequence}); name the"
        " new one differently"
    )
