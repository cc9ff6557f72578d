"""A history's factorisation that grows by one answer at a time.

The scaled history is kept as diag(1/b) H = Q R V with orthonormal columns in Q and orthonormal
rows in V (a basis of the row space). The noise weights of a query are then Q R^-T (V q), without
a new factorisation; adding an answer costs one update of Q and R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, integer, positive
from dpbayes.queries import _arrays

# Share of a query's length that may lie outside the row space before it counts as a new direction.
_NEW_DIRECTION = 1e-10
_ESTIMABLE = 1e-9


@dataclass(frozen=True)
class Factor:
    """Factors of a scaled history: `basis` (r, cells), `Q` (m, r), `R` (r, r) upper triangular.

    >>> one = empty_factor(2).append([1.0, 1.0], 2.0)
    >>> one.answers, one.rank, one.noise_weights([2.0, 2.0]), one.noise_weights([1.0, 0.0])
    (1, 1, array([4.]), None)
    """

    basis: NDArray[np.float64]
    Q: NDArray[np.float64]
    R: NDArray[np.float64]

    @property
    def answers(self) -> int:
        """The number m of answers."""
        return int(self.Q.shape[0])

    @property
    def rank(self) -> int:
        """The dimension r of the row space."""
        return int(self.basis.shape[0])

    def noise_weights(self, query: ArrayLike) -> NDArray[np.float64] | None:
        """Return the signed weights A_i b_i of the best estimate, or None when there is none."""
        q = _arrays.query("query", query, self.basis.shape[1])
        inside = self.basis @ q
        if np.linalg.norm(q - inside @ self.basis) > _ESTIMABLE * np.linalg.norm(q):
            return None
        solved = scipy.linalg.solve_triangular(self.R, inside, trans="T", check_finite=False)
        return np.asarray(self.Q @ solved)

    def append(self, query: ArrayLike, scale: float) -> Factor:
        """Return the factorisation after one more answer, to `query` with noise of this scale."""
        row = _arrays.query("query", query, self.basis.shape[1]) / positive("scale", scale)
        inside = self.basis @ row
        outside = row - inside @ self.basis
        # Once more, because one projection leaves rounding of the size of what it removed.
        again = self.basis @ outside
        inside, outside = inside + again, outside - again @ self.basis
        length = float(np.linalg.norm(outside))
        Q, R = self._with_row(inside)
        if length <= _NEW_DIRECTION * float(np.linalg.norm(row)):
            return Factor(self.basis, frozen(Q), frozen(R))
        basis = np.vstack([self.basis, outside / length])
        Q, R = _with_column(Q, R, length)
        return Factor(frozen(basis), frozen(Q), frozen(R))

    def _with_row(
        self, row: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rank = self.rank
        if rank == 0:
            return np.zeros((self.answers + 1, 0)), np.zeros((0, 0))
        Q, R = scipy.linalg.qr_insert(
            self.Q, self.R, row, self.answers, which="row", check_finite=False
        )
        return np.asarray(Q[:, :rank], np.float64), np.asarray(R[:rank], np.float64)


def _with_column(
    Q: NDArray[np.float64], R: NDArray[np.float64], length: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors with a new last column that is 0 but for `length` in its last row."""
    m, rank = Q.shape
    column = np.zeros(m)
    column[-1] = length
    inside = Q.T @ column
    outside = column - Q @ inside
    again = Q.T @ outside
    inside, outside = inside + again, outside - Q @ again
    rest = float(np.linalg.norm(outside))
    wider = np.zeros((rank + 1, rank + 1))
    wider[:rank, :rank] = R
    wider[:rank, rank] = inside
    wider[rank, rank] = rest
    return np.hstack([Q, (outside / rest)[:, None]]), wider


def empty_factor(cells: int) -> Factor:
    """Return the factorisation of a history without answers.

    >>> grown = empty_factor(2).append([1.0, 1.0], 1.0).append([1.0, 0.0], 2.0)
    >>> grown.noise_weights([0.0, 1.0])
    array([ 1., -2.])
    """
    size = integer("cells", cells, 1)
    return Factor(frozen(np.zeros((0, size))), frozen(np.zeros((0, 0))), frozen(np.zeros((0, 0))))
