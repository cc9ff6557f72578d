"""Whole histories of questions, as document E plans them: scales and costs of budgets,
random ranges, estimates from sparse histories, and what becomes of a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, diags_array, issparse, vstack
from scipy.sparse.linalg import lsmr

from dpbayes import _validate as check
from dpbayes.tables.decision import Policy, decide, empty_state
from dpbayes.tables.inference import (
    Array,
    Blue,
    cost_of_scales,
    estimates,
    scales_and_targets,
    sensitivity,
    shaped,
)
from dpbayes.tables.noise import as_float, on_grid


def laplace_scales(
    H: ArrayLike, alpha: ArrayLike, neighbours: str = "add-or-remove"
) -> Array:
    """Return b_i = S_i / alpha_i for `H` (m, cells) and `alpha` (m,) > 0; S_i = 0 is
    refused.

    P[y_i in B | x] <= e^alpha_i P[y_i in B | x'] for all neighbours x, x', sets B (E,
    Theorem 2.1).

    >>> laplace_scales([[0.0, 2.0], [1.0, 1.0]], [0.5, 0.1])
    array([ 4., 10.])
    """
    S = sensitivity(H, neighbours)
    budgets = shaped("alpha", check.positive_array("alpha", alpha), S.size)
    if np.any(S == 0.0):
        still = f"row {int(np.argmin(S))} has sensitivity 0 under {neighbours}"
        raise ValueError(
            f"H must have queries that some neighbour changes, but {still}"
        )
    return np.asarray(S / budgets)


def privacy_cost(
    H: ArrayLike, alpha: ArrayLike, neighbours: str = "add-or-remove"
) -> float:
    """Return the budget that all answers together have spent on the record that suffers
    most.

    With b_i = S_i / alpha_i, max_j sum_i |H_ij| / b_i, or max_jl sum_i |H_ij - H_il| /
    b_i where records are replaced: P[y in B | x] <= e^cost P[y in B | x'] for all
    neighbours x, x' and sets B, and no smaller number will do; also for queries chosen
    from earlier answers (E, Theorems 2.1, 5.1, 5.2, the joint form derived;
    `thm-overall-cost`).

    >>> privacy_cost([[1.0, 0.0], [0.0, 1.0]], [0.1, 0.2])
    0.2
    """
    S = sensitivity(H, neighbours)
    budgets = shaped("alpha", check.positive_array("alpha", alpha), S.size)
    return cost_of_scales(H, np.where(S > 0.0, S, 1.0) / budgets, neighbours)


def random_ranges(shape: Any, count: int, rng: np.random.Generator) -> Array:
    """Return random boxes of a cube as rows (count, cells); each pair of ends is as
    likely.

    >>> random_ranges((2, 3), 4, np.random.default_rng(1)).shape
    (4, 6)
    """
    sides = check.sizes("shape", shape)
    check.generator("rng", rng)
    boxes = np.zeros((check.integer("count", count, 1), *sides))
    for box in boxes:
        ends = [np.sort(rng.choice(side + 1, 2, replace=False)) for side in sides]
        box[tuple(slice(*pair) for pair in ends)] = 1.0
    return check.frozen(boxes.reshape(len(boxes), -1))


def blue_sparse(H: Any, scales: ArrayLike, Q: ArrayLike) -> Blue:
    """Return what `blue` returns for a sparse `H` over up to millions of cells, by
    LSMR.

    A query (dense or sparse) is estimable when what is left of it is below 1e-6 of its
    length. Cells that no query tells apart are looked at once: random sums of their
    columns agree, as others' do by chance for one pair in 10^30. `scales` within some
    six powers of ten.

    >>> H = csr_array([[1.0, 1.0], [1.0, 0.0]])
    >>> blue_sparse(H, [1.0, 2.0], [0.0, 1.0]).weights.round(9)
    array([ 1., -1.])
    """
    matrix = csr_array(check.offering("H", H, "tocsr"), dtype=np.float64)
    dense = Q.toarray() if issparse(Q) else Q
    b, targets = scales_and_targets(scales, dense, *matrix.shape)
    rows = vstack([matrix, csr_array(targets)]).tocsc()
    real, imaginary = np.random.default_rng(0).standard_normal((2, rows.shape[0]))
    _, chosen = np.unique(rows.T @ real + 1j * (rows.T @ imaginary), return_index=True)
    transposed = (diags_array(1.0 / b) @ matrix.tocsc()[:, chosen]).T.tocsr()
    weights, limit = np.empty((len(targets), b.size)), 10 * (b.size + 100)
    for line, q in zip(weights, targets[:, chosen], strict=True):
        found = lsmr(transposed, q, atol=1e-13, btol=1e-13, conlim=0.0, maxiter=limit)[
            0
        ]
        left = np.linalg.norm(transposed @ found - q)
        line[:] = found / b if left <= 1e-6 * np.linalg.norm(q) else np.nan
    return estimates(weights, b, np.ndim(dense))


@dataclass(frozen=True)
class Stream:
    """What was done with each question: `outcomes` (k,) words, overall cost `spent`
    (k,).
    """

    outcomes: tuple[str, ...]
    spent: Array

    @property
    def answered(self) -> Array:
        """The share of questions answered so far, after each question."""
        got = np.array([outcome != "rejected" for outcome in self.outcomes])
        return np.asarray(np.cumsum(got) / np.arange(1, got.size + 1))

    @property
    def first_rejection(self) -> int:
        """The number, from 1, of the first question that was refused; one past the end
        if none.
        """
        return [*self.outcomes, "rejected"].index("rejected") + 1


def stream(
    questions: ArrayLike, lengths: ArrayLike, delta: float, bound: float, policy: Policy
) -> Stream:
    """Return what is done with questions (k, cells) of `lengths` one or (k,); it needs
    no data.

    >>> asked = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> stream(asked, 40.0, 0.05, 0.2, Policy()).outcomes
    ('fresh', 'derived', 'fresh')
    """
    rows = shaped("questions", questions, "k", "cells")
    wanted = check.positive_array("lengths", lengths)
    if wanted.ndim:
        shaped("lengths", wanted, len(rows))
    limit, outcomes, spent = check.positive("bound", bound), [], []
    state = empty_state(rows.shape[1], policy)
    for row, length in zip(rows, np.broadcast_to(wanted, len(rows)), strict=True):
        query = on_grid(row, row.size)
        made = decide(state, query, float(length), delta, limit)
        if made.outcome == "fresh":
            state = state.after(query, as_float(made.scale_units), 0.0)
        outcomes.append(made.outcome)
        spent.append(state.spent)
    return Stream(tuple(outcomes), check.frozen(np.array(spent)))
