"""Fewer nodes of the released records far from w = 1, where noise is wide.

Far nodes feel kinks and ends of the weights only. With every second node alone, a sum is read
together with what lies half-way round the circle, where there are hardly any: so beyond some node
every second one will do, further out every fourth, and so on. And most heights are known from the
first nodes. Both are tried at each height, not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.fewer_nodes import MOST_CAREFUL, Rung, added, climb, kept_turns, ladder
from dpbayes.laws.lattice.long_prefixes import AnyPrefixes
from dpbayes.laws.lattice.wide_levels import WideLevel

_SOON = 500  # nodes whose sums are computed at once
_AT_ONCE = 2000  # and so many at most whose sums are kept

Sums = Callable[[Nodes], list[AnyPrefixes]]


@dataclass(frozen=True)
class Thinning:
    """Rules with more and more nodes of the half circle, and the sums at those each one adds.

    Those at many nodes, which few heights need, are computed when they are asked for.
    """

    rules: list[Rung]
    pieces: dict[int, list[AnyPrefixes]]
    later: Callable[[NDArray[np.int64]], list[AnyPrefixes]]

    def read(
        self,
        level: WideLevel,
        blocks: NDArray[np.int64],
        records: Circle,
        shortfall: Circle,
        tolerance: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Return the sum of each block, what leaving out nodes changes, and how many terms."""

        def parts(some: NDArray[np.int64], rule: int) -> NDArray[np.float64]:
            if rule not in self.pieces:
                places = added(self.rules)[rule]
                if places.size > _AT_ONCE:
                    pieces = np.array_split(places, -(-places.size // _AT_ONCE))
                    found = [
                        level.parts(blocks[some], self.later(piece), records, shortfall)
                        for piece in pieces
                    ]
                    return np.concatenate(found, axis=1)
                self.pieces[rule] = self.later(places)
            return level.parts(blocks[some], self.pieces[rule], records, shortfall)

        return climb(parts, blocks.size, self.rules, tolerance)


def thinning(circle: Circle, times: int, sums: Sums) -> Thinning:
    """Return the rules for this circle with every second node left out `times` times.

    `sums` returns the sums at some nodes.
    """
    turns = kept_turns(circle.last or circle.nodes // 2 + 1, MOST_CAREFUL, times)
    nodes = Nodes(np.array([circle.log_radius]), turns, circle.nodes)
    rules = ladder(circle.nodes, turns, times)
    steps = added(rules)
    sizes = np.cumsum([one.size for one in steps])
    soon = [i for i, size in enumerate(sizes.tolist()) if size <= _SOON] or [0]
    first = np.sort(np.concatenate([steps[i] for i in soon]))
    kept, places = sums(nodes.at(first)), {i: np.searchsorted(first, steps[i]) for i in soon}
    order, different = [id(one) for one in kept], {id(one): one for one in kept}
    del kept
    parts: dict[int, dict[int, AnyPrefixes]] = {}
    while different:  # one by one, so that not all of them live twice
        key, one = different.popitem()
        parts[key] = {i: one.at_nodes(some) for i, some in places.items()}
    pieces = {i: [parts[key][i] for key in order] for i in soon}
    return Thinning(rules, pieces, lambda places: sums(nodes.at(places)))
