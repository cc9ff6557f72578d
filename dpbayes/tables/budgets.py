"""The smallest budget of an answer, with and without a history, and what all answers cost together.

What E computes here is lost. Both rules for a budget are derived from its definition of the
interval, and the overall cost, cell by cell, from the densities of the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpbayes._validate import choice, frozen, integer, open_unit, positive
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.workload import (
    NEIGHBOURS,
    Array,
    history,
    laplace_scales,
    positive_entries,
    sensitivity,
    vector,
)

_MOST_PAIRED_CELLS = 4096  # one float64 for each pair of cells: 128 MiB
_SMALLEST_SHARE = 1e-6  # of the direct budget: what is cheaper still is charged as this


@dataclass(frozen=True)
class Allocation:
    """A budget and what it buys.

    `alpha` the budget of the fresh answer, 0 when the history suffices; `scale` the scale of its
    noise (infinite at alpha = 0); `history_share` 1 - kappa, the factor on the history's weights;
    `fresh_share` kappa, the weight of the fresh answer; `noise_weights` the weights of the combined
    error, the fresh answer last.

    >>> bought = allocation([4.0], 1.0, 20.0, 0.05)
    >>> round(bought.alpha, 6), round(bought.fresh_share, 6)
    (0.150645, 0.26638)
    >>> bought.noise_weights.round(4)
    array([2.9345, 1.7683])
    """

    alpha: float
    scale: float
    history_share: float
    fresh_share: float
    noise_weights: Array


def budget(S: float, L: float, delta: float) -> float:
    """Return the budget 2 S ln(1/delta) / L at which one answer has an interval of length L.

    One Laplace variable of scale b exceeds b ln(1/delta) in absolute value with probability delta.

    Parameters: `S` > 0 sensitivity; `L` > 0 length; `delta` in (0, 1), one minus the confidence.

    Source: derived; E's text is lost. In the book: `thm-direct-budget`.

    >>> round(budget(1.0, 40.0, 0.05), 10)
    0.1497866137
    """
    length, missing = positive("L", L), -math.log(open_unit("delta", delta))
    alpha = 2.0 * positive("S", S) * missing / length
    if not 0.0 < alpha < math.inf:
        raise ValueError(f"L must be a length whose budget is a number, got {L!r} for S = {S!r}")
    return alpha


def combine(w0: ArrayLike, scale: float) -> tuple[float, Array]:
    """Return kappa and the joined weights ((1 - kappa) w0, kappa scale) of history and answer.

    kappa = v0 / (v0 + 2 scale^2) with v0 = 2 sum w0^2 makes the variance smallest.

    >>> combine([1.0], 1.0)
    (0.5, array([0.5, 0.5]))
    """
    weights, s = vector("w0", w0), positive("scale", scale)
    ratio = float(np.linalg.norm(weights / s)) ** 2
    kappa = ratio / (ratio + 1.0) if ratio < math.inf else 1.0
    return kappa, frozen(np.append((1.0 - kappa) * np.abs(weights), kappa * s))


def allocation(
    w0: ArrayLike | None, S: float, L: float, delta: float, spending: str = "smallest"
) -> Allocation:
    """Return the budget whose answer, joined with the history, has an interval of length L.

    `w0` are the noise weights of the query's estimate from the history, None when it was not
    estimable: then the fresh answer stands alone. `spending` "smallest" looks for the smallest
    budget, not below a millionth of the direct one; "direct" takes the direct budget unless the
    history alone suffices. The joined interval is checked, not assumed: best linear weights make
    the variance smallest, not the quantile, and from about delta = 1/e on joining can make the
    interval longer. If it does, the fresh answer is used alone at the direct budget.

    Parameters: `w0` (m,) or None; `S`, `L` > 0; `delta` in (0, 1).

    Source: derived; E's text is lost. In the book: `thm-history-budget`.

    >>> allocation([1.0], 1.0, 40.0, 0.05).alpha
    0.0
    """
    direct = budget(S, L, delta)
    weights = np.zeros(0) if w0 is None else np.abs(vector("w0", w0))
    alone = Allocation(
        direct, S / direct, 0.0, 1.0, frozen(np.append(np.zeros(weights.size), S / direct))
    )
    if w0 is None:
        return alone
    target = math.log(0.5 * delta)
    missing = NoiseLaw(weights).log_tail(0.5 * L) - target if np.any(weights) else 0.0
    if missing <= 0.0:
        return Allocation(0.0, math.inf, 1.0, 0.0, frozen(np.append(weights, 0.0)))

    def excess(share: float) -> float:
        return NoiseLaw(combine(weights, S / (share * direct))[1]).log_tail(0.5 * L) - target

    if excess(1.0) > 0.0:
        return alone
    share = 1.0 if spending == "direct" else _smallest(excess, weights, S / direct)
    scale = S / (share * direct)
    kappa, joined = combine(weights, scale)
    return Allocation(share * direct, scale, 1.0 - kappa, kappa, joined)


def _smallest(excess: Callable[[float], float], weights: Array, scale: float) -> float:
    """Return the smallest share of the direct budget at which an excess is at most 0.

    The excess is almost linear in x = ln(1 + (share |w0| / scale)^2), the logarithm of how much
    smaller the joined variance is than the history's; there the root is looked for.
    """
    if excess(_SMALLEST_SHARE) <= 0.0:
        return _SMALLEST_SHARE
    ratio = float(np.linalg.norm(weights)) / scale

    def share_at(x: float) -> float:
        return min(math.sqrt(math.expm1(x)) / ratio, 1.0)

    low, high = (math.log1p((share * ratio) ** 2) for share in (_SMALLEST_SHARE, 1.0))
    root = brentq(lambda x: excess(share_at(x)), low, high, xtol=1e-300, rtol=1e-14)
    share = share_at(float(root))
    nudge = 1e-14
    while excess(share) > 0.0 and share < 1.0:  # never on the wrong side of the promise
        share, nudge = min(1.0, share * (1.0 + nudge)), 2.0 * nudge
    return share


@dataclass(frozen=True)
class CellCosts:
    """Spent budget: `losses` of each cell (add-remove) or pair of cells (replace-one).

    >>> spent = no_cost(2).after([1.0, 0.0], 4.0)
    >>> round(spent.total, 12)
    0.25
    """

    neighbours: str
    losses: Array

    @property
    def total(self) -> float:
        """The overall cost, the largest loss."""
        return float(self.losses.max())

    def after(self, query: ArrayLike, scale: float) -> CellCosts:
        """Return the costs once `query` has also been answered with noise of the given scale.

        Every operation is rounded away from zero, so that the recorded spend is never below the
        true one.
        """
        row = self._changes(query)
        share = np.nextafter(row / positive("scale", scale), np.inf)
        grown = np.where(row > 0.0, np.nextafter(self.losses + share, np.inf), self.losses)
        return CellCosts(self.neighbours, frozen(grown))

    def room(self, query: ArrayLike, bound: float) -> float:
        """Return the largest 1 / scale with which `query` can still be answered within a bound.

        >>> round(no_cost(2).after([1.0, 0.0], 4.0).room([2.0, 1.0], 1.0), 9)
        0.375
        """
        row = self._changes(query)
        touched = row > 0.0
        left = (bound - self.losses[touched]) / row[touched]
        return max(float(left.min(initial=np.inf)), 0.0)

    def _changes(self, query: ArrayLike) -> Array:
        """Return by how much one record changes the query, for each cell or pair of cells."""
        signed = vector("query", query, self.losses.shape[0])
        if self.neighbours == "replace-one":
            return np.asarray(np.abs(np.subtract.outer(signed, signed)))
        return np.asarray(np.abs(signed))


def no_cost(cells: int, neighbours: str = "add-remove") -> CellCosts:
    """Return the costs before the first answer.

    >>> no_cost(3).after([1.0, 0.0, 2.0], 4.0).losses
    array([0.25, 0.  , 0.5 ])
    """
    size = integer("cells", cells, 1)
    if choice("neighbours", neighbours, NEIGHBOURS) == "add-remove":
        return CellCosts(neighbours, frozen(np.zeros(size)))
    if size > _MOST_PAIRED_CELLS:
        raise ValueError(
            f"cells must be at most {_MOST_PAIRED_CELLS} under replace-one, which keeps one number "
            f"for each pair of cells, got {size}"
        )
    return CellCosts(neighbours, frozen(np.zeros((size, size))))


def cost_of_scales(H: ArrayLike, scales: ArrayLike, neighbours: str = "add-remove") -> float:
    """Return the overall cost of answers whose noise scales are given, however they were chosen.

    Use it to see what noise made for one neighbour relation is worth under the other.

    >>> cost_of_scales([[1.0, -1.0]], [2.0], "add-remove")
    0.5
    >>> cost_of_scales([[1.0, -1.0]], [2.0], "replace-one")
    1.0
    """
    matrix = history("H", H)
    b = positive_entries("scales", scales, matrix.shape[0])
    if choice("neighbours", neighbours, NEIGHBOURS) == "add-remove":
        return float((np.abs(matrix).T @ (1.0 / b)).max())
    losses = np.zeros_like(no_cost(matrix.shape[1], neighbours).losses)
    for row, scale in zip(matrix, b, strict=True):
        losses += np.abs(np.subtract.outer(row, row)) / scale
    return float(losses.max())


def privacy_cost(H: ArrayLike, alpha: ArrayLike, neighbours: str = "add-remove") -> float:
    """Return the budget that all answers together have spent on the record that suffers most.

    Each answer i is given noise of scale b_i = S_i / alpha_i, with S_i the sensitivity for the
    stated neighbour relation. A record in cell j then loses sum_i |H_ij| / b_i when it is added or
    removed, and sum_i |H_ij - H_il| / b_i when it is moved from cell l to cell j; the cost is the
    maximum over cells or pairs of cells. For all neighbouring tables x, x' and every set B of
    answer vectors, P[y in B | x] <= e^cost P[y in B | x'], and no smaller number will do. It
    contains sequential and parallel composition. The inequality also holds for queries chosen from
    earlier answers, with the largest cost over all courses; a smaller number may then do.

    Parameters: `H` (m, cells); `alpha` (m,) positive; `neighbours`. A query that no neighbour
    changes costs nothing.

    Source: E, Theorems 2.1, 5.1, 5.2; the joint form is derived. In the book: `thm-overall-cost`.

    >>> privacy_cost([[1.0, 0.0], [0.0, 1.0]], [0.1, 0.2])
    0.2
    >>> round(privacy_cost([[1.0, 0.0], [0.0, 1.0]], [0.1, 0.2], "replace-one"), 12)
    0.3
    """
    matrix = history("H", H)
    budgets = positive_entries("alpha", alpha, matrix.shape[0])
    moving = sensitivity(matrix, neighbours) > 0.0
    if not np.any(moving):
        return 0.0
    scales = laplace_scales(matrix[moving], budgets[moving], neighbours)
    return cost_of_scales(matrix[moving], scales, neighbours)
