"""Which nodes of a circle count, and how much, where far ones are felt less and less.

With every second node alone, a sum is read together with what lies half-way round the circle. So
beyond some node every second one will do, further out every fourth, and so on; where even less is
felt, a smooth cut leaves out all that is beyond.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

STARTS = (24.0, 34.0, 48.0, 68.0, 96.0, 136.0)
"""Nodes beyond which every second one is left out: the last is the most careful choice."""

LONG = 128
"""From so many nodes on it pays to leave out some."""

_FURTHER = 2.2  # times as far every second one of those that are left
_APART = 170  # of the half circle: so many nodes are left of it where it is thinnest
_HALFWAY, _STEEP = 0.6, 13.0


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
    step = 2 << doublings(whole) if whole >= LONG else 1
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
    whole: int, turns: NDArray[np.int64], cut: float, start: float, times: int
) -> NDArray[np.float64]:
    """Return the weights of some nodes of the half circle; those left out have none.

    Beyond the part `cut` of the half circle nothing is taken.

    >>> weights = weights_of(1024, np.arange(513), np.inf, 24.0, 3)
    >>> weights[:4].tolist(), float(weights[-1]), int(np.count_nonzero(weights))
    ([1.0, 1.0, 1.0, 1.0], 8.0, 105)
    """
    weights = np.ones(turns.size)
    for j in range(times):
        place, step = turns % (2 << j), 1 << j
        left = _left(turns, start * _FURTHER**j)
        weights *= np.where(place == step, left, np.where(place == 0, 2.0 - left, 1.0))
    if np.isfinite(cut):
        weights *= _left(turns, cut * whole / 2)
    return weights


def _left(turns: NDArray[np.int64], end: float) -> NDArray[np.float64]:
    left = 0.5 * erfc((turns / end - _HALFWAY) * _STEEP)
    return np.where(turns < end, left, 0.0)
