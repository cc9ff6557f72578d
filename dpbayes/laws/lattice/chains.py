"""Products over categories in a row, one of which may be the pivot at which paying stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Chain:
    """Categories in a row: the products if all come before or after the pivot, or one is it."""

    before: NDArray[Any]
    after: NDArray[Any]
    paid: NDArray[Any]

    def then(self, other: Chain) -> Chain:
        """Return this row followed by `other`."""
        paid = self.paid * other.after + self.before * other.paid
        return Chain(self.before * other.before, self.after * other.after, paid)

    def repeated(self, copies: int) -> Chain:
        """Return `copies` of this row one after the other, by doubling."""
        result, power, left = self, self, copies - 1
        while left:
            if left & 1:
                result = result.then(power)
            left >>= 1
            if left:
                power = power.then(power)
        return result


def paid_in_row(chains: Sequence[Chain]) -> NDArray[Any]:
    """Return the products in which one category of these rows, one after the other, is the pivot.

    What the whole row gives before or after a pivot is not asked for, so it is not computed.
    """
    before, paid = chains[0].before, chains[0].paid
    for chain in chains[1:]:
        paid = paid * chain.after
        paid += before * chain.paid
        if chain is not chains[-1]:
            before = before * chain.before
    return paid


@dataclass(frozen=True)
class Link:
    """One category: what it adds at 0, below, at and above each block, for each node.

    `short` is that of the shortfall's nodes; all others have shape (exponents, blocks, nodes of
    the records).
    """

    zero: NDArray[Any]
    short: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    keep: NDArray[Any]
    pay: NDArray[Any]

    def chain(self, level: NDArray[Any], owed: NDArray[Any], some: slice) -> Chain:
        """Return the row of this category alone, at some of the nodes of the shortfall.

        Heights have the factor `level`, a record paid has `owed`, of shape (these nodes, 1, 1, 1).
        """
        before = owed * self.above
        before += self.below
        before *= level
        before += self.zero * self.short[some, None, None, None]
        after = level * self.keep
        after += before
        paid = (level * owed) * self.pay
        before += paid
        return Chain(before, after, paid)
