"""Which nodes of a circle count, and how much, where far ones are felt less and less.

With every second node alone, a sum is read together with what lies half-way round the circle. So
beyond some node every second one will do, further out every fourth, and so on. And most sums are
known from the first nodes, smoothly cut at their end: what lies far round the circle from what is
read is felt at all of them together only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

MOST_CAREFUL, CAREFUL = 400.0, 280.0
"""Nodes beyond which every second one is left out, and what that is compared with."""

_LONG = 128  # from so many nodes on it pays to leave out some

_FURTHER = 2.2  # times as far every second one of those that are left
_APART = 170  # of the half circle: so many nodes are left of it where it is thinnest
_HALFWAY, _STEEP = 0.6, 13.0
_FIRST_END = 136.0  # nodes; those of the next rule are two and a half times as far, and so on
_SHORTER = 0.85  # times as many in the rule that a rung is compared with
_NEXT = 2.5
_FEWER = 0.75  # of all nodes: other rules are of no use
_THIN, _THINNER = 48.0, 34.0  # where heights need no more

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Parts = Callable[[Whole, int], Floats]
"""What the nodes that a rule has beyond those before it add to some sums: shape (sums, nodes)."""


def doublings(whole: int) -> int:
    """Return how often every second one of `whole` nodes may be left out without a doubt.

    >>> doublings(1472), doublings(20_000)
    (2, 5)
    """
    return max(0, int(math.log2(max(1.0, 0.5 * whole / _APART))))


def rounded(whole: int) -> int:
    """Return the next number of nodes that may be halved as often as it is thinned.

    >>> rounded(1469), rounded(30)
    (1472, 30)
    """
    step = 2 << doublings(whole) if whole >= _LONG else 1
    return -(-whole // step) * step


def kept_turns(last: int, start: float, times: int) -> NDArray[np.int64]:
    """Return the nodes below `last` of the half circle that have a weight, in rising order.

    Every second one is left out `times` times, for the first time beyond `start`.

    >>> kept_turns(50, 8.0, 2).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 44, 48]
    """
    parts = [np.arange(0, last, 1 << times)]
    for j in range(times):
        end = min(math.ceil(start * _FURTHER**j), last)
        parts.append(np.arange(1 << j, end, 2 << j))
    return np.sort(np.concatenate(parts))


def weights_of(
    whole: int, turns: NDArray[np.int64], end: float, start: float, times: int
) -> NDArray[np.float64]:
    """Return the weights of some nodes of the half circle; those left out have none.

    From the turn `end` on nothing is taken.

    >>> weights = weights_of(1024, np.arange(513), np.inf, 24.0, 3)
    >>> weights[:4].tolist(), float(weights[-1]), int(np.count_nonzero(weights))
    ([1.0, 1.0, 1.0, 1.0], 8.0, 105)
    """
    weights = np.ones(turns.size)
    for j in range(times):
        place, step = turns % (2 << j), 1 << j
        left = _left(turns, start * _FURTHER**j)
        weights *= np.where(place == step, left, np.where(place == 0, 2.0 - left, 1.0))
    if np.isfinite(end):
        weights *= _left(turns, end)
    return weights


@dataclass(frozen=True)
class Rung:
    """Weights of all nodes, most of them 0, and those of a coarser rule.

    What all nodes add is at most `spare` times as far from this rule as the coarser one is, even if
    all nodes beyond a cut add as much as those by which the two rules differ.
    """

    weights: Floats
    coarser: Floats
    spare: float = 1.0

    @cached_property
    def places(self) -> Whole:
        """The nodes that either of them takes."""
        return np.flatnonzero((self.weights != 0.0) | (self.coarser != 0.0))


def ladder(whole: int, turns: Whole, times: int) -> list[Rung]:
    """Return rules with more and more of the nodes, and at last with all of them.

    These have every second one left out `times` times. Some rules are cut at their end, and are
    compared with one that is cut earlier; others are thinned earlier.

    >>> turns = kept_turns(737, MOST_CAREFUL, 2)
    >>> [rule.places.size for rule in ladder(1472, turns, 2)]
    [136, 235, 340, 569]
    """

    def weights(end: float, start: float, times: int = times) -> Floats:
        return weights_of(whole, turns, end, start, times)

    found, end = [], _FIRST_END
    while turns.size and end < turns[-1]:
        beyond = (float(turns[-1]) - end) / ((1.0 - _SHORTER) * end)
        cut = weights(end, MOST_CAREFUL), weights(_SHORTER * end, CAREFUL)
        found.append(Rung(*cut, max(1.0, beyond)))
        end *= _NEXT
    if most := max(times, doublings(whole)):
        found.append(Rung(weights(np.inf, _THIN, most), weights(np.inf, _THINNER, most)))
    last = Rung(weights(np.inf, MOST_CAREFUL), weights(np.inf, CAREFUL))
    found = [rule for rule in found if rule.places.size < _FEWER * last.places.size]
    return [*sorted(found, key=lambda rule: rule.places.size), last]


def added(rules: list[Rung]) -> list[Whole]:
    """Return the nodes that each rule has beyond those before it."""
    fresh, found = np.ones(rules[0].weights.size, dtype=bool), []
    for rule in rules:
        found.append(rule.places[fresh[rule.places]])
        fresh[rule.places] = False
    return found


def climb(
    parts: Parts, size: int, rules: list[Rung], tolerance: float
) -> tuple[Floats, Floats, int]:
    """Return `size` sums over nodes, each by the first rule from which a coarser one is not far.

    Also how far, which is at most `tolerance` but for the last rule, and how many terms were added.

    >>> nodes = np.exp(-0.005 * np.arange(737.0) ** 2)[None]
    >>> rules = ladder(1472, np.arange(737), 2)
    >>> columns = [nodes[:, places] for places in added(rules)]
    >>> value, change, terms = climb(lambda some, rule: columns[rule][some], 1, rules, 1e-9)
    >>> abs(float(value[0] - nodes.sum())) < 1e-14, float(change[0]) < 1e-9, terms
    (True, True, 440)
    """
    values, changes, terms = np.zeros(size), np.zeros(size), 0
    nodes = rules[0].weights.size
    left, known = np.arange(size), np.zeros((size, nodes))
    for i, (rule, places) in enumerate(zip(rules, added(rules), strict=True)):
        if places.size:
            known[:, places] = parts(left, i)
        terms += left.size * places.size
        values[left] = known @ rule.weights
        changes[left] = rule.spare * np.abs(known @ (rule.weights - rule.coarser))
        more = ~(changes[left] <= tolerance)
        if not more.any():
            break
        left, known = left[more], known[more]
    return values, changes, terms


def _left(turns: NDArray[np.int64], end: float) -> NDArray[np.float64]:
    left = 0.5 * erfc((turns / end - _HALFWAY) * _STEEP)
    return np.where(turns < end, left, 0.0)
