"""Products over categories in a row, one of which may be the pivot at which paying stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
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
    the records). Blocks before the `first` of them are as that one, and those after the last as
    that. A category is `lifted` whose true count is at or above the level.
    """

    zero: NDArray[Any]
    short: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    keep: NDArray[Any]
    pay: NDArray[Any]
    lifted: bool = False
    first: int = 0

    def place(self, block: int) -> int:
        """Return where a block is among those that are kept."""
        return min(max(block - self.first, 0), int(self.below.shape[1]) - 1)

    def at(self, blocks: slice) -> Link:
        """Return this category at some of the blocks."""
        first, last = blocks.start - self.first, blocks.stop - self.first - 1
        if first < 0 or last >= self.below.shape[1]:
            return self._at(np.clip(np.arange(first, last + 1), 0, self.below.shape[1] - 1))
        return self._at(slice(first, last + 1))

    def alone(self, place: int) -> Link:
        """Return this category at one of the blocks that are kept."""
        return self._at(slice(place, place + 1))

    def _at(self, some: slice | NDArray[np.int64]) -> Link:
        below, above = self.below[:, some], self.above[:, some]
        keep, pay = self.keep[:, some], self.pay[:, some]
        return Link(self.zero, self.short, below, above, keep, pay, self.lifted)

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


Known = dict[tuple[int, int], tuple[list[int], NDArray[Any] | None]]
"""Which links stand from one place to before another, and the product of their factors."""


@dataclass(frozen=True)
class Row:
    """All categories at adjacent `blocks`, each with how often it is repeated.

    Heights of `payers` lie in the blocks. All heights of any of the `others` lie below them, or all
    above, so that its factor is the same in each block; None stands at the places of payers.
    The last products of others are `known` to rows of the same nodes of the shortfall.
    """

    blocks: slice
    payers: list[tuple[Link, int]]
    others: Sequence[tuple[Link, int] | None]
    known: Known = field(default_factory=dict)

    def constant(self, level: NDArray[Any], owed: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the others, for all nodes of the shortfall, as in `Link.chain`."""
        marks = [0 if one is None else id(one[0]) for one in self.others]

        def product(first: int, end: int) -> NDArray[Any] | None:
            before, last = self.known.get((first, end), ([], None))
            if before != marks[first:end]:  # from one row to the next few halves change
                last = found(first, end)
                self.known[first, end] = marks[first:end], last
            return last

        def found(first: int, end: int) -> NDArray[Any] | None:
            if end - first > 1:
                middle = (first + end) // 2
                one, other = product(first, middle), product(middle, end)
                return other if one is None else one if other is None else one * other
            if (last := self.others[first]) is None:
                return None
            return np.asarray(last[0].factor(level, owed, slice(None)) ** last[1])

        whole = product(0, len(self.others)) if self.others else None
        return np.ones_like(level) if whole is None else whole

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

    Groups are in rising order, and those that a link meets follow one another. A link that stands
    in several places is one of the others once, with all of its copies.
    """
    each = [(blocks, list(met)) for blocks, met in groups]
    reach = [_met(each, place) for place in range(len(links))]
    found: list[Row] = []
    known: Known = {}
    alone: dict[tuple[int, int], Link] = {}
    marks = [id(link) for link in links]
    for blocks, met in each:
        payers: list[tuple[Link, int]] = []
        others: list[tuple[Link, int] | None] = [None] * len(links)
        where: dict[int, int] = {}
        for place, (link, times, mark) in enumerate(zip(links, copies, marks, strict=True)):
            if met[place]:
                payers.append((link.at(blocks), times))
            elif mark in where:
                one, before = others[where[mark]] or (link, 0)
                others[where[mark]] = one, before + times
            else:
                first, end = reach[place]
                nearest = blocks.start if first == end else first - 1 if blocks.start < end else end
                block = link.place(nearest)
                if (mark, block) not in alone:
                    alone[mark, block] = link.alone(block)
                where[mark] = place
                others[place] = alone[mark, block], times
        if payers:
            found.append(Row(blocks, payers, others, known))
    return found


def _met(groups: Sequence[tuple[slice, list[bool]]], place: int) -> tuple[int, int]:
    """Return the blocks that a link has heights in: the first, and one more than the last."""
    met = [blocks for blocks, met in groups if met[place]]
    return (met[0].start, met[-1].stop) if met else (0, 0)
