"""Circles of the released records whose sums are known, so that few levels need sums of their own.

Successive levels need about as many nodes, on circles of about the same radius. A circle with some
more nodes than a level asks for costs hardly more, as far nodes are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import Circle, fewest_nodes, nodes_at
from dpbayes.laws.lattice.fewer_nodes import doublings, rounded
from dpbayes.laws.lattice.thinning import Sums, Thinning, thinning

_MOST = 4  # circles whose sums are kept
_SPARE, _FEW_MORE = 1.05, 4  # nodes, for levels that need some more
_SPARE_LONG = 1.25  # times as many where far ones are left out
_LONGER = 1.2  # times as far round the circle
_FARTHER = 1.5  # times as many nodes as the best circle has


@dataclass
class Known:
    """A circle, how often every second node is left out, and the sums at the others."""

    circle: Circle
    times: int
    rule: Thinning


@dataclass
class KnownCircles:
    """The last circles on which levels were read, for one power and one stretch of levels.

    `times` is how often every second node may be left out at most; places of circles are among
    `places`, the logarithms of their radii, and no sum may read more than `alias` wrongly.
    """

    sums: Sums
    places: NDArray[np.float64]
    alias: float
    times: float = math.inf
    kept: list[Known] = field(default_factory=list)
    """The last one that was used comes last."""

    def find(
        self, logs: NDArray[np.float64], near: NDArray[np.int64], span: int
    ) -> tuple[Circle, Known | None]:
        """Return a circle that reads a series bounded by e^`logs`, and what is known of it.

        At the places `near` no digits are lost; `span` nodes are enough on any circle.
        """
        best = fewest_nodes(logs, self.places, span, self.alias, near)
        found: tuple[Circle, Known | None] = best, None
        for known in reversed(self.kept):
            place = int(np.argmin(np.abs(self.places - known.circle.log_radius)))
            if place not in near:
                continue
            nodes = nodes_at(logs, self.places, place, span, self.alias)
            if nodes <= min(known.circle.nodes, _FARTHER * best.nodes):
                fewer = found[1] is None or known.circle.nodes < found[1].circle.nodes
                found = (Circle(known.circle.log_radius, nodes), known) if fewer else found
        return found

    def share(self, records: Circle, found: Known | None) -> tuple[Known, Circle]:
        """Return a circle with as many nodes or more whose sums are known, and what is taken."""
        if found is not None:
            circle = found.circle
            last = _wanted(records, circle.nodes)
            if circle.nodes <= 2 * records.nodes + 50 and last <= (circle.last or 0):
                self._keep(found)
                return found, Circle(circle.log_radius, circle.nodes, last)
        long = doublings(records.nodes) > 0
        whole = rounded(int((_SPARE_LONG if long else _SPARE) * records.nodes) + _FEW_MORE)
        most = min(whole // 2 + 1, int(_LONGER * _wanted(records, whole)) + 2 * _FEW_MORE)
        circle = Circle(records.log_radius, whole, most)
        times = int(min(doublings(whole), self.times))
        known = Known(circle, times, thinning(circle, times, self.sums))
        self._keep(known)
        return known, Circle(records.log_radius, whole, _wanted(records, whole))

    def fewer_left_out(self, known: Known) -> None:
        """Leave out every second node once less from now on."""
        known.times -= 1
        self.times = known.times
        known.rule = thinning(known.circle, known.times, self.sums)

    def _keep(self, known: Known) -> None:
        before = [one for one in self.kept if one is not known]
        self.kept = [*before[1 - _MOST :], known]


def _wanted(records: Circle, nodes: int) -> int:
    """Return how far round a circle with so many nodes goes what `records` takes."""
    half = nodes // 2 + 1
    if records.last is None:
        return half
    return min(half, math.ceil(records.last * nodes / records.nodes))
