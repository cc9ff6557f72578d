"""All data sets of n records over three categories, up to the order of the categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.laws.lattice.projection import project

LARGEST = 1_000
"""Most records; there are about n^2 / 12 data sets up to order."""

_CORNERS = np.array([(1, -1, 0), (1, 0, -1), (0, 1, -1), (-1, 1, 0), (-1, 0, 1), (0, -1, 1)])
_DEPTH = 32.0  # steps of probability below e^-32 are left out
_BLOCK = 1 << 21


@dataclass(frozen=True)
class Simplex:
    """Data sets of n records, k = 3, a prior (a, a, a): one for each class of equal ones.

    `rows` (M, 3) are sorted upwards, `copies` (M,) counts the orders of each; `place`
    (n + 1, n + 1) is the number of the class of (x1, x2, n - x1 - x2), or -1.
    """

    n: int
    prior: float
    rows: NDArray[np.int64]
    copies: NDArray[np.int64]
    place: NDArray[np.int32]

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean over all data sets of a value (M,) for each class."""
        return float(values @ self.copies / self.copies.sum())

    def affinities(self, reach: int) -> NDArray[np.float64]:
        """Return -ln BC of a count m and m + d, shape (n + 1, 2 reach + 1), d = -reach … reach.

        Where m + d would be negative the value is that of m + d = 0.
        """
        m, d = np.arange(self.n + 1)[:, None], np.arange(-reach, reach + 1)
        return np.asarray(-affinity_by_step(self.prior + m, np.maximum(d, -m).astype(np.float64)))


def simplex(n: int, prior: float = 1.0) -> Simplex:
    """Return the data sets of n records over three categories, prior (a, a, a), a > 0.

    >>> found = simplex(4)
    >>> found.rows.tolist(), found.copies.tolist()
    ([[0, 0, 4], [0, 1, 3], [0, 2, 2], [1, 1, 2]], [3, 6, 3, 3])
    """
    size = _validate.integer("n", n, minimum=1)
    if size > LARGEST:
        raise ValueError(f"n must be at most {LARGEST} for three categories, got {n!r}")
    a = _validate.positive("prior", prior)
    first, second = np.meshgrid(np.arange(size + 1), np.arange(size + 1), indexing="ij")
    inside = first + second <= size
    every = np.stack([first, second, np.where(inside, size - first - second, 0)])
    ordered = np.sort(every, axis=0)
    own = inside & np.all(every == ordered, axis=0)
    rows = every[:, own].T
    number = np.full((size + 1, size + 1), -1, dtype=np.int32)
    number[own] = np.arange(len(rows))
    place = np.where(inside, number[ordered[0], ordered[1]], -1).astype(np.int32)
    return Simplex(size, a, rows, np.bincount(place[inside]), place)


def ring(d: int) -> NDArray[np.int64]:
    """Return the steps z of sum 0 that replace d records, shape (6 d, 3), around the hexagon.

    Six sides of d steps each, a corner first. The step at place o of a side is next to the places
    o - 1 and o of the same side one ring further in, a corner to the corner alone.

    >>> ring(1).tolist()
    [[1, -1, 0], [1, 0, -1], [0, 1, -1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1]]
    """
    if d == 0:
        return np.zeros((1, 3), dtype=np.int64)
    along = np.arange(d)[None, :, None] * (np.roll(_CORNERS, -1, axis=0) - _CORNERS)[:, None, :]
    return np.asarray((d * _CORNERS[:, None, :] + along).reshape(-1, 3))


def lattice_means(space: Simplex, epsilon: float) -> NDArray[np.float64]:
    """Return the mean distance of lattice noise with the l2 projection at each class, (M,).

    Noise beyond probability e^-32 is left out.

    >>> round(float(lattice_means(simplex(8), 1.0)[-1]), 6)
    0.409647
    """
    budget = _validate.positive("epsilon", epsilon)
    reach = int(np.ceil(_DEPTH / budget)) + 1
    steps = np.concatenate([ring(d) for d in range(reach + 1)])
    weights = np.exp(-budget * (np.abs(steps).sum(axis=1) // 2))
    weights /= weights.sum()
    # What is owed for negative counts is paid by others: at most 2 reach records each.
    table = space.affinities(min(3 * reach, space.n))
    size, middle = max(1, _BLOCK // len(steps)), table.shape[1] // 2
    found = np.empty(len(space.rows))
    for start in range(0, len(space.rows), size):
        rows = space.rows[start : start + size, None, :]
        noisy = rows + steps
        below = (noisy < 0).any(axis=2)
        noisy[below] = project(noisy[below])
        moved = noisy - rows + middle
        logs = -sum(table[rows[:, :, i], moved[:, :, i]] for i in range(3))
        found[start : start + size] = distance_from_log_affinity(logs) @ weights
    return found
