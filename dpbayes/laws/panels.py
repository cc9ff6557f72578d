"""Whole numbers from either end of a range in panels that grow like powers of two.

A function that changes on the scale of the distance to the nearer end, as an affinity does near an
empty category, near the truth and near a kink of the noise, is a polynomial to rounding on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.gauss_sums import block_rule

NODES = 17
_SPARE = 7  # so many numbers more than nodes are added up one by one
_SINGLE = 16  # so many whole numbers from either end are added up one by one


@dataclass(frozen=True)
class Points:
    """Whole numbers with weights: a function's sum over a range is about `weights` @ its values.

    Panel p has the points from `starts`[p] on, and `lower` @ values summed over it is how far that
    panel's sum moves when its polynomial loses the highest degrees.
    """

    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    lower: NDArray[np.float64]
    starts: NDArray[np.int64]


@lru_cache(maxsize=4096)
def graded(size: int, longest: int, nodes: int = NODES) -> Points:
    """Return points for 0 <= j < size with panels of at most `longest`, a power of two >= 16.

    Each panel has at most so many nodes, or is added up one by one.

    >>> points = graded(1000, 1024)
    >>> points.places.size, float(points.weights.sum().round(9))
    (236, 1000.0)
    """
    left, right, length = 0, size, _SINGLE
    pieces: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    while right - left >= 2 * length:
        pieces.append((left, length))
        ends.append((right - length, length))
        left, right = left + length, right - length
        # The next panel is as long as the distance to the end.
        length = min(left, longest)
    while left < right:
        while length > right - left:
            length //= 2
        pieces.append((left, length))
        left += length
    return _joined([*pieces, *ends[::-1]], nodes)


def range_points(ends: Sequence[int], longest: int, nodes: int = NODES) -> Points:
    """Return points for the whole numbers from the first of `ends` to before the last.

    Panels grow from each of the ends. They may be no numbers at all.
    """
    return _moved([(a, graded(b - a, longest, nodes)) for a, b in pairwise(ends) if b > a])


def _joined(pieces: Sequence[tuple[int, int]], nodes: int) -> Points:
    parts = [(a, whole_rule(length, nodes)) for a, length in pieces]
    return _moved([(a, Points(*rule, np.zeros(1, dtype=np.int64))) for a, rule in parts])


def _moved(parts: Sequence[tuple[int, Points]]) -> Points:
    """Return all points of parts that were moved, one after the other."""
    none = np.zeros(0, dtype=np.int64)
    if not parts:
        return Points(none, np.zeros(0), np.zeros(0), none)
    sizes = np.cumsum([0, *(points.places.size for _, points in parts)])
    return Points(
        np.concatenate([first + points.places for first, points in parts]),
        np.concatenate([points.weights for _, points in parts]),
        np.concatenate([points.lower for _, points in parts]),
        np.concatenate([points.starts + at for (_, points), at in zip(parts, sizes, strict=False)]),
    )


@lru_cache(maxsize=256)
def whole_rule(
    length: int, size: int = NODES
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes in 0 ... length - 1, weights of the sum, and weights of its doubt, each (m,).

    Short panels are added up one by one. The doubt is what the highest even and odd degree of the
    polynomial through the values add.
    """
    if length <= size + _SPARE:
        return np.arange(length), np.ones(length), np.zeros(length)
    top = length - 1
    cosines = np.cos(np.pi * np.arange(size) / (size - 1))
    nodes = np.unique(np.rint(0.5 * top * (1.0 - cosines)).astype(np.int64))
    degrees = nodes.size - 1
    places, counts = block_rule(0, length, size)
    sums = counts @ np.polynomial.chebyshev.chebvander(2.0 * places / top - 1.0, degrees)
    at_nodes = np.polynomial.chebyshev.chebvander(2.0 * nodes / top - 1.0, degrees).T
    weights = np.linalg.solve(at_nodes, sums)
    fewer = np.linalg.lstsq(at_nodes[:-2], sums[:-2], rcond=None)[0]
    return _validate.frozen(nodes), np.asarray(weights), np.asarray(weights - fewer)
