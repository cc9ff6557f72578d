"""Fewer nodes of the released records far from w = 1, where noise is wide.

Far nodes feel kinks and ends of the weights only. With every second node alone, a sum is read
together with what lies half-way round the circle, where there are hardly any: so beyond some node
every second one will do, further out every fourth, and so on. Where even less is felt, a smooth
cut leaves out all that is beyond. Both are tried, not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.fewer_nodes import LONG, STARTS, doublings, kept_turns, weights_of
from dpbayes.laws.lattice.long_prefixes import AnyPrefixes
from dpbayes.laws.lattice.wide_levels import WideLevel

_PROBES = (1, 3, 5)  # sixths of each panel
_MOST_PROBES = 60
_SHARES = (0.06, 0.09, 0.13, 0.2, 0.3, 0.45, 0.65, np.inf)  # of the half circle
MOST_CARE = 4
_AT_ONCE = 1 << 21  # sums that are kept while nodes are tried
_FEWEST = 48  # nodes that are tried together

Sums = Callable[[Nodes], list[AnyPrefixes]]


@dataclass(frozen=True)
class Choice:
    """Which nodes of a circle count: how often halved, from where, and where they end."""

    times: int
    start: int
    cut: int
    care: int

    def weights(self, whole: int, turns: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the weights that were tried, those of the coarser rule, and those to be taken."""
        found = []
        for step in (1, self.care, self.care + 1):
            cut, start = _SHARES[self.cut :][:step][-1], STARTS[self.start :][:step][-1]
            found.append(weights_of(whole, turns, cut, start, self.times))
        return found

    def again(self, sums: Sums, circle: Circle) -> Thinning | None:
        """Return the same rule on another circle, or None if its nodes are not halved as often."""
        if self.times > doublings(circle.nodes) + 1:
            return None
        last = circle.last or circle.nodes // 2 + 1
        turns = kept_turns(last, STARTS[-1], self.times)
        _, coarser, best = self.weights(circle.nodes, turns)
        some = np.flatnonzero(best)
        nodes = Nodes(np.array([circle.log_radius]), turns[some], circle.nodes)
        return Thinning(sums(nodes), best[some], coarser[some], self)


@dataclass(frozen=True)
class Thinning:
    """The sums at some nodes of the half circle, and how much each node counts.

    `coarser` are the weights of a rule with fewer of these nodes: how far it is off bounds, in all
    likelihood, how far this one is.
    """

    sums: list[AnyPrefixes]
    weights: NDArray[np.float64]
    coarser: NDArray[np.float64]
    choice: Choice | None = None

    def below(self, last: int) -> Thinning:
        """Return the same rule without the nodes from `last` on."""
        size = int(np.searchsorted(self.sums[0].nodes.turns, last))
        if size == self.weights.size:
            return self
        fewer = [one.at_nodes(slice(0, size)) for one in self.sums]
        return Thinning(fewer, self.weights[:size], self.coarser[:size], self.choice)


def thinning(
    level: WideLevel,
    panels: list[tuple[int, int]],
    nodes: Nodes,
    sums: Sums,
    records: Circle,
    times: int,
    care: int,
    shortfall: Circle,
    neglect: float,
) -> Thinning | None:
    """Return nodes that are enough, `care` steps past those that change `neglect` at most.

    All of `nodes`, left out `times` times, are tried at a few heights of each panel, and the
    largest change there is taken for all of its heights. None if they are too few. `sums` returns
    the sums at some nodes; those at all of them live together only if they are short.
    """
    turns, whole = nodes.turns, records.nodes
    most = weights_of(whole, turns, np.inf, STARTS[-1], times)
    tried = {(a * (6 - j) + (b - 1) * j) // 6 for a, b in panels for j in _PROBES}
    if times == 0 and (turns.size < LONG or len(tried) > _MOST_PROBES):
        return Thinning(sums(nodes), most, most)
    blocks = np.array(sorted(tried))
    found, parts = _tried(level, blocks, nodes, sums, records, shortfall)
    owner = np.searchsorted([a for a, _ in panels], blocks, side="right") - 1
    lengths = np.array([b - a for a, b in panels])

    def enough(fewer: NDArray[np.float64]) -> bool:
        worst = np.zeros(len(panels))
        np.maximum.at(worst, owner, np.abs(parts @ (most - fewer)))
        return bool(worst @ lengths <= neglect)

    best, coarser, taken = most, weights_of(whole, turns, np.inf, STARTS[-2], times), None
    if not enough(coarser):
        return None
    for more, start, cut in product(
        (times, times + 1), range(len(STARTS) - 1), range(len(_SHARES))
    ):
        choice = Choice(more, start, cut, care)
        weights = choice.weights(whole, turns)
        if np.count_nonzero(weights[2]) < np.count_nonzero(best) and enough(weights[0]):
            best, coarser, taken = weights[2], weights[1], choice
    places = np.flatnonzero(best)
    if found is None:
        kept = sums(nodes.at(places))
    else:  # one by one, so that not all of them live twice
        kept = [found.pop(0).at_nodes(places) for _ in level.runs]
    return Thinning(kept, best[places], coarser[places], taken)


def _tried(
    level: WideLevel,
    blocks: NDArray[np.int64],
    nodes: Nodes,
    sums: Sums,
    records: Circle,
    shortfall: Circle,
) -> tuple[list[AnyPrefixes] | None, NDArray[np.float64]]:
    """Return what each node adds to each block, and the sums if all of them were kept."""
    length = sum(category.length for category, _ in level.runs)
    size = max(_FEWEST, _AT_ONCE // length)
    found: list[AnyPrefixes] | None = None
    parts = []
    for first in range(0, nodes.size, size):
        found = sums(nodes.at(slice(first, first + size)))
        parts.append(level.parts(blocks, found, records, shortfall))
    return (found if len(parts) == 1 else None), np.concatenate(parts, axis=1)
