"""Box queries of a data cube that is too large for dense matrices, and their best estimates.

A history of boxes is two corners for each answer. Its Gram matrix is known without looking at the
cells: entry (i, j) is the number of cells in both boxes, over b_i b_j. Sums of cells are prefix
sums at the corners. Cells that no box tells apart are one cell. The estimates' weights solve the
Gram system; how far they are from reproducing their query is then measured on all cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, instance, whole_numbers
from dpbayes.queries import _arrays
from dpbayes.queries.blue import Blue

LARGEST_HISTORY = 10_000
"""Most boxes in a history: their Gram matrix is then 800 MB."""

_TOLERANCE = 1e-9  # as in `blue`
_REFINEMENTS = 6
_SETTLED = 1e-13
_RANK = 1e-10  # share of a box's cells, squared, by which it must differ from the others
_BLOCK = 512


@dataclass(frozen=True)
class Boxes:
    """Queries low <= cell < high of a cube: `shape` (d,), `low` and `high` (m, d).

    >>> boxes = Boxes((2, 3), [[0, 1]], [[2, 3]])
    >>> boxes.dense()
    array([[0., 1., 1., 0., 1., 1.]])
    >>> boxes.answers([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    array([16.])
    """

    shape: tuple[int, ...]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __init__(self, shape: object, low: ArrayLike, high: ArrayLike) -> None:
        sides = _arrays.shape("shape", shape)
        first, last = whole_numbers("low", low), whole_numbers("high", high)
        for name, corner in (("low", first), ("high", last)):
            if corner.ndim != 2 or corner.shape[1] != len(sides):
                raise ValueError(
                    f"{name} must be whole numbers of shape (m, {len(sides)}), got shape "
                    f"{corner.shape}"
                )
        fits = first.shape == last.shape and bool(
            np.all((first >= 0) & (first < last) & (last <= np.array(sides)))
        )
        if not fits or not first.size:
            raise ValueError(
                f"low and high must satisfy 0 <= low < high <= shape = {sides} in every box"
            )
        object.__setattr__(self, "shape", sides)
        object.__setattr__(self, "low", frozen(first))
        object.__setattr__(self, "high", frozen(last))

    def __len__(self) -> int:
        return len(self.low)

    def answers(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Return the sum of the cells in each box, shape (m,), from prefix sums."""
        size = int(np.prod(self.shape))
        cube = _arrays.vector("cells", cells, size).reshape(self.shape)
        padded = np.zeros([side + 1 for side in self.shape])
        padded[tuple(slice(1, None) for _ in self.shape)] = cube
        for axis in range(len(self.shape)):
            np.cumsum(padded, axis=axis, out=padded)
        total = np.zeros(len(self))
        for sign, corner in self._corners():
            total += sign * padded[corner]
        return total

    def spread(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over boxes of weight times box, at every cell, shape of the cube."""
        padded = np.zeros([side + 1 for side in self.shape])
        for sign, corner in self._corners():
            np.add.at(padded, corner, sign * weights)
        # A corner at the far end starts what lies outside; sums from the far end undo the signs.
        for axis in range(len(self.shape)):
            padded = np.flip(np.cumsum(np.flip(padded, axis), axis=axis), axis)
        return padded[tuple(slice(1, None) for _ in self.shape)]

    def overlaps(self, other: Boxes) -> NDArray[np.float64]:
        """Return the number of cells that each box shares with each box of `other`, (m, m')."""
        shared = np.empty((len(self), len(other)))
        for start in range(0, len(self), _BLOCK):
            rows = slice(start, start + _BLOCK)
            part = shared[rows]
            part[...] = 1.0
            for axis in range(len(self.shape)):
                top = np.minimum.outer(self.high[rows, axis], other.high[:, axis])
                top -= np.maximum.outer(self.low[rows, axis], other.low[:, axis])
                part *= np.maximum(top, 0)
        return shared

    def dense(self) -> NDArray[np.float64]:
        """Return the boxes as rows of coefficients (m, cells)."""
        rows = np.ones((len(self), 1))
        for axis, side in enumerate(self.shape):
            at = np.arange(side)
            inside = (at >= self.low[:, axis, None]) & (at < self.high[:, axis, None])
            rows = (rows[:, :, None] * inside[:, None, :]).reshape(len(self), -1)
        return rows

    def _corners(self) -> list[tuple[float, tuple[NDArray[np.int64], ...]]]:
        ends = (self.low, self.high)
        return [
            ((-1.0) ** choice.count(0), tuple(ends[end][:, a] for a, end in enumerate(choice)))
            for choice in product((0, 1), repeat=len(self.shape))
        ]


@dataclass(frozen=True)
class BoxEstimates:
    """Best linear unbiased estimates of boxes, and how exactly they reproduce their queries.

    `blue` has the weights (t, m); `residuals` (t,) is the largest difference, over all cells,
    between a query and the combination of the history that stands for it: one record adds no more
    than that to the bias of its estimate.

    >>> found = blue_of_boxes(Boxes((2,), [[0]], [[2]]), [3.0], Boxes((2,), [[0]], [[2]]))
    >>> found.blue.weights.round(12), float(found.residuals[0]) < 1e-12
    (array([[1.]]), True)
    """

    blue: Blue
    residuals: NDArray[np.float64]


def _edges(first: Boxes, second: Boxes) -> list[NDArray[np.int64]]:
    """Return, for each side, the borders of the cells that some box tells apart."""
    found = []
    for axis, side in enumerate(first.shape):
        ends = [corner[:, axis] for boxes in (first, second) for corner in (boxes.low, boxes.high)]
        found.append(np.unique(np.concatenate([np.array([0, side]), *ends])))
    return found


def _merged(boxes: Boxes, edges: list[NDArray[np.int64]]) -> Boxes:
    def placed(corner: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = [np.searchsorted(side, corner[:, a]) for a, side in enumerate(edges)]
        return np.stack(columns, axis=1)

    shape = tuple(side.size - 1 for side in edges)
    return Boxes(shape, placed(boxes.low), placed(boxes.high))


def blue_of_boxes(history: Boxes, scales: ArrayLike, targets: Boxes) -> BoxEstimates:
    """Return the best linear unbiased estimates of boxes from noisy answers to other boxes.

    With W = diag(1/b) H the weights w = b A of a query q are the shortest solution of W^T w = q.
    They solve (W W^T) w = W q, whose entries are overlaps of boxes. The system is factored with
    pivoting, and the solution refined with residuals that are measured on the cells themselves:
    the Gram matrix alone would lose half of the digits. Book: `thm-blue`.

    Parameters: `history` m boxes, at most `LARGEST_HISTORY`; `scales` (m,) positive; `targets` t
    boxes of the same cube.

    >>> whole, left = Boxes((4,), [[0], [0]], [[4], [2]]), Boxes((4,), [[2]], [[4]])
    >>> found = blue_of_boxes(whole, [1.0, 2.0], left)
    >>> found.blue.weights.round(12), float(found.residuals[0]) < 1e-12
    (array([[ 1., -1.]]), True)
    """
    instance("history", history, Boxes)
    instance("targets", targets, Boxes)
    if history.shape != targets.shape:
        raise ValueError(f"targets must be boxes of shape {history.shape}, got {targets.shape}")
    if len(history) > LARGEST_HISTORY:
        raise ValueError(f"history must have at most {LARGEST_HISTORY} boxes, got {len(history)}")
    b = _arrays.positive_entries("scales", scales, len(history))
    solve = _gram_solver(history, b)
    edges = _edges(history, targets)
    small, wanted = _merged(history, edges), _merged(targets, edges)
    volumes = reduce(np.multiply.outer, [np.diff(side).astype(np.float64) for side in edges])
    weights, residuals = np.empty((len(targets), len(history))), np.empty(len(targets))
    shares = history.overlaps(targets) / b[:, None]
    for t in range(len(targets)):
        one = Boxes(wanted.shape, wanted.low[t : t + 1], wanted.high[t : t + 1])
        query = one.spread(np.ones(1))
        w = solve(shares[:, t])
        left = query - small.spread(w / b)
        for _ in range(_REFINEMENTS):
            if float(np.abs(left).max()) <= _SETTLED:
                break
            better = w + solve(small.answers((left * volumes).reshape(-1)) / b)
            rest = query - small.spread(better / b)
            if float(np.abs(rest).max()) >= float(np.abs(left).max()):
                break
            w, left = better, rest
        weights[t], residuals[t] = w / b, float(np.abs(left).max())
    estimable = residuals <= _TOLERANCE
    weights[~estimable] = np.nan
    return BoxEstimates(Blue(frozen(weights), b, frozen(estimable)), frozen(residuals))


def _gram_solver(
    history: Boxes, b: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the map from W q to the shortest weights w with W^T w = q, to half of the digits.

    Pivoting finds boxes W_I in all directions; the others are D W_I. With coordinates c of q in
    W_I the shortest weights are w_D = D M^-1 c, M = 1 + D^T D, and w_I = c - D^T w_D, as in
    `dpbayes.queries.factor`.
    """
    gram = history.overlaps(history)
    gram /= b[:, None]
    gram /= b[None, :]
    size = np.sqrt(np.diagonal(gram))
    gram /= size[:, None]
    gram /= size[None, :]
    lower, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram.T, tol=_RANK, lower=1, overwrite_a=1)
    order = pivots - 1
    chosen, rest = order[:rank], order[rank:]
    triangle = lower[:rank, :rank]
    mixed = scipy.linalg.solve_triangular(
        triangle, lower[rank:, :rank].T, lower=True, trans="T", check_finite=False
    ).T
    mixed = size[rest, None] * mixed / size[chosen]
    inner = scipy.linalg.cho_factor(np.eye(rank) + mixed.T @ mixed) if rest.size else None

    def solve(right: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = right[chosen] / size[chosen]
        half = scipy.linalg.solve_triangular(triangle, scaled, lower=True, check_finite=False)
        c = (
            scipy.linalg.solve_triangular(triangle, half, lower=True, trans="T", check_finite=False)
            / size[chosen]
        )
        w = np.zeros(order.size)
        w[chosen] = c
        if inner is not None:
            w[rest] = mixed @ scipy.linalg.cho_solve(inner, c)
            w[chosen] -= mixed.T @ w[rest]
        return w

    return solve
