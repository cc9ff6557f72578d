"""The best private mechanism for k categories alike: linear programs on orbits of permutations.

The best is the one with the least mean distance over all histograms of n records, among the
epsilon-DP mechanisms that answer with such a histogram.

Under a prior with equal parameters the problem does not change when categories are renamed, so some
optimal table P[r | x] does not change either: the average of an optimal table over all renamings.
Its entries depend on the orbit of (x, r) alone, which leaves about 1/k! of the unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.mechanisms.optimum import distance_table, solve_program
from dpbayes.posteriors import compositions, neighbours

LARGEST_ORBIT_PROGRAM = 700
"""Most candidates of an orbit program (k = 3, n = 35); it has about their square / k! unknowns."""


@dataclass(frozen=True)
class Orbits:
    """The pairs (x, r) of histograms of n records up to a renaming of the categories.

    `label` (N, N) numbers the orbit of each pair, `size` (Q,) counts its pairs; `representatives`
    are the rows x sorted upwards, one for each orbit of data sets.
    """

    label: NDArray[np.int64]
    size: NDArray[np.int64]
    representatives: NDArray[np.int64]


@lru_cache(maxsize=8)
def orbits(n: int, k: int) -> Orbits:
    """Return the orbits of pairs of histograms of n records over k categories.

    >>> orbits(2, 2).size
    array([2, 2, 2, 2, 1])
    """
    rows = compositions(n, k)
    total = len(rows)
    if total > LARGEST_ORBIT_PROGRAM:
        raise ValueError(
            f"n = {n} over k = {k} categories has {total} candidates; orbit programs take at most "
            f"{LARGEST_ORBIT_PROGRAM}"
        )
    position = {tuple(row): i for i, row in enumerate(rows.tolist())}
    pairs = np.arange(total * total).reshape(total, total)
    least = pairs.copy()
    for order in permutations(range(k)):
        renamed = np.array([position[tuple(row)] for row in rows[:, order].tolist()])
        least = np.minimum(least, pairs[np.ix_(renamed, renamed)])
    _, label, size = np.unique(least, return_inverse=True, return_counts=True)
    sorted_rows = np.flatnonzero(np.all(np.diff(rows, axis=1) >= 0, axis=1))
    return Orbits(label.reshape(total, total), size, sorted_rows)


@dataclass(frozen=True)
class Optimum:
    """The least mean distance over all histograms of n records, between two bounds.

    Least among the epsilon-DP mechanisms that answer with such a histogram.

    `value` is the mean of the table that was found, which satisfies its constraints up to the
    solver's 1e-7; no epsilon-DP table has a mean below `lower`, whatever the solver did (up to the
    rounding of one sum). `table` is P[r | x], shape (N, N), lexicographic.
    """

    value: float
    lower: float
    table: NDArray[np.float64]


def orbit_optimum(n: int, k: int, epsilon: float, prior: float = 1.0) -> Optimum:
    """Return the epsilon-DP table with the least mean Hellinger distance over all histograms.

    A table P[r | x] answers with a histogram r of n records, each x counting alike.

    Prior (a, …, a) with a > 0. The same program as `OptimalMechanism`, on orbits.
    Book: `thm-orbits`.

    >>> round(orbit_optimum(8, 3, 1.0).value, 4)
    0.3531
    """
    budget, a = _validate.positive("epsilon", epsilon), _validate.positive("prior", prior)
    shape = orbits(_validate.integer("n", n, minimum=1), _validate.integer("k", k, minimum=2))
    losses = distance_table(n, [a] * k)
    cost = np.bincount(shape.label.ravel(), losses.ravel()) / len(losses)
    below = _privacy_rows(n, k, shape, budget)
    equal = _sum_rows(shape)
    result = solve_program(cost, below, equal, "highs-ipm")
    table = np.asarray(result.x)[shape.label]
    return Optimum(float(result.fun), _proved_bound(cost, below, equal, result), table)


def _proved_bound(cost: NDArray[np.float64], below: Any, equal: Any, result: Any) -> float:
    # For every feasible p: cost.p >= sum(v) + rest.p, and a row of p sums to 1, so the least
    # negative rest in each row is all that rounding of the solver can take away.
    v = np.asarray(result.eqlin.marginals)
    prices = np.minimum(np.asarray(result.ineqlin.marginals), 0.0)
    rest = np.minimum(cost - equal.T @ v - below.T @ prices, 0.0)
    rows = equal.tocoo()
    worst = np.zeros(v.size)
    np.minimum.at(worst, rows.row, rest[rows.col] / rows.data)
    return float(v.sum() + worst.sum())


def _privacy_rows(n: int, k: int, shape: Orbits, epsilon: float) -> Any:
    # One row for each distinct pair of orbits (x, r), (x', r) with x ~ x'.
    from scipy import sparse

    rows = compositions(n, k)
    position = {tuple(row): i for i, row in enumerate(rows.tolist())}
    found = []
    for x in shape.representatives:
        for other in neighbours(rows[x]).tolist():
            found.append(np.column_stack((shape.label[x], shape.label[position[tuple(other)]])))
    links = np.unique(np.concatenate(found), axis=0)
    links = np.unique(np.concatenate((links, links[:, ::-1])), axis=0)
    links = links[links[:, 0] != links[:, 1]]
    number = np.arange(len(links))
    size = (len(links), shape.size.size)
    ones = sparse.coo_array((np.ones(len(links)), (number, links[:, 0])), size)
    allowed = sparse.coo_array((np.full(len(links), np.exp(epsilon)), (number, links[:, 1])), size)
    return (ones - allowed).tocsr()


def _sum_rows(shape: Orbits) -> Any:
    from scipy import sparse

    count, columns = shape.representatives.size, shape.label[shape.representatives]
    at = np.repeat(np.arange(count), columns.shape[1])
    size = (count, shape.size.size)
    return sparse.coo_array((np.ones(at.size), (at, columns.ravel())), size).tocsr()
