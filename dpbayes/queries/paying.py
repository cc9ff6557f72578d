"""Answers that are paid from the account of a data set.

The order is that of a release: what is bought is written into the account before anything is drawn,
and the draw is written there before anybody sees it. The account so knows every answer that was
paid, in their order; the ledger of the query server is made up from it where a crash came between,
or where somebody has put back an older copy. The same draw is never made twice.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen
from dpbayes.queries.decision import Policy
from dpbayes.queries.grid import as_text, from_text
from dpbayes.releasing.account import Account
from dpbayes.tables.decimals import float_below

_ANSWER = '{"answer": '


@dataclass(frozen=True)
class Purchase:
    """An answer as it was reserved: its question, and the scale of its noise in grid units.

    `query` (cells,) its coefficients; `asked` what stands under the request's id, "" without one.

    >>> bought = Purchase("all", np.ones(2), 2**130)
    >>> Purchase.read(bought.statement("a mark"), "a mark").scale == bought.scale
    True
    >>> Purchase.read(bought.statement("a mark"), "another") is None
    True
    """

    label: str
    query: NDArray[np.float64]
    scale: int
    asked: str = ""

    def statement(self, mark: str) -> str:
        """Return it as text for the account, with the mark of the cube it is about."""
        packed = base64.b64encode(zlib.compress(self.query.astype("<f8").tobytes()))
        fields = {
            "answer": mark, "label": self.label, "scale": as_text(self.scale),
            "query": packed.decode(), "asked": self.asked,
        }  # fmt: skip
        return json.dumps(fields)

    @classmethod
    def read(cls, statement: str, mark: str) -> Purchase | None:
        """Return what a statement says was bought; None if it is not about the cube so marked."""
        if not statement.startswith(f"{_ANSWER}{json.dumps(mark)}"):
            return None
        fields = json.loads(statement)
        content = zlib.decompress(base64.b64decode(fields["query"]))
        query = frozen(np.frombuffer(content, dtype="<f8").astype(np.float64))
        return cls(fields["label"], query, from_text(fields["scale"]), fields["asked"])


class Payments:
    """What one cube has taken from an account, under one policy.

    `mark` tells it from other cubes and policies; `seen` the number of entries of the account that
    were read.
    """

    def __init__(self, account: Account, content: bytes, policy: Policy) -> None:
        terms = f"|{policy.neighbours}|{policy.accounting}"
        self._account = account
        self._factor = price_factor(account, policy.neighbours)
        self._mark = account.mark(content + terms.encode())
        self.seen = 0

    def unread(self) -> tuple[list[tuple[str, Purchase]], int]:
        """Return the answers bought after the first `seen` entries, and how many entries there are.

        Each with the name of its request, in the order in which they were bought.
        """
        entries = self._account.entries
        spends = [entry for entry in entries[self.seen :] if entry.kind == "spend"]
        read = [(entry.request, Purchase.read(entry.body, self._mark)) for entry in spends]
        return [(name, bought) for name, bought in read if bought is not None], len(entries)

    def affordable(self, most: Fraction | None) -> float:
        """Return the rise of the overall cost that account and payer allow, rounded down."""
        left = self._account.balance
        return float_below((left if most is None else min(most, left)) / self._factor)

    def reserve(self, request: str, rise: Fraction, bought: Purchase) -> bool:
        """Pay for a rise of the overall cost; False where the account has moved on since `seen`."""
        cost, statement = rise * self._factor, bought.statement(self._mark)
        return self._account.buy(request, cost, statement, self.seen)

    def drawn(self, request: str, draw: Callable[[], int]) -> int:
        """Return the noisy answer kept for a request; it is drawn where there is none yet.

        One that was kept is kept again, since a crash may have come before its entry was noted
        beside the key: without that an older copy of the account could bring another draw.
        """
        kept = self._account.result(request)
        return from_text(self._account.keep(request, as_text(draw()) if kept is None else kept))

    def asked(self, request: str) -> str | None:
        """Return what was asked under a request's name, None if nothing was paid under it."""
        bodies = [
            entry.body
            for entry in self._account.entries
            if entry.kind == "spend" and entry.request == request
        ]
        bought = Purchase.read(bodies[0], self._mark) if bodies else None
        if bodies and bought is None:
            return "something about another cube"
        return None if bought is None else bought.asked


def is_answer(statement: str) -> bool:
    """Return whether a statement in an account says that an answer was bought, of whatever cube.

    >>> is_answer(Purchase("all", np.ones(2), 2**130).statement("a mark")), is_answer("a plan")
    (True, False)
    """
    return statement.startswith(_ANSWER)


def price_factor(account: Account, neighbours: str) -> int:
    """Return how much of the account's epsilon one unit of a cube's costs; ValueError where none.

    A replaced record is one taken away and one added: two steps of "add-remove".
    """
    if account.neighbours == "replace-one":
        return 2 if neighbours == "add-remove" else 1
    if neighbours == "add-remove":
        return 1
    raise ValueError(
        f"neighbours must be 'add-remove' for account {account.path}, whose epsilon is for one "
        f"record more or less, got {neighbours!r}"
    )
