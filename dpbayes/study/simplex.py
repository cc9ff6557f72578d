"""All data sets of n records over k categories, up to the order of the categories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.laws.sum_zero import LatticeNoise, project

LARGEST_PLACES = 8_000_000
"""Most entries of the table that finds a class, (n + 1)^(k - 1)."""

LARGEST = 1_000
"""Most records, whatever the number of categories."""

LARGEST_BOX = 80_000_000
"""Most noisy rows whose projections are listed for means of lattice noise."""

_NEGLECTED = 1e-7  # probability of noise that is left out of a mean
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Simplex:
    """Data sets of n records over k categories, prior (a, …, a): one for each class of equal ones.

    `rows` (M, k) are sorted upwards, `copies` (M,) counts the orders of each; `place`, of k - 1
    axes of length n + 1, is the number of the class of (x1, …, x(k-1), rest), or M where the rest
    would be negative.
    """

    n: int
    k: int
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
        m, d = np.arange(self.n + 1)[:, None], np.arange(reach + 1)
        up = -affinity_by_step(self.prior + m, np.broadcast_to(d, (m.size, d.size)))
        # A count and a smaller one are as near as the smaller one and the count.
        other = np.maximum(m - d[:0:-1], 0)
        return np.hstack((up[other, m - other], up))


def simplex(n: int, k: int = 3, prior: float = 1.0) -> Simplex:
    """Return the data sets of n records over k categories, prior (a, …, a), a > 0.

    Raises ValueError where n is above `LARGEST` or the table of classes above `LARGEST_PLACES`.

    >>> found = simplex(4)
    >>> found.rows.tolist(), found.copies.tolist()
    ([[0, 0, 4], [0, 1, 3], [0, 2, 2], [1, 1, 2]], [3, 6, 3, 3])
    """
    size, parts = _validate.integer("n", n, minimum=1), _validate.integer("k", k, minimum=2)
    a = _validate.positive("prior", prior)
    top = min(LARGEST, int(LARGEST_PLACES ** (1.0 / (parts - 1)) + 1e-9) - 1)
    if size > top:
        raise ValueError(f"n must be at most {top} for k = {parts} categories, got {n!r}")
    every = all_rows(size, parts)
    keys = _keys(np.sort(every, axis=1), size)
    _, first, number, copies = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.full((size + 1,) * (parts - 1), len(first), dtype=np.int32)
    place[tuple(every[:, :-1].T)] = number
    return Simplex(size, parts, a, np.sort(every[first], axis=1), copies, place)


def all_rows(n: int, k: int) -> NDArray[np.int64]:
    """Return every histogram, shape (C(n + k - 1, k - 1), k), in lexicographic order."""
    columns: list[NDArray[np.int64]] = []
    left = np.full(1, n, dtype=np.int64)
    for _ in range(k - 1):
        branches = left + 1
        value = np.arange(branches.sum()) - np.repeat(np.cumsum(branches) - branches, branches)
        columns = [np.repeat(column, branches) for column in columns]
        columns.append(value)
        left = np.repeat(left, branches) - value
    return np.column_stack([*columns, left])


def _keys(rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    # One number a row, in lexicographic order; the last entry follows from the others.
    return np.asarray(rows[:, :-1] @ (n + 1) ** np.arange(rows.shape[1] - 2, -1, -1))


def lattice_means(space: Simplex, epsilon: float) -> NDArray[np.float64]:
    """Return the mean distance of lattice noise with the l2 projection in each class, (M,).

    The mean over all orders of the counts: of equally large noisy counts the projection charges
    the earlier one, so one order of the same counts can have a larger error than another. Noise of
    probability 1e-7 at most, the longest, is left out: no mean is wrong by more. Raises ValueError
    where the box of noisy counts has more than `LARGEST_BOX` places.

    >>> round(float(lattice_means(simplex(8), 1.0)[-1]), 6)
    0.409647
    """
    budget = _validate.positive("epsilon", epsilon)
    noise = LatticeNoise(space.k, budget)
    reach = noise.reach(_NEGLECTED)
    steps = noise.points(reach)
    weights = np.exp(-budget * (np.abs(steps).sum(axis=1) // 2))
    weights /= weights.sum()
    box = _projected(space, reach)
    strides = (space.n + 2 * reach + 1) ** np.arange(space.k - 2, -1, -1)
    offsets, starts = steps[:, :-1] @ strides, (space.rows[:, :-1] + reach) @ strides
    table, found = space.affinities(space.n), np.zeros(len(space.rows))
    for number, row in enumerate(space.rows):
        # `affinities` at count x, from output 0 on: the output is the place.
        logs = [table[x, space.n - x :] for x in row]
        for start in range(0, len(steps), _BLOCK):
            part = slice(start, start + _BLOCK)
            found[number] += box.mean(logs, offsets[part] + starts[number], weights[part])
    return found


@dataclass(frozen=True)
class _Projected:
    # For every noisy row in the box, its first k - 1 counts in [-reach, n + reach]: the answer,
    # one array (side^(k - 1),) a category. Where equal noisy counts do not pay alike, `tied` is
    # the number of the row in `first`, `count`, which say where its `other` answers stand, one for
    # each renaming that leaves the noisy row as it is; elsewhere it is -1.
    answers: list[NDArray[np.int16]]
    tied: NDArray[np.int32]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    other: NDArray[np.int16]

    def mean(
        self,
        logs: list[NDArray[np.float64]],
        noisy: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> float:
        # Sum over the noisy rows of weight times distance, `logs` the -ln BC of each count.
        away = sum(log[one[noisy]] for log, one in zip(logs, self.answers, strict=True))
        distances = distance_from_log_affinity(-np.asarray(away))
        number = self.tied[noisy]
        at = np.flatnonzero(number >= 0)
        count = self.count[number[at]]
        begin = np.cumsum(count) - count
        chosen = np.repeat(self.first[number[at]] - begin, count) + np.arange(count.sum())
        away = sum(log[one] for log, one in zip(logs, self.other[chosen].T, strict=True))
        if at.size:
            every = distance_from_log_affinity(-np.asarray(away))
            distances[at] = np.add.reduceat(every, begin) / count
        return float(distances @ weights)


def _projected(space: Simplex, reach: int) -> _Projected:
    side, n, k = space.n + 2 * reach + 1, space.n, space.k
    if side ** (k - 1) > LARGEST_BOX:
        raise ValueError(
            f"lattice noise that reaches {reach} records around n = {n} in k = {k} categories "
            f"makes {side ** (k - 1)} places; at most {LARGEST_BOX} are listed"
        )
    answers = [np.zeros(side ** (k - 1), dtype=np.int16) for _ in range(k)]
    tied, counts, others = np.full(side ** (k - 1), -1, dtype=np.int32), [], []
    inner = np.indices((side,) * (k - 2)).reshape(k - 2, side ** (k - 2)).T - reach
    seen = 0
    for first in range(side):
        rows = np.column_stack([np.full(len(inner), first - reach), inner])
        rows = np.column_stack([rows, n - rows.sum(axis=1)])
        used = np.flatnonzero(np.maximum(-rows, 0).sum(axis=1) <= reach)
        at, rows = first * len(inner) + used, rows[used]
        paid = project(rows)
        for one, column in zip(answers, paid.T, strict=True):
            one[at] = column
        unequal, count, other = _renamed(rows, paid)
        tied[at[unequal]] = seen + np.arange(unequal.size)
        seen += unequal.size
        counts.append(count)
        others.append(other)
    count = np.concatenate(counts)
    return _Projected(answers, tied, np.cumsum(count) - count, count, np.concatenate(others))


def _renamed(
    rows: NDArray[np.int64], paid: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    # The rows with equal counts that do not pay alike, how many renamings leave each as it is, and
    # the answers after those renamings, row by row.
    pairs = list(combinations(range(rows.shape[1]), 2))
    unlike = [(rows[:, i] == rows[:, j]) & (paid[:, i] != paid[:, j]) for i, j in pairs]
    unequal = np.flatnonzero(np.any(unlike, axis=0))
    rows, paid = rows[unequal], paid[unequal]
    owner, renamed = [], []
    for order in permutations(range(rows.shape[1])):
        same = np.flatnonzero((rows[:, order] == rows).all(axis=1))
        owner.append(same)
        renamed.append(paid[same][:, order].astype(np.int16))
    owners = np.concatenate(owner)
    sort = np.argsort(owners, kind="stable")
    return unequal, np.bincount(owners, minlength=len(rows)), np.concatenate(renamed)[sort]
