"""Circles on which the coefficient at power 0 of a power series is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.panel_polynomials import phases

ALIAS = 3e-14
"""Largest part of a sum that lands on a wrong power."""

_DIGITS_LOST = 3.0  # in units of e
_SIDE = np.concatenate((np.geomspace(0.02, 0.98, 12), np.geomspace(1.6, 10.0, 5)))

TILTS = np.concatenate((-_SIDE[::-1], [0.0], _SIDE))
"""Logarithms of radii for bounds, times epsilon / 2."""

UPRIGHT = _SIDE.size
"""The place of 0 among them."""

BEYOND = np.abs(TILTS) > 1.0
"""Where noise alone has no bound: no circles lie there."""


@dataclass(frozen=True)
class Nodes:
    """Places of a power series: e^(log_radius + 2 pi i turn / whole), one for each turn."""

    log_radius: NDArray[np.float64]
    turns: NDArray[np.int64]
    whole: int

    @classmethod
    def positive(cls, log_radius: NDArray[np.float64]) -> Nodes:
        """Return places on the half-line."""
        return cls(log_radius, np.zeros(log_radius.size, dtype=np.int64), 1)

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.turns.size

    def at(self, places: slice | NDArray[np.int64]) -> Nodes:
        """Return some of these places."""
        radii = self.log_radius if self.log_radius.size == 1 else self.log_radius[places]
        return Nodes(radii, self.turns[places], self.whole)

    def powers(self, exponents: NDArray[np.int64]) -> NDArray[Any]:
        """Return the powers (exponents, nodes); the turns are reduced as whole numbers."""
        sizes = np.exp(np.outer(exponents, self.log_radius))
        if self.whole == 1:
            return np.asarray(sizes)
        turned = phases(exponents, self.turns, self.whole)
        turned *= sizes
        return turned


@dataclass(frozen=True)
class Circle:
    """Nodes on a circle that read one coefficient of a power series.

    `last`, when given, is how many nodes of the upper half are taken: what is beyond adds nothing.
    """

    log_radius: float
    nodes: int
    last: int | None = None

    def places(self) -> NDArray[np.complex128]:
        """Return all places of this circle."""
        turns = 2j * np.pi * np.arange(self.nodes) / self.nodes
        return np.asarray(np.exp(self.log_radius + turns))

    def half(self) -> tuple[Nodes, NDArray[np.float64]]:
        """Return the upper half of a real series' places, and how often each is to be counted."""
        turns = np.arange(self.nodes // 2 + 1)[: self.last]
        return Nodes(np.array([self.log_radius]), turns, self.nodes), self.folds(turns)

    def folds(self, turns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how often each of these nodes of the upper half is to be counted."""
        return np.where((turns == 0) | (2 * turns == self.nodes), 1.0, 2.0)


def log_bound(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of bounds; what overflowed bounds nothing."""
    return np.log(np.clip(np.nan_to_num(values, nan=np.inf, posinf=np.inf), 1e-300, None))


def fewest_nodes(
    logs: NDArray[np.float64],
    places: NDArray[np.float64],
    most: int,
    alias: float = ALIAS,
    near: NDArray[np.int64] | None = None,
) -> Circle:
    """Return the circle with the fewest nodes for a power series read at power 0.

    `logs` bounds the series at e^`places`. Only circles on which it is nearly least lose no
    digits, and only inside the range of places are powers on both sides bounded: `near` are some
    of these places, or else all of them.
    """
    near = lossless(logs) if near is None else near
    nodes = _nodes_at(logs, places, near, most, alias)
    best = int(np.argmin(nodes))
    return Circle(float(places[near[best]]), int(nodes[best]))


def lossless(logs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places between others at which the series is nearly least."""
    inside = logs[1:-1]
    return np.asarray(np.flatnonzero(inside <= inside.min() + _DIGITS_LOST) + 1)


def nodes_at(
    logs: NDArray[np.float64],
    places: NDArray[np.float64],
    best: int,
    most: int,
    alias: float = ALIAS,
) -> int:
    """Return how many nodes leave wrongly read powers at most `alias` together.

    The part of a positive power series g at a power N off, read on the circle e^(place of best), is
    at most g(e^p) e^(-N |p - best|) for every other place p.
    """
    return int(_nodes_at(logs, places, np.array([best]), most, alias)[0])


def _nodes_at(
    logs: NDArray[np.float64],
    places: NDArray[np.float64],
    best: NDArray[np.int64],
    most: int,
    alias: float,
) -> NDArray[np.int64]:
    away = places - places[best][:, None]
    rates = (logs - np.log(alias)) / np.where(away == 0.0, np.nan, np.abs(away))
    sides = [np.where(side, rates, np.inf).min(axis=1) for side in (away > 0.0, away < 0.0)]
    needed = np.minimum(np.ceil(np.maximum(*sides)) + 1.0, float(most))
    return np.asarray(np.maximum(needed, 2.0).astype(np.int64))
