"""Noise of one shape at every data set that never leaves the histograms: the lattice noise, folded.

For k = 2 this is the truncated geometric mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.simplex import Simplex, all_rows

LARGEST_CLASSES = 4_000
"""Most classes of data sets; their square is the size of a system of linear equations."""


@dataclass(frozen=True)
class Folded:
    """Answers r with probability weights[r] e^(-epsilon d(x, r)), over all data of n records.

    `weights` (M,) one for each class of answers, `distances` (M,) the mean distance at each class
    of data, `mean` over all data, `off` the largest difference of a sum of probabilities from 1.
    With a negative weight there is no such mechanism: see `exists`.
    """

    weights: NDArray[np.float64]
    distances: NDArray[np.float64]
    mean: float
    off: float

    @property
    def exists(self) -> bool:
        """Whether no weight is negative."""
        return bool(self.weights.min() >= 0.0)


def folded(space: Simplex, epsilon: float) -> Folded:
    """Return the weights with which folded noise adds up to one at every data set, and its means.

    Book: `thm-folded`. Raises ValueError above `LARGEST_CLASSES` classes.

    >>> from dpbayes.study.simplex import simplex
    >>> found = folded(simplex(8), 3.0)
    >>> found.exists, round(found.mean, 6)
    (True, 0.068269)
    """
    budget, count = _validate.positive("epsilon", epsilon), len(space.rows)
    if count > LARGEST_CLASSES:
        raise ValueError(
            f"n = {space.n} over k = {space.k} categories has {count} classes of data; folded "
            f"noise solves at most {LARGEST_CLASSES} equations"
        )
    every = all_rows(space.n, space.k)
    place = space.place[tuple(every[:, :-1].T)]
    order = np.argsort(place, kind="stable")
    columns, starts = every[order].T, np.cumsum(space.copies) - space.copies
    powers, table = np.exp(-budget * np.arange(space.n + 1)), space.affinities(space.n)
    sums, apart = np.empty((count, count)), np.empty((count, count))
    for number, row in enumerate(space.rows):
        moved = sum(np.abs(column - x) for column, x in zip(columns, row, strict=True))
        near = powers[np.asarray(moved) // 2]
        logs = sum(table[x, space.n - x :][column] for column, x in zip(columns, row, strict=True))
        lengths = distance_from_log_affinity(-np.asarray(logs))
        sums[number] = np.add.reduceat(near, starts)
        apart[number] = np.add.reduceat(near * lengths, starts)
    weights = np.linalg.solve(sums, np.ones(count))
    distances = apart @ weights
    return Folded(
        _validate.frozen(weights),
        _validate.frozen(distances),
        space.mean(distances),
        float(np.abs(sums @ weights - 1.0).max()),
    )
