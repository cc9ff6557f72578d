"""How good a private answer can be: the least mean Hellinger distance over all data
sets.

A certificate for two categories and linear programs, among mechanisms that answer with
n records.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.geometric import best_answers
from dpbayes.mechanisms.optimum import distance_table, solve_program
from dpbayes.posteriors import check_candidates, compositions, neighbours, row_of

Array = NDArray[np.float64]
optimize: Any = import_module("scipy.optimize")
sparse: Any = import_module("scipy.sparse")

# candidates; the program has about their square / k! unknowns
LARGEST_ORBIT_PROGRAM = 700


@dataclass(frozen=True)
class Certificate:
    """What the remapped geometric mechanism attains, and the least any epsilon-DP one
    can.
    """

    attained: float
    lower: float

    @property
    def gap(self) -> float:
        """By which share of the bound what is attained lies above it."""
        return self.attained / self.lower - 1.0


def certificate(n: int, epsilon: float, prior: ArrayLike = (1.0, 1.0)) -> Certificate:
    """Return what the remapped geometric mechanism attains, and a proved lower bound
    for all.

    Every data set (x, n - x), x = 0 … n, has the same weight; `prior` (2,). Rounding
    lowers the bound by a part of about n 1e-16 / epsilon. Book:
    `thm-count-certificate`.
    """
    alpha, at, q = (
        _validate.prior("prior", prior, 2),
        np.arange(n + 1),
        float(np.exp(-epsilon)),
    )
    _, expected = best_answers((float(alpha[0]), float(alpha[1])), n, epsilon, 0, n)
    losses = distance_table(n, alpha)
    apart = np.abs(at[:, None] - at)
    kernel_sums = (q**apart).sum(axis=1)
    prices = _inverse_kernel(expected * kernel_sums, q)
    # Lowering every price by t adds t sum(u) >= t u(s) to the value of a column.
    shift = max(0.0, -float(least_columns(losses - prices[:, None], q).min()))
    # Noisy counts at the ends stand for all beyond them.
    parts = np.full(n + 1, np.tanh(0.5 * epsilon))
    parts[[0, -1]] = 1.0 / (1.0 + q)
    attained = float((parts * kernel_sums) @ expected) / (n + 1)
    lower = float(prices.sum()) / (n + 1) - shift
    return Certificate(attained, min(lower, attained))


def least_columns(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Return min over u of sum_x u(x) values[x, s], for each s; `values` has shape (m,
    m).

    u runs over the vectors with q <= u(x+1)/u(x) <= 1/q and u(s) = 1. Given u(x+1), the
    best continuation beyond it is u(x+1) V(x+1); so V(x) = values(x) + q V(x+1) where
    V(x+1) >= 0 and values(x) + V(x+1)/q where it is negative. The same from the other
    side.
    """
    after = _continued(values[::-1], q)[::-1]
    before = _continued(values, q)
    return np.asarray(np.diagonal(before + after - values))


def _continued(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    # Column s is needed down to row s only; past it a division by q may overflow.
    result = np.empty_like(values)
    best = result[0] = values[0]
    for i in range(1, len(values)):
        best = values[i] + np.where(best >= 0.0, q * best, best / q)
        best = np.clip(best, -1e200, None)
        result[i] = best
    return result


def _inverse_kernel(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    # The inverse of (q^|x - r|) is tridiagonal.
    scaled = (1.0 + q * q) * values
    scaled[[0, -1]] -= q * q * values[[0, -1]]
    scaled[1:] -= q * values[:-1]
    scaled[:-1] -= q * values[1:]
    return np.asarray(scaled / (1.0 - q * q))


@dataclass(frozen=True)
class Optimum:
    """The least mean distance of epsilon-DP mechanisms, between two bounds.

    `value` is the mean of the table that was found, which satisfies its constraints up
    to the solver's 1e-7; no epsilon-DP table has a mean below `lower`, whatever the
    solver did (up to the rounding of one sum). `table` is P[r | x], shape (N, N),
    lexicographic.
    """

    value: float
    lower: float
    table: Array


def orbits(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each pair of histograms (N, k), the same up to a renaming."""
    total = len(rows)
    pairs = np.arange(total * total).reshape(total, total)
    least = pairs.copy()
    for order in permutations(range(rows.shape[1])):
        renamed = [row_of(row) for row in rows[:, order]]
        least = np.minimum(least, pairs[np.ix_(renamed, renamed)])
    return np.unique(least, return_inverse=True)[1].reshape(total, total)


def orbit_optimum(n: int, k: int, epsilon: float, prior: float = 1.0) -> Optimum:
    """Return the epsilon-DP table with the least mean Hellinger distance, prior (a, …,
    a).

    Categories alike: the average of an optimal table over all renamings is optimal too,
    and its entry at (x, r) depends on their orbit alone, which leaves about 1/k! of the
    unknowns of `OptimalMechanism`. Book: `thm-orbits`.
    """
    check_candidates(n, k, LARGEST_ORBIT_PROGRAM, "an orbit program")
    rows, losses = compositions(n, k), distance_table(n, [prior] * k)
    label = orbits(rows)
    cost = np.bincount(label.ravel(), losses.ravel()) / len(rows)
    representatives = np.flatnonzero(np.all(np.diff(rows, axis=1) >= 0, axis=1))
    # One inequality for each distinct pair of orbits (x, r), (x', r) with x ~ x'.
    moves = [
        (x, row_of(other)) for x in representatives for other in neighbours(rows[x])
    ]
    links = np.concatenate(
        [np.column_stack((label[x], label[other])) for x, other in moves]
    )
    links = np.unique(np.concatenate((links, links[:, ::-1])), axis=0)
    links = links[links[:, 0] != links[:, 1]]
    at, columns = np.repeat(np.arange(len(links)), 2), links.ravel()
    parts_of = np.tile([1.0, -np.exp(epsilon)], len(links))
    below = sparse.csr_array((parts_of, (at, columns)), (len(links), cost.size))
    columns = label[representatives]
    at = np.repeat(np.arange(len(columns)), len(rows))
    equal = sparse.csr_array(
        (np.ones(at.size), (at, columns.ravel())), (len(columns), cost.size)
    )
    result = solve_program(cost, below, equal, "highs-ipm")
    lower = _proved_bound(cost, below, equal, result)
    return Optimum(float(result.fun), lower, np.asarray(result.x)[label])


def _proved_bound(cost: Array, below: Any, equal: Any, result: Any) -> float:
    # For every feasible p: cost.p >= sum(v) + rest.p, and a row of p sums to 1, so the
    # least negative rest in each row is all that rounding of the solver can take away.
    v = np.asarray(result.eqlin.marginals)
    prices = np.minimum(np.asarray(result.ineqlin.marginals), 0.0)
    rest = np.minimum(cost - equal.T @ v - below.T @ prices, 0.0)
    rows = equal.tocoo()
    worst = np.zeros(v.size)
    np.minimum.at(worst, rows.row, rest[rows.col] / rows.data)
    return float(v.sum() + worst.sum())


def approximate_optimum(
    n: int, epsilon: float, delta: float, prior: ArrayLike = (1.0, 1.0)
) -> float:
    """Return the least mean distance over all data under (epsilon, delta)-DP, k = 2.

    The linear program with p(r|x) and the excess (p(r|x) - e^epsilon p(r|x'))_+ as
    unknowns, the excesses of each ordered pair of neighbours summing to at most delta;
    about 3 n^2 unknowns. Up to the solver's 1e-7, whose tolerances hide ratios above
    e^15.
    """
    rows = n + 1
    # Unknowns: p(r|x), row by row, then the excesses of each ordered pair of
    # neighbours.
    pairs = [*pairwise(range(rows)), *((b, a) for a, b in pairwise(range(rows)))]
    number, ones = np.arange(len(pairs)), np.ones(len(pairs))
    here, there = (
        sparse.coo_array(
            (ones, (number, [pair[i] for pair in pairs])), (len(pairs), rows)
        )
        for i in (0, 1)
    )
    ratio = sparse.kron(here - np.exp(epsilon) * there, sparse.eye_array(rows))
    totals = sparse.kron(sparse.eye_array(len(pairs)), np.ones((1, rows)))
    excess = sparse.eye_array(len(pairs) * rows)
    below = sparse.block_array([[ratio, -excess], [None, totals]])
    bounds = np.repeat([0.0, delta], [len(pairs) * rows, len(pairs)])
    sums = sparse.kron(sparse.eye_array(rows), np.ones((1, rows)))
    equal = sparse.hstack([sums, sparse.coo_array((rows, len(pairs) * rows))])
    cost = np.zeros(below.shape[1])
    cost[: rows * rows] = distance_table(rows - 1, prior).ravel() / rows
    result = optimize.linprog(cost, below.tocsr(), bounds, equal.tocsr(), np.ones(rows))
    if not result.success:
        raise ArithmeticError(f"the linear program was not solved: {result.message}")
    return float(result.fun)
