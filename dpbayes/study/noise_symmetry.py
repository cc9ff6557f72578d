"""Steps of noise up to a renaming of categories with equal shares and a change of all signs.

Lengths do not change under these, so a certificate can be the same on whole orbits of steps: the
average of a certificate over the renamings is one, with the same bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Orbits:
    """`kept` (M,) one point of each orbit; `step` (E,) the orbit of each step, `many` of them."""

    kept: NDArray[np.int64]
    step: NDArray[np.int64]
    many: int


def renamings(shares: tuple[Fraction, ...]) -> list[tuple[int, ...]]:
    """Return the orders of the categories that leave the shares as they are.

    >>> renamings((Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)))
    [(0, 1, 2), (2, 1, 0)]
    """
    places = [[i for i, w in enumerate(shares) if w == value] for value in dict.fromkeys(shares)]
    found = []
    for orders in product(*(permutations(group) for group in places)):
        renamed = list(range(len(shares)))
        for group, order in zip(places, orders, strict=True):
            for i, j in zip(group, order, strict=True):
                renamed[i] = j
        found.append(tuple(renamed))
    return found


def orbits(
    points: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    shares: tuple[Fraction, ...],
) -> Orbits:
    """Return the orbits of `points` (N, k) and of the steps from `first` to `second` (E,).

    >>> hexagon = np.array([[0, 0, 0], [1, -1, 0], [1, 0, -1], [-1, 1, 0]])
    >>> orbits(hexagon, np.array([0, 0]), np.array([1, 2]), (Fraction(1, 3),) * 3).many
    1
    """
    base = 2 * int(np.abs(points).max()) + 1
    powers = base ** np.arange(points.shape[1], dtype=np.int64)
    least_point = np.full(len(points), np.iinfo(np.int64).max)
    least_step = np.full(first.size, np.iinfo(np.int64).max)
    for order in renamings(shares):
        for sign in (1, -1):
            code = (sign * points[:, order] + base // 2) @ powers
            least_point = np.minimum(least_point, code)
            least_step = np.minimum(
                least_step, code[first] * base ** points.shape[1] + code[second]
            )
    _, kept = np.unique(least_point, return_index=True)
    values, step = np.unique(least_step, return_inverse=True)
    return Orbits(kept, step, values.size)
