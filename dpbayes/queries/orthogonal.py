"""Noise weights from an orthogonal factorisation of all answers, whatever their scales."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen
from dpbayes.queries import _arrays


class Orthogonal:
    """An orthogonal factorisation of scaled queries, `rows` (m, r) of rank r, long ones first.

    Householder reflections with the rows sorted by their length and the columns pivoted keep the
    digits of each row, also where the rows are of very different length.

    >>> Orthogonal([[1.0, 0.0], [1.0, 0.0], [0.0, 1e9]]).shortest([1.0, 1.0])
    array([5.e-01, 5.e-01, 1.e-09])
    """

    def __init__(self, rows: ArrayLike) -> None:
        matrix = _arrays.history("rows", rows)
        self._order = np.argsort(-np.linalg.norm(matrix, axis=1), kind="stable")
        self._rows = matrix[self._order]
        self._q, self._r, self._pivots = scipy.linalg.qr(
            self._rows, mode="economic", pivoting=True, check_finite=False
        )

    def shortest(self, query: ArrayLike) -> NDArray[np.float64]:
        """Return the shortest w (m,) with w rows = query, which is a combination of the rows."""
        wanted = _arrays.vector("query", query, self._rows.shape[1])
        found = self._solved(wanted)
        # Once more, because the first solution leaves rounding of its own size.
        found = found + self._solved(wanted - found @ self._rows)
        weights = np.empty(found.size)
        weights[self._order] = found
        return frozen(weights)

    def _solved(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        half = scipy.linalg.solve_triangular(self._r, wanted[self._pivots], trans="T")
        return np.asarray(self._q @ half)
