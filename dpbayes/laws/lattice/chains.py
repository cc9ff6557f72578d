"""Products over categories in a row, one of which may be the pivot at which paying stops."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def once(kinds: Iterable[Hashable], make: Callable[[int], T]) -> list[T]:
    """Return what `make` gives for the first place of each kind, at all places of that kind.

    >>> once("abab", lambda place: [place])
    [[0], [1], [0], [1]]
    """
    known: dict[Hashable, T] = {}
    found = []
    for place, kind in enumerate(kinds):
        if kind not in known:
            known[kind] = make(place)
        found.append(known[kind])
    return found


class InRow(ABC):
    """What categories in a row give."""

    @abstractmethod
    def then(self, other: Self) -> Self:
        """Return this row followed by `other`."""

    def repeated(self, copies: int) -> Self:
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
class Chain(InRow):
    """Categories in a row: the products if all come before or after the pivot, or one is it."""

    before: NDArray[Any]
    after: NDArray[Any]
    paid: NDArray[Any]

    def then(self, other: Chain) -> Chain:
        """Return this row followed by `other`."""
        paid = self.paid * other.after + self.before * other.paid
        return Chain(self.before * other.before, self.after * other.after, paid)


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
    the records). A category is `lifted` whose true count is at or above the level.
    """

    zero: NDArray[Any]
    short: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    keep: NDArray[Any]
    pay: NDArray[Any]
    lifted: bool = False

    def at(self, blocks: slice) -> Link:
        """Return this category at some of the blocks."""
        return replace(
            self,
            below=self.below[:, blocks],
            above=self.above[:, blocks],
            keep=self.keep[:, blocks],
            pay=self.pay[:, blocks],
        )

    def factor(self, level: NDArray[Any], owed: NDArray[Any], some: slice) -> NDArray[Any]:
        """Return what this category gives if it does not pay last, without its heights at a block.

        The arguments are those of `chain`.
        """
        factor: NDArray[Any] = owed * self.above
        factor += self.below
        factor *= level
        factor += self.zero * self.short[some, None, None, None]
        return factor

    def chain(self, level: NDArray[Any], owed: NDArray[Any], some: slice) -> Chain:
        """Return the row of this category alone, at some of the nodes of the shortfall.

        Heights have the factor `level`, a record paid has `owed`, of shape (these nodes, 1, 1, 1).
        """
        before = self.factor(level, owed, some)
        after = level * self.keep
        after += before
        paid = (level * owed) * self.pay
        before += paid
        return Chain(before, after, paid)


@dataclass(frozen=True)
class Row:
    """All categories at adjacent `blocks`, each with how often it is repeated.

    Heights of `payers` lie in the blocks. All heights of any of the `others` lie below them, or all
    above, so that its factor is the same in each block.
    """

    blocks: slice
    payers: list[tuple[Link, int]]
    others: list[tuple[Link, int]]

    def constant(self, level: NDArray[Any], owed: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the others, for all nodes of the shortfall, as in `Link.chain`."""
        every = slice(None)
        factors = [link.factor(level, owed, every) ** copies for link, copies in self.others]
        return np.asarray(math.prod(factors, start=np.ones_like(level)))

    def paid(self, level: NDArray[Any], owed: NDArray[Any], some: slice) -> NDArray[Any]:
        """Return the products of the payers in which one is the pivot, as in `Link.chain`."""
        chains = [link.chain(level, owed, some).repeated(copies) for link, copies in self.payers]
        return paid_in_row(chains)

    def sums(
        self, weights: NDArray[Any], level: NDArray[Any], owed: NDArray[Any], piece: int
    ) -> NDArray[Any]:
        """Return the sums over the nodes of the shortfall with these weights.

        `weights`, `level` and `owed` belong to all of its nodes; arrays hold about `piece` numbers.
        """
        constant = weights * self.constant(level, owed)
        first, copies = self.payers[0]
        if len(self.payers) == copies == 1:
            return np.asarray((constant * (level * owed)).sum(axis=0) * first.pay)
        total = np.zeros(first.keep.shape, dtype=np.complex128)
        size = max(1, piece // total.size)
        for start in range(0, len(level), size):
            some = slice(start, start + size)
            total += (constant[some] * self.paid(level[some], owed[some], some)).sum(axis=0)
        return total


def rows(
    groups: Iterable[tuple[slice, Iterable[bool]]], links: Sequence[Link], copies: Sequence[int]
) -> list[Row]:
    """Return a row for each group of blocks in which a link has heights, as `met` says of each.

    A link that stands in several places is one of the others once, with all of its copies.
    """
    found = []
    for blocks, met in groups:
        payers: list[tuple[Link, int]] = []
        others: dict[int, tuple[Link, int]] = {}
        for link, times, here in zip(links, copies, met, strict=True):
            if here:
                payers.append((link.at(blocks), times))
            else:
                _, before = others.get(id(link), (link, 0))
                others[id(link)] = link, before + times
        if payers:
            alike = slice(blocks.start, blocks.start + 1)
            constant = [(link.at(alike), times) for link, times in others.values()]
            found.append(Row(blocks, payers, constant))
    return found
