"""A history's factorisation that grows by one answer at a time.

Answers are split in two: the first ones in every new direction, whose scaled rows are B = L V with
L lower triangular and orthonormal rows in V, and the rest, whose scaled rows are D B. A query with
coordinates c in B is then estimable with noise weights w, the shortest solution of
w_1 + D^T w_2 = c. With M = 1 + D^T D it is w_2 = D M^-1 c and w_1 = c - D^T w_2. An answer in a new
direction adds a row to L and V; any other adds a row to D and one update to the factor of M.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import drot

from dpbayes._validate import frozen, integer, positive
from dpbayes.queries import _arrays

# Share of a query's length that may lie outside the row space before it counts as a new direction.
_NEW_DIRECTION = 1e-10
_ESTIMABLE = 1e-9
_BLOCK = 256  # rows of D kept in one array: adding one copies no more than these
_SETTLED = 1e-12
_REFINEMENTS = 4


@dataclass(frozen=True)
class Factor:
    """Factors of a scaled history of m answers, r of them first in a new direction.

    `basis` (r, cells) is V, `lower` (r, r) is L, `upper` (r, r) the transposed Cholesky factor of
    M. `blocks` are rows of D, in order; later columns that a block lacks are 0. `first` (r,) and
    `rest` (m - r,) are the places of the answers.

    >>> one = empty_factor(2).append([1.0, 1.0], 2.0)
    >>> one.answers, one.rank, one.noise_weights([2.0, 2.0]), one.noise_weights([1.0, 0.0])
    (1, 1, array([4.]), None)
    """

    basis: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    blocks: tuple[NDArray[np.float64], ...]
    first: NDArray[np.int64]
    rest: NDArray[np.int64]

    @property
    def answers(self) -> int:
        """The number m of answers."""
        return int(self.first.size + self.rest.size)

    @property
    def rank(self) -> int:
        """The dimension r of the row space."""
        return int(self.basis.shape[0])

    def noise_weights(self, query: ArrayLike) -> NDArray[np.float64] | None:
        """Return the signed weights A_i b_i of the best estimate, or None when there is none."""
        q = _arrays.query("query", query, self.basis.shape[1])
        inside = self.basis @ q
        # Where the rows span everything there is nothing outside, and half as much to read.
        if self.rank < q.size:
            outside = q - inside @ self.basis
            if np.linalg.norm(outside) > _ESTIMABLE * np.linalg.norm(q):
                return None
        c = self._coordinates(inside)
        z = self._solved(c)
        for _ in range(_REFINEMENTS):
            later, fitted = self._through(z)
            early = c - fitted
            # Where z solves M z = c exactly, it is c - D^T D z.
            error = early - z
            if np.linalg.norm(error) <= _SETTLED * np.linalg.norm(z):
                break
            z = z + self._solved(error)
        weights = np.empty(self.answers)
        weights[self.first], weights[self.rest] = early, later
        return weights

    def append(self, query: ArrayLike, scale: float) -> Factor:
        """Return the factorisation after one more answer, to `query` with noise of this scale."""
        row = _arrays.query("query", query, self.basis.shape[1]) / positive("scale", scale)
        inside = self.basis @ row
        if self.rank == row.size:
            return self._with_combination(self._coordinates(inside))
        outside = row - inside @ self.basis
        # Once more, because one projection leaves rounding of the size of what it removed.
        again = self.basis @ outside
        inside, outside = inside + again, outside - again @ self.basis
        length = float(np.linalg.norm(outside))
        if length > _NEW_DIRECTION * float(np.linalg.norm(row)):
            return self._with_direction(inside, outside / length, length)
        return self._with_combination(self._coordinates(inside))

    def _with_direction(
        self, inside: NDArray[np.float64], direction: NDArray[np.float64], length: float
    ) -> Factor:
        return Factor(
            frozen(np.vstack([self.basis, direction])),
            frozen(_bordered(self.lower, inside, length)),
            frozen(_bordered(self.upper, np.zeros(self.rank), 1.0)),
            self.blocks,
            frozen(np.append(self.first, self.answers)),
            self.rest,
        )

    def _with_combination(self, row: NDArray[np.float64]) -> Factor:
        last = self.blocks[-1] if self.blocks else np.zeros((0, self.rank))
        if last.shape[0] == _BLOCK:
            blocks = (*self.blocks, frozen(row[None, :]))
        else:
            wider = np.zeros((last.shape[0] + 1, self.rank))
            wider[:-1, : last.shape[1]], wider[-1] = last, row
            blocks = (*self.blocks[:-1], frozen(wider))
        upper = frozen(_updated(self.upper, row))
        rest = frozen(np.append(self.rest, self.answers))
        return Factor(self.basis, self.lower, upper, blocks, self.first, rest)

    def _coordinates(self, inside: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return c with c B = inside V, that is L^T c = inside."""
        if not self.rank:
            return np.zeros(0)
        return np.asarray(
            scipy.linalg.solve_triangular(
                self.lower, inside, trans="T", lower=True, check_finite=False
            )
        )

    def _solved(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.rank:
            return np.zeros(0)
        # Read by rows the upper factor is a lower one by columns: nothing is copied for LAPACK.
        return np.asarray(scipy.linalg.cho_solve((self.upper.T, True), c, check_finite=False))

    def _through(self, z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return D z and D^T D z, reading each block of D from memory once."""
        later, fitted = np.empty(self.rest.size), np.zeros(self.rank)
        start = 0
        for rows in self.blocks:
            stop, columns = start + rows.shape[0], rows.shape[1]
            np.matmul(rows, z[:columns], out=later[start:stop])
            fitted[:columns] += later[start:stop] @ rows
            start = stop
        return later, fitted


def _bordered(
    matrix: NDArray[np.float64], row: NDArray[np.float64], corner: float
) -> NDArray[np.float64]:
    size = matrix.shape[0]
    wider = np.zeros((size + 1, size + 1))
    wider[:size, :size], wider[size, :size], wider[size, size] = matrix, row, corner
    return wider


def _updated(upper: NDArray[np.float64], row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the upper triangular U' with U'^T U' = U^T U + row^T row, by plane rotations."""
    factor, x = upper.copy(), row.copy()
    for k in range(row.size):
        if x[k] == 0.0:
            continue
        length = float(np.hypot(factor[k, k], x[k]))
        cosine, sine = factor[k, k] / length, x[k] / length
        factor[k, k] = length
        if k + 1 < row.size:
            drot(factor[k, k + 1 :], x[k + 1 :], cosine, sine, overwrite_x=True, overwrite_y=True)
    return factor


def empty_factor(cells: int) -> Factor:
    """Return the factorisation of a history without answers.

    >>> grown = empty_factor(2).append([1.0, 1.0], 1.0).append([1.0, 0.0], 2.0)
    >>> grown.noise_weights([0.0, 1.0])
    array([ 1., -2.])
    """
    size = integer("cells", cells, 1)
    nothing, none = frozen(np.zeros((0, 0))), frozen(np.zeros(0, dtype=np.int64))
    return Factor(frozen(np.zeros((0, size))), nothing, nothing, (), none, none)
