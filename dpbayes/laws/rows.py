"""Sums over many ranges of whole numbers at once, in panels, with what is in doubt.

A row is a range that is cut at its ends. Panels are powers of two, no longer than the way to the
nearest place where terms bend on ever smaller scales, so that a polynomial follows them on each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.panels import whole_rule

_SINGLE = 4  # panels of at least 2^4 numbers; shorter ones are added up one by one
_ROWS = 1 << 11  # cut into panels together
_AT_ONCE = 1 << 15

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Terms = Callable[[Whole, Whole], tuple[Floats, ...]]
"""Numbers of rows, (p, 1), and places in them, (p, m), to some terms of shape (p, m)."""
Sums = Callable[[Whole, Whole], Floats]
"""Numbers of rows and places, both (m,), to sums of such terms and their doubts: (2, terms, m)."""


@dataclass(frozen=True)
class Rows:
    """Ranges of whole numbers with ends of shape (e, rows), none below the one before.

    A row has the numbers from its first end to before its last. `gaps` say how far each end is
    from the nearest place where terms are not smooth, `longest` is a power of two, at least 16.

    >>> rows = Rows(np.array([[0, 5], [3, 105]]), np.zeros((2, 2), dtype=np.int64), 128)
    >>> rows.sums(lambda row, place: (1.0 * place,))[0].round(9).tolist()
    [[3.0, 5450.0]]
    """

    ends: Whole
    gaps: Whole
    longest: int
    nodes: int = 17

    def of_each_parity(self) -> Rows:
        """Return the even numbers of one row as the first row, the odd ones as the second, halved.

        >>> row = Rows(np.array([[3], [8]]), np.zeros((2, 1), dtype=np.int64), 16)
        >>> row.of_each_parity().ends.tolist()
        [[2, 1], [4, 4]]
        """
        halves = (self.ends + 1) // 2, self.ends // 2
        gaps = np.hstack((self.gaps, self.gaps)) // 2
        return replace(self, ends=np.hstack(halves), gaps=gaps, longest=max(16, self.longest // 2))

    def sums(self, terms: Terms) -> Floats:
        """Return for each row the sums of all terms, and their doubts: (2, terms, rows)."""
        return self._each(lambda panels, first: panels.sums(terms, first))

    def sums_of_sums(self, inner: Sums) -> Floats:
        """Return the same where terms are sums with doubts of their own."""
        return self._each(lambda panels, first: panels.sums_of_sums(inner, first))

    def _each(self, found: Callable[[Panels, int], Floats]) -> Floats:
        number = self.ends.shape[1]
        parts = []
        for first in range(0, max(number, 1), _ROWS):  # no rows have sums, too
            some = slice(first, min(first + _ROWS, number))
            panels = Panels.cut(self.ends[:, some], self.gaps[:, some], self.longest, self.nodes)
            parts.append(found(panels, first))
        return np.concatenate(parts, axis=2)


@dataclass(frozen=True)
class Panels:
    """Panels of some rows, the shortest first: the row of each, its first number, its length."""

    rows: Whole
    starts: Whole
    lengths: Whole
    number: int
    nodes: int

    @classmethod
    def cut(cls, ends: Whole, gaps: Whole, longest: int, nodes: int) -> Panels:
        """Cut rows, as in `Rows`, into panels."""
        number = ends.shape[1]
        left, right = ends[:-1].ravel(), ends[1:].ravel()
        some = np.flatnonzero(right > left)
        left, right = left[some], right[some]
        centres = left - gaps[:-1].ravel()[some], right + gaps[1:].ravel()[some]
        rows, starts, lengths = _cut(some % number, left, right, centres, longest)
        order = np.argsort(lengths, kind="stable")
        return cls(rows[order], starts[order], lengths[order], number, nodes)

    def sums(self, terms: Terms, first: int) -> Floats:
        """Return the sums of terms in rows counted from `first` on: (2, terms, rows)."""
        parts = []
        for some, rule in self._alike():
            values = terms(self.rows[some, None] + first, self.starts[some, None] + rule[0])
            parts.append(_of_rule(values, rule))
        if not parts:
            nothing = np.zeros((0, 1), dtype=np.int64)
            return np.zeros((2, len(terms(nothing, nothing)), self.number))
        return self._added(np.concatenate(parts, axis=2))

    def sums_of_sums(self, inner: Sums, first: int) -> Floats:
        """Return the sums of such sums, and what they leave in doubt."""
        every = list(self._alike())
        points = [self._points(some, rule[0]) for some, rule in every]
        none = np.zeros(0, dtype=np.int64)
        owner = np.concatenate([none, *(one for one, _ in points)])
        found = inner(owner + first, np.concatenate([none, *(place for _, place in points)]))
        parts, at = [np.zeros((2, found.shape[1], 0))], 0
        for (_, rule), (one, _) in zip(every, points, strict=True):
            block = found[:, :, at : at + one.size].reshape(*found.shape[:2], -1, rule[0].size)
            part = _of_rule(block[0], rule)
            part[1] += block[1] @ np.abs(rule[1])
            parts.append(part)
            at += one.size
        return self._added(np.concatenate(parts, axis=2))

    def _alike(self) -> Iterator[tuple[slice, tuple[Whole, Floats, Floats]]]:
        """Yield panels of the same length, few enough to be looked at together, and their rule."""
        bounds = np.flatnonzero(np.diff(self.lengths, prepend=0, append=0))
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rule = whole_rule(int(self.lengths[start]), self.nodes)
            step = max(1, _AT_ONCE // rule[0].size)
            for first in range(start, stop, step):
                yield slice(first, min(first + step, stop)), rule

    def _points(self, some: slice, nodes: Whole) -> tuple[Whole, Whole]:
        places = self.starts[some, None] + nodes
        return np.repeat(self.rows[some], nodes.size), places.ravel()

    def _added(self, parts: Floats) -> Floats:
        found = np.zeros((*parts.shape[:2], self.number))
        for place in np.ndindex(*parts.shape[:2]):
            found[place] = np.bincount(self.rows, parts[place], self.number)
        return found


def _of_rule(values: Iterable[Floats], rule: tuple[Whole, Floats, Floats]) -> Floats:
    """Return sums and doubts of panels with these values, (panels, nodes) for each term."""
    _, weights, lower = rule
    pairs = [(one @ weights, np.abs(one @ lower)) for one in values]
    return np.array(pairs).swapaxes(0, 1)


def _cut(
    rows: Whole, left: Whole, right: Whole, centres: tuple[Whole, Whole], longest: int
) -> tuple[Whole, Whole, Whole]:
    """Return rows, starts and lengths of panels from `left` to before `right`."""
    pieces: list[tuple[Whole, Whole, Whole]] = []
    rest: list[tuple[Whole, Whole, Whole]] = []
    before, behind = centres
    while rows.size:
        below, above = _power(left - before, longest), _power(behind - right, longest)
        length = np.minimum(below, above)
        fits = right - left >= length
        rest.append((rows[~fits], left[~fits], right[~fits]))
        rows, left, right, before, behind, length = (
            one[fits] for one in (rows, left, right, before, behind, length)
        )
        lower = (below <= above)[fits]
        pieces.append((rows, np.where(lower, left, right - length), length))
        left, right = left + lower * length, right - ~lower * length
    rows, left, right = (
        (np.concatenate(parts) for parts in zip(*rest, strict=True))
        if rest
        else (rows, left, right)
    )
    size = right - left
    for power in range(int(size.max(initial=0)).bit_length() - 1, _SINGLE - 1, -1):
        has = (size >> power) & 1 > 0
        pieces.append((rows[has], left[has], np.full(int(has.sum()), 1 << power)))
        left = left + (has << power)
    has = left < right
    pieces.append((rows[has], left[has], (right - left)[has]))
    found = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    return found[0], found[1], found[2]


def _power(way: Whole, longest: int) -> Whole:
    """Return the largest power of two up to each of these, but from 16 to `longest`."""
    powers = np.frexp(np.clip(way, 1 << _SINGLE, longest).astype(np.float64))[1] - 1
    return np.left_shift(1, powers.astype(np.int64))
