"""Sums over the released counts of one category from either end, shared by many levels.

At level t the weight of a released count r is rho^(x - t - r) below the true count x and
rho^(r + t - x) above it. So the same two running sums, one with rho^(-r) and one with rho^r, serve
all levels: a window of ten thousand counts costs a look-up.
"""

from __future__ import annotations

from bisect import bisect_left
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice.circles import Nodes

NOTHING = 77.0
"""e^-31 lies beyond the reach of the noise, and e^-46 is nothing beside it."""

LONG = 2_500
"""So many released counts of one category are summed by panels."""

GONE = 45.0
"""Released counts whose factor of BC is below e^-45 are not followed."""

_AT_ONCE = 1 << 18  # terms of a sum

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where blocks of heights start, and where they end."""

Blocks = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Category:
    """One category: its true count, and ln BC of what it may release within twice the reach.

    `least` is the smallest power of BC that is asked for: released counts whose BC to that power is
    below e^-45 are left out. The factors of BC are at most 1, and so is what all others add. What
    all others can gain or lose together with a BC above e^-45 bounds how much it loses or gains:
    nothing beyond `lost` and `won` is followed.

    >>> category = Category(1.0, 1000, 10**9, 1.0)
    >>> category.first, category.last
    (488, 1692)
    """

    prior: float
    count: int
    reach: int
    least: float = 0.0
    lost: int | None = None
    won: int | None = None

    @cached_property
    def first(self) -> int:
        """The least released count of the table."""
        most = min(self.count, 2 * self.reach + 2)
        most = most if self.lost is None else min(most, self.lost)
        return self.count - bisect_left(range(1, most + 1), True, key=lambda m: self._gone(-m))

    @cached_property
    def last(self) -> int:
        """The largest released count of the table."""
        most = self.reach + 1 if self.won is None else min(self.reach + 1, self.won)
        won = range(1, most + 1)
        return self.count + bisect_left(won, True, key=self._gone)

    def _gone(self, moved: int) -> bool:
        log = float(affinity_of_counts(self.prior, self.count, self.count + moved))
        return self.least * log < -GONE

    @property
    def long(self) -> bool:
        """Whether so much may be released that there is no table of it."""
        return min(self.last - self.first, 2 * self.reach) > LONG

    @property
    def length(self) -> int:
        """About how many numbers the sums of this category take, for one node."""
        return LONG if self.long else self.last - self.first

    def followed(self, levels: tuple[int, int], total: int) -> tuple[int, int]:
        """Return the least and the largest released count that matters at these levels."""
        low = max(self.first, self.count - self.reach - levels[1] - 1)
        return low, min(self.count + self.reach - levels[0], total + 1, self.last)

    def logs_at(self, released: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the ln BC of these released counts, between `first` and `last`."""
        if self.long:
            return affinity_of_counts(self.prior, self.count, released)
        return self.logs[released - self.first]

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """The ln BC of the released counts from `first` to `last`."""
        released = np.arange(self.first, self.last + 1)
        return affinity_of_counts(self.prior, self.count, released)

    @cached_property
    def empty(self) -> float:
        """The ln BC of a released count of zero."""
        return float(affinity_of_counts(self.prior, self.count, 0))


class Prefixes:
    """Sums of P BC^s w^(r - x) over released counts r of one category, at the nodes w.

    They hold for levels from the first of `levels` to its second; a category releases at most
    `total` + 1.

    >>> nodes = Nodes.positive(np.zeros(1))
    >>> sums = Prefixes(Category(1.0, 3, 50), 0.0, 0.5, nodes, (0, 2), 100)
    >>> low, high = (sums.at(1, np.array([r]), 0, slice(None)) for r in (2, 4))
    >>> sums = (high[0] - low[0] + low[1] - high[1])[0, 0]  # counts 2 and 3, heights 3 and 4
    >>> float(sums.round(9))
    3.0
    """

    def __init__(
        self,
        category: Category,
        exponent: float,
        rho: float,
        nodes: Nodes,
        levels: tuple[int, int],
        total: int,
    ) -> None:
        self.category, self.rho, self.nodes = category, rho, nodes
        x = category.count
        low, high = category.followed(levels, total)
        released = np.arange(low, max(low, high) + 1)
        logs = exponent * category.logs[released - category.first]
        some = self._not_nothing(released, logs)
        released, logs = released[some], logs[some]
        # Beyond the true count at the first level the one is not asked for, below it at the last
        # level the other is not.
        self._turn, self._back = x - levels[0], x - levels[1] - 1
        left, right = released <= self._turn, released >= self._back
        self._low = int(released[0])
        self._middle = int(released[right][0]) if right.any() else int(released[-1]) + 1
        self._left = self._sums(released[left], logs[left], self._turn)
        self._right = self._sums(released[right][::-1], logs[right][::-1], self._back)[::-1]

    def _not_nothing(self, released: NDArray[np.int64], logs: NDArray[np.float64]) -> slice:
        radii = self.nodes.log_radius[[0, -1]]
        sizes = logs + np.outer(radii, released - self.category.count)
        kept = (sizes >= sizes.max(axis=1, keepdims=True) - NOTHING).any(axis=0)
        places = np.flatnonzero(kept)
        return slice(int(places[0]), int(places[-1]) + 1)

    def _sums(
        self, released: NDArray[np.int64], logs: NDArray[np.float64], anchor: int
    ) -> NDArray[Any]:
        weights = np.exp(logs + np.log(self.rho) * np.abs(released - anchor))[:, None]
        kind = np.float64 if self.nodes.whole == 1 else np.complex128
        sums = np.zeros((released.size + 1, self.nodes.size), dtype=kind)
        size = max(1, _AT_ONCE // max(released.size, 1))
        for first in range(0, self.nodes.size, size):
            some = slice(first, min(first + size, self.nodes.size))
            terms = self.nodes.at(some).powers(released - self.category.count)
            terms *= weights
            np.cumsum(terms, axis=0, out=sums[1:, some])
        return sums

    def at(
        self, level: int, released: NDArray[np.int64], paid: int, some: slice | list[int]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the sums below the true count and below `released`, and those above both.

        Shape (released, some of the nodes). A record is `paid` or not. The power of rho that
        belongs to the level is left out, as in `shortfalls.short`.
        """
        x = self.category.count
        turn = x - level - paid
        below = _within(np.minimum(released, turn) - self._low, len(self._left))
        above = _within(np.maximum(released, turn) - self._middle, len(self._right))
        near = self.rho ** (x - 2 * level - paid - self._turn)
        far = self.rho ** (self._back + paid - x)
        if isinstance(some, slice):
            return near * self._left[:, some][below], far * self._right[:, some][above]
        return near * self._left[below][:, some], far * self._right[above][:, some]

    def blocks(
        self, level: int, edges: Edges, window: tuple[int, int], some: slice | list[int]
    ) -> Blocks:
        """Return the sums in each block of heights and below it, with no record paid.

        Then those in it and above it with one. Heights are within the window; shape (blocks, some
        of the nodes). Last come the largest sums of which these are differences, at each node.
        """
        low, high = window[0], max(window)
        places = np.concatenate((*edges, [low, high]))
        _within(np.subtract(places, low, out=places), high - low + 1)
        places += low
        (left, right), size = self.at(level, places - level, 0, some), edges[0].size
        keep = (left[size:-2] - left[:size]) + (right[:size] - right[size:-2])
        below = (left[:size] - left[-2]) + (right[-2] - right[:size])
        largest = left[-1] + right[-2]
        left, right = self.at(level, places - level - 1, 1, some)
        pay = (left[size:-2] - left[:size]) + (right[:size] - right[size:-2])
        above = (left[-1] - left[size:-2]) + (right[size:-2] - right[-1])
        return keep, below, pay, above, largest + left[-1] + right[-2]

    def lowered(self, levels: NDArray[np.int64]) -> NDArray[Any]:
        """Return the sums over all released counts, none paid, at each level: (levels, nodes).

        Levels may be one beyond the last; no difference is taken that could lose digits.
        """
        x = self.category.count
        turns = x - levels
        below = _within(turns - self._low, len(self._left))
        above = _within(turns - self._middle, len(self._right))
        near = self.rho ** (turns - levels - self._turn).astype(np.float64)
        far = self.rho ** float(self._back - x)
        return np.asarray(near[:, None] * self._left[below] + far * self._right[above])

    def unlowered(self) -> NDArray[Any]:
        """Return the sums over all released counts at each node, where the first level is 0."""
        return np.asarray(self.lowered(np.zeros(1, dtype=np.int64))[0])

    def at_nodes(self, places: slice | NDArray[np.int64]) -> Prefixes:
        """Return the same sums at some of the nodes."""
        found = copy(self)
        found._left, found._right = self._left[:, places], self._right[:, places]
        found.nodes = self.nodes.at(places)
        return found


def _within(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    # As np.clip does, whose checks take longer than so few numbers.
    np.maximum(places, 0, out=places)
    np.minimum(places, size - 1, out=places)
    return places
