"""One account for one table: what may be spent on it, what has been, and every answer so far.

An account is an append-only SQLite file. Each entry carries a digest keyed with a secret that is
kept elsewhere and chained to the entry before, and the last digest is kept beside the key. An entry
that was edited, a file that was cut short, deleted, or replaced by an older copy is noticed.
Opening an account never makes one. Spends are written durably before anything is drawn; the drawn
result is written durably before it is shown. The account is the only history there is: what an
answer costs follows from what was paid for the answers in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.tables.chain import Answered, Chain, Entry, Receipt, packed
from dpbayes.tables.decimals import decimal_text
from dpbayes.tables.keys import AccountError, file_digest
from dpbayes.tables.units import RELATIONS, Unit

__all__ = ["Account", "AccountError", "Answered", "Entry", "Receipt"]


@dataclass(kw_only=True)
class Account(Chain):
    r"""An open account; make one with `create_account`, open one with `open_account`.

    `bound` is the largest epsilon of all spends together, `unit` and `neighbours` whom and what it
    is for, `receipts` a second file that gets a line for each entry. Spends add up, also where one
    was chosen after seeing another (basic composition; book: `thm-account`, with every delta 0).

    >>> import os, tempfile
    >>> from dpbayes.tables import create_account
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\n")
    ...     account = create_account(Path(folder) / "a", "clinic", "0.3", table, Unit())
    ...     account.reserve("may", Fraction(1, 10), "a plan"), account.keep("may", "the draw")
    ...     account.reserve("may", Fraction(1, 10), "a plan"), account.keep("may", "another")
    ...     account.spent, account.balance
    (True, 'the draw')
    (False, 'the draw')
    (Fraction(1, 10), Fraction(1, 5))
    """

    bound: Fraction
    neighbours: str
    unit: Unit

    @property
    def spent(self) -> Fraction:
        """The sum of all spends, each an epsilon under the account's relation."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def balance(self) -> Fraction:
        """What is left to spend."""
        return self.bound - self.spent

    def paid_by(self, payer: str) -> Fraction:
        """Return the sum of the spends of one payer."""
        spends = (e for e in self.entries if e.kind == "spend" and e.fields["payer"] == payer)
        return sum((entry.epsilon for entry in spends), Fraction(0))

    def fingerprint(self, table: Path) -> str:
        """Return the keyed fingerprint of a table, which tells nothing without the key."""
        return self.witness.fingerprint(file_digest(table))

    def mark(self, content: bytes) -> str:
        """Return a keyed mark of some bytes, by which only the holder of the key can know them."""
        return self.witness.sign("mark", content.hex())[:24]

    def check_table(self, table: Path) -> str:
        """Return the fingerprint of a table; AccountError unless the account stands for it."""
        mark = self.fingerprint(table)
        if mark not in (e.fields["table"] for e in self.entries if e.kind == "table"):
            raise AccountError(
                f"table {table} is not one that account {self.path} stands for. If it is a newer "
                f"version about the same people, say so first: dpbayes account accept {self.path} "
                f"{table}"
            )
        return mark

    def require_unit(self, unit: Unit) -> None:
        """Raise AccountError unless the account protects exactly this unit."""
        if unit != self.unit:
            raise AccountError(
                f"unit must be {self.unit}, for which account {self.path} adds up what is spent, "
                f"got {unit}: sums over different units promise nothing"
            )

    def factor(self, neighbours: str) -> int:
        """Return the account's epsilon for an epsilon of 1 for a record; ValueError where none.

        All counted records of a person change together, and a replaced record is one taken away and
        one added.
        """
        relation = {"add-remove": RELATIONS[1]}.get(neighbours, neighbours)
        if relation not in RELATIONS:
            raise ValueError(
                f"neighbours must be one of {', '.join(RELATIONS)}, got {neighbours!r}"
            )
        if relation != self.neighbours == RELATIONS[1]:
            raise ValueError(
                f"neighbours must be 'add-or-remove' for account {self.path}, whose epsilon is for "
                f"{self.unit.differ_by(self.neighbours)}, got {neighbours!r}"
            )
        return self.unit.keep * (1 if relation == self.neighbours else 2)

    def accept(self, table: Path) -> Receipt:
        """Let the account stand for another version of its table too; costs nothing."""
        mark = self.fingerprint(table)
        with self._writing() as connection:
            self.append(connection, "table", "", {"table": mark})
        return self.receipt

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
    ) -> bool | None:
        """Reserve `epsilon` for a request, durably, before anything is drawn.

        True where it was done now, False where it was done before for the same `statement` on the
        same `table` (its fingerprint): a request for something else is refused, and so is what the
        balance does not cover. Where `seen` is given and there are other entries by now, None,
        having written nothing: what they bought may change what this one costs, so decide again.
        Only answers, which say `more`, may cost nothing.
        """
        if epsilon < 0 or (not epsilon and more is None):
            raise ValueError(f"epsilon must be positive, got {epsilon}")
        body = {"statement": statement, "table": table, "payer": payer, **(more or {})}
        with self._writing() as connection:
            if seen is not None and len(self._known) != seen:
                return None
            before = self._paid(request, table)
            if before is None:
                self._require(epsilon)
                self.append(connection, "spend", request, body, epsilon)
            elif (before.fields, before.epsilon) != (body, epsilon):
                raise self._other(request, before)
        return before is None

    def keep(self, request: str, result: str) -> str:
        """Write the result of a request durably and return it; the first one stays for ever."""
        with self._writing() as connection:
            if ("spend", request) not in self._named:
                raise AccountError(f"request {request!r} has not been paid for")
            before = self._named.get(("result", request))
            if before is None:
                self.append(connection, "result", request, {"result": result})
        return result if before is None else str(before.fields["result"])

    def result(self, request: str, table: str = "") -> str | None:
        """Return the result kept for a request, if there is one, on this version of the table."""
        _ = self.entries
        self._paid(request, table)
        found = self._named.get(("result", request))
        return None if found is None else str(found.fields["result"])

    def reserve_answer(
        self,
        request: str,
        epsilon: Fraction,
        cube: str,
        label: str,
        query: NDArray[np.float64],
        scale: int,
        *,
        asked: str = "",
        offer: dict[str, Any] | None = None,
        **others: Any,
    ) -> bool | None:
        """Reserve an answer about the cube with this mark; `others` as in `reserve`.

        `offer` is kept beside: what is known of the answer before it is drawn.
        """
        more = {"cube": cube, "query": packed(query), "scale": hex(scale), "asked": asked}
        return self.reserve(request, epsilon, label, more=more | {"offer": offer}, **others)

    def bought(self, request: str, table: str = "") -> Answered | None:
        """Return the answer paid for under a name, on this version of the table, if there is one.

        AccountError where something else was paid for under it.
        """
        _ = self.entries
        found = self._paid(request, table)
        if found is None:
            return None
        if "cube" not in found.fields:
            raise self._other(request, found)
        return Answered.of(found, self._named.get(("result", request)))

    def history(self, cube: str, after: int = -1) -> list[Answered]:
        """Return the answers bought about a cube in entries above `after`, in their order."""
        return [
            Answered.of(entry, self._named.get(("result", entry.request)))
            for entry in self.entries[after + 1 :]
            if entry.kind == "spend" and entry.fields.get("cube") == cube
        ]

    def verify(self, receipts: list[Receipt]) -> None:
        """Raise AccountError unless every receipt is an entry of this account."""
        digests = {entry.sequence: entry.digest for entry in self.entries}
        for receipt in receipts:
            if receipt.dataset != self.dataset:
                raise AccountError(f"receipt {receipt} is for another data set")
            if digests.get(receipt.sequence) != receipt.digest:
                raise AccountError(
                    f"account {self.path} does not hold entry {receipt.sequence} as it was when "
                    "its receipt was given: the account was rolled back or rewritten"
                )

    def _paid(self, request: str, table: str) -> Entry | None:
        """Return the spend of a request if it was made on this version of the table."""
        found = self._named.get(("spend", request))
        if found is not None and found.fields["table"] != table:
            raise AccountError(
                f"request {request!r} was made on another version of the table (entry "
                f"{found.sequence}); name the new one differently"
            )
        return found

    def _other(self, request: str, before: Entry) -> AccountError:
        return AccountError(
            f"request {request!r} was made for something else (entry {before.sequence}); name the "
            "new one differently"
        )

    def _require(self, epsilon: Fraction) -> None:
        """Refuse a spend that the entries known under the write lock do not leave room for."""
        left = self.bound - sum((entry.epsilon for entry in self._known), Fraction(0))
        if epsilon > left:
            raise AccountError(
                f"epsilon must be at most {decimal_text(left, 'down')}, what is left of account "
                f"{self.path}, got {decimal_text(epsilon, 'up')}"
            )
