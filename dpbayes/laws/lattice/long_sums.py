"""Running sums of f(r) w^r over very many whole numbers r, from a few values of a smooth f.

On a panel f is a polynomial to rounding. Where w turns little, so is f(r) w^r, and its running sum
is the polynomial that Euler and Maclaurin's formula gives. Where w turns often the running sum is
w^p g(p) and a constant, with the polynomial g that solves w g(p + 1) - g(p) = f(p) (Levin). In
between, panels are cut. So neither length nor turns cost more than logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import Nodes
from dpbayes.laws.lattice.panel_polynomials import (
    NODES,
    Floats,
    Whole,
    interpolation,
    phases,
    places_in_panel,
    solved,
    sums_matrix,
    times,
)

CHANGE = 8.0
"""Most that ln f changes along a panel, or w turns in radians."""

_SHORTEST = 128  # shorter panels are added up one by one, 25 at a time
_TURN = 8.0  # radians along a panel of f(r) w^r
_OFTEN = 16.0  # radians along a panel of f alone


@dataclass(frozen=True)
class Panels:
    """Ranges of whole numbers from `starts`, of `lengths`: powers of two >= 128, or at most 25."""

    starts: Whole
    lengths: Whole

    @property
    def stop(self) -> int:
        """One more than the last number."""
        return int(self.starts[-1] + self.lengths[-1])

    @property
    def grid(self) -> Whole:
        """Whole numbers, some of each panel, between which f changes little."""
        parts = [
            start + np.rint(places_in_panel(length))
            for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        ]
        return np.unique(np.concatenate(parts).astype(np.int64))


def panels_between(first: int, stop: int, fits: Callable[[int, int], bool]) -> Panels:
    """Return panels from `first` to before `stop` whose starts and lengths fit.

    >>> panels_between(0, 1000, lambda start, length: length <= 512).lengths.tolist()
    [512, 256, 128, 25, 25, 25, 25, 4]
    """
    pieces: list[tuple[int, int]] = []
    at, length = first, 1 << max(stop - first, 1).bit_length()
    while at < stop:
        length *= 2  # the next panel may be longer than this one
        while length >= _SHORTEST and (at + length > stop or not fits(at, length)):
            length //= 2
        if length < _SHORTEST:
            length = _SHORTEST // 2
            end = min(at + _SHORTEST, stop)
            pieces += [(a, min(NODES, end - a)) for a in range(at, end, NODES)]
            at = end
        else:
            pieces.append((at, length))
            at += length
    starts, lengths = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    return Panels(starts, lengths)


def _cut(panels: Panels, least: float, most: float) -> tuple[Panels, NDArray[np.bool_]]:
    """Return panels for these turns, in radians a step, and which of them turn often."""
    short = panels.lengths <= NODES
    often = ~short & (panels.lengths * least >= _OFTEN)
    slow = short | (panels.lengths * most <= _TURN)
    fine = np.flatnonzero(~often & ~slow)
    if not fine.size:
        return panels, often
    pieces = []
    turned = 1 << int(np.log2(_TURN / most)) if most < _TURN else 0
    size = turned if turned >= _SHORTEST else NODES
    for start, length, whole in zip(
        panels.starts.tolist(), panels.lengths.tolist(), (often | slow).tolist(), strict=True
    ):
        step = length if whole else size
        pieces += [(a, min(step, start + length - a)) for a in range(start, start + length, step)]
    starts, lengths = np.array(pieces, dtype=np.int64).T
    return Panels(starts, lengths), (lengths > NODES) & (lengths * least >= _OFTEN)


@dataclass(frozen=True)
class _Part:
    """The running sums at some nodes: panels, values at 26 places of each, and what is before."""

    panels: Panels
    often: NDArray[np.bool_]
    values: NDArray[Any]
    before: NDArray[Any]
    turns: Whole


@dataclass(frozen=True)
class RunningSums:
    """Sums of f(r) w^(r - centre) over r from the start of the panels on, at all nodes w.

    `backward` sums are those over r from the end of the panels down.
    """

    parts: list[_Part]
    nodes: Nodes
    middle: int
    backward: bool

    def up_to(self, places: Whole, some: slice | list[int]) -> NDArray[Any]:
        """Return the sums over r < p for each p, or over r >= p where they run backward.

        Shape (places, some of the nodes); p beyond the panels is taken to their ends.
        """
        every = np.arange(self.nodes.size)[some]
        asked, owner = np.unique(1 - places if self.backward else places, return_inverse=True)
        kind = np.complex128 if self.nodes.whole > 1 else np.float64
        found = np.empty((asked.size, every.size), dtype=kind)
        first = 0
        for part in self.parts:
            size = part.turns.size
            here = (every >= first) & (every < first + size)
            if here.any():
                found[:, here] = self._read(part, asked, every[here] - first)
            first += size
        return found[owner]

    def _read(self, part: _Part, places: Whole, some: Whole) -> NDArray[Any]:
        starts, lengths = part.panels.starts, part.panels.lengths
        places = np.clip(places, starts[0], part.panels.stop)
        at = np.searchsorted(starts, places, side="right") - 1
        rows = interpolation(places - starts[at], lengths[at])
        whole = some.size == part.turns.size
        before = part.before[at] if whole else part.before[at][:, some]
        found = np.empty_like(before)
        ends = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), at.size]  # places are in order
        for first, last in pairwise(ends):
            values = part.values[at[first]]
            found[first:last] = times(rows[first:last], values if whole else values[:, some])
        turned = part.often[at]
        if turned.any():
            steps = places[turned] - self.middle
            found[turned] *= phases(steps, part.turns[some], self.nodes.whole)
        found += before
        return found

    def at_nodes(self, places: slice | NDArray[np.int64]) -> RunningSums:
        """Return the same sums at some of the nodes, in rising order."""
        every, first, parts = np.arange(self.nodes.size)[places], 0, []
        for part in self.parts:
            here = every[(every >= first) & (every < first + part.turns.size)] - first
            first += part.turns.size
            if here.size:
                values, before = part.values[:, :, here], part.before[:, here]
                parts.append(replace(part, values=values, before=before, turns=part.turns[here]))
        return replace(self, parts=parts, nodes=self.nodes.at(places))


def running_sums(
    log_values: Callable[[Floats], Floats],
    panels: Panels,
    nodes: Nodes,
    centre: int,
    backward: bool = False,
) -> RunningSums:
    """Return the running sums of e^`log_values` over all `panels`, from either end.

    Along a panel the logarithm changes by at most 8, and the function has no singularity closer
    than a panel's length.

    >>> nodes = Nodes(np.zeros(1), np.array([0, 1, 300]), 1000)
    >>> panels = panels_between(0, 10_000, lambda start, length: length <= 1024)
    >>> def logs(r):
    ...     return -1e-3 * r
    >>> found = running_sums(logs, panels, nodes, 0).up_to(np.array([7777]), slice(None))[0]
    >>> w = np.exp(2j * np.pi * nodes.turns / 1000)
    >>> direct = np.exp(np.outer(np.arange(7777), np.log(w) - 1e-3)).sum(axis=0)
    >>> bool(np.abs(found - direct).max() < 1e-11)
    True
    """
    sign = -1 if backward else 1
    if backward:  # r = -v, and the numbers from the last one down are v from its negative on
        panels = Panels((1 - panels.starts - panels.lengths)[::-1], panels.lengths[::-1])

    def signed(places: Floats) -> Floats:
        return log_values(sign * places)

    some = _alike(nodes, int(panels.lengths.max()))
    parts = [_part(signed, panels, nodes, each, sign * centre, sign) for each in some]
    return RunningSums(parts, nodes, sign * centre, backward)


def _alike(nodes: Nodes, longest: int) -> list[slice]:
    """Return nodes that turn so alike, within a factor of two, that panels are cut alike."""
    if nodes.whole == 1:
        return [slice(0, nodes.size)]
    step = 2.0 * np.pi / nodes.whole
    at_rest, at_once = _TURN / (step * longest), _OFTEN / (step * NODES)
    ends, end = [at_rest], at_rest
    while end < at_once and end < nodes.turns[-1]:
        end *= 2.0
        ends.append(end)
    cuts = np.unique([0, *np.searchsorted(nodes.turns, ends, side="right"), nodes.size])
    return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def _part(
    log_values: Callable[[Floats], Floats],
    panels: Panels,
    nodes: Nodes,
    some: slice,
    middle: int,
    sign: int,
) -> _Part:
    turns, step = nodes.turns[some] * sign, 2.0 * np.pi / nodes.whole
    radii = sign * (nodes.log_radius if nodes.log_radius.size == 1 else nodes.log_radius[some])
    speed = np.abs(turns[[0, -1]]) * step
    panels, often = _cut(panels, float(speed[0]), float(speed[1]))
    size = panels.starts.size, turns.size
    kind = np.complex128 if nodes.whole > 1 else np.float64
    values = np.zeros((size[0], NODES + 1, size[1]), dtype=kind)
    before, ends = np.zeros(size, dtype=kind), np.zeros(size, dtype=kind)
    for length in np.unique(panels.lengths).tolist():
        here = np.flatnonzero(panels.lengths == length)
        starts, moved = panels.starts[here], places_in_panel(length)
        places = starts[:, None] + moved
        logs = log_values(places).T[:, :, None] + (places - middle).T[:, :, None] * radii
        terms = np.exp(logs)  # (25, panels, nodes), so that one matrix sums all of them
        first = phases(starts - middle, turns, nodes.whole)
        if often[here[0]]:
            last = phases(starts + length - middle, turns, nodes.whole)
            found = solved(length, step * turns, terms)
            before[here] = -first * found[:, 0]
            ends[here] = last * found[:, -1] + before[here]
        else:
            if nodes.whole > 1:
                terms = terms * (first * np.exp(1j * step * moved[:, None, None] * turns))
            sums = times(sums_matrix(length), terms.reshape(NODES, -1))
            found = sums.reshape(NODES + 1, here.size, turns.size).transpose(1, 0, 2)
            ends[here] = found[:, -1]
        values[here] = found
    before = before + np.cumsum(ends, axis=0) - ends
    return _Part(panels, often, values, before, turns)
