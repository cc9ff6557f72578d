"""The overall privacy cost of a set of answers, cell by cell (E, section 5; its text is lost)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes._validate import choice, frozen, integer, positive
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


@dataclass(frozen=True)
class CellCosts:
    """Spent budget: `losses` of each cell (add-remove) or pair of cells (replace-one).

    >>> spent = no_cost(2).after([1.0, 0.0], 4.0)
    >>> round(spent.total, 12), spent.witness
    (0.25, (0,))
    """

    neighbours: str
    losses: Array

    @property
    def total(self) -> float:
        """The overall cost, the largest loss."""
        return float(self.losses.max())

    @property
    def witness(self) -> tuple[int, ...]:
        """The cell, or the pair of cells, whose record has lost most."""
        place = np.unravel_index(int(self.losses.argmax()), self.losses.shape)
        return tuple(int(index) for index in place)

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

    >>> no_cost(3).after([1.0, 0.0, 2.0], 4.0).witness
    (2,)
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
