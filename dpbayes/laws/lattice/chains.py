"""Products over categories in a row, one of which may be the pivot at which paying stops."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Link:
    """One category: what it adds at 0, below, at and above each block, for each node.

    `short` is that of the shortfall's nodes, all others have shape (exponents, blocks, nodes of
    the records, 1).
    """

    zero: NDArray[Any]
    short: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    keep: NDArray[Any]
    pay: NDArray[Any]

    def chain(self, level: NDArray[Any], paid: NDArray[Any], some: slice) -> Chain:
        """Return the row of this category alone, at some of the nodes of the records."""
        below, above, keep, pay, zero = (
            part[:, :, some] for part in (self.below, self.above, self.keep, self.pay, self.zero)
        )
        ends = zero * self.short
        return Chain(
            level * (ends + below) + paid * (above + pay),
            level * (ends + (below + keep)) + paid * above,
            paid * pay,
        )
