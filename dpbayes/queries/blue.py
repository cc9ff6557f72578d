"""Best linear unbiased estimate of a query from a history of noisy answers (E, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, non_negative, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.orthogonal import Orthogonal

# How closely the weights must reproduce an estimable query, as a share of its largest entry.
_TOLERANCE = 1e-9

# Directions shorter than this share of the longest are rounding: without the cut a question that
# was answered twice could keep one of the two answers and lose the benefit of the other.
_RANK = 1e-11


class NotEstimableError(ValueError):
    """The query is not a combination of the history's queries, so no number is given for it.

    >>> blue([[1.0, 1.0]], [1.0], [1.0, 0.0]).require()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.queries.blue.NotEstimableError: Q must lie in the row space of the ...
    """


@dataclass(frozen=True)
class Blue:
    """Weights of the best linear unbiased estimates, one row a target query.

    `weights` (t, m), `scales` (m,), `estimable` (t,) booleans. For a single query the leading axis
    is absent. Where a query is not estimable, weights and everything derived from them are NaN.

    >>> one = Blue(np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.array(True))
    >>> float(one.variance), one.noise_weights, float(one.estimate([10.0, 4.0]))
    (10.0, array([1., 2.]), 6.0)
    """

    weights: NDArray[np.float64]
    scales: NDArray[np.float64]
    estimable: NDArray[np.bool_]

    @property
    def noise_weights(self) -> NDArray[np.float64]:
        """The weights w_i = |A_i| b_i of the standard Laplace variables in the error."""
        return np.asarray(np.abs(self.weights) * self.scales)

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variance 2 sum w_i^2 of each estimate (E, Corollary 3.2)."""
        return np.asarray(2.0 * np.sum((self.weights * self.scales) ** 2, axis=-1))

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance 2 (A diag b)(A diag b)^T of several estimates, shape (t, t)."""
        scaled = np.atleast_2d(self.weights * self.scales)
        return np.asarray(2.0 * scaled @ scaled.T)

    def estimate(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return A y, shape (t,); NaN where a query is not estimable, an error for a single one."""
        answers = _arrays.vector("y", y, self.scales.size)
        if self.estimable.ndim == 0:
            self.require()
        return np.asarray(self.weights @ answers)

    def require(self) -> None:
        """Raise `NotEstimableError` unless every query is estimable."""
        if not np.all(self.estimable):
            bad = np.flatnonzero(~np.atleast_1d(self.estimable)).tolist()
            raise NotEstimableError(
                f"Q must lie in the row space of the history, but query {bad} does not: "
                "the answers say nothing about some part of it"
            )


def blue(H: ArrayLike, scales: ArrayLike, Q: ArrayLike) -> Blue:
    """Return the best linear unbiased estimator of each query of Q from answers y = Hx + N.

    A = q (H^T W H)^- H^T W with W = diag(1/b^2); the estimate A y has the smallest variance,
    2 sum (A_i b_i)^2, among all linear unbiased ones. A query is estimable exactly when it lies in
    the row space of H. The weights are the minimum-norm solution of (diag(1/b) H)^T w = q, computed
    by an orthogonal factorisation with pivoting: the normal equations lose every digit on
    rank-deficient histories without saying so.

    Parameters: `H` (m, cells); `scales` (m,) positive; `Q` (cells,) or (t, cells).

    Source: E, Theorem 3.1 and Corollaries 3.1, 3.2. In the book: `thm-blue`.

    >>> one = blue([[1.0, 1.0], [1.0, 0.0]], [1.0, 2.0], [0.0, 1.0])
    >>> one.weights
    array([ 1., -1.])
    >>> round(float(one.variance), 12)
    10.0
    """
    matrix = _arrays.history("H", H)
    b = _arrays.positive_entries("scales", scales, matrix.shape[0])
    wanted = _arrays.targets("Q", Q, matrix.shape[1])
    rows = np.atleast_2d(wanted)
    scaled = matrix / b[:, None]
    solved = scipy.linalg.lstsq(
        scaled.T, rows.T, cond=_RANK, lapack_driver="gelsy", check_finite=False
    )[0]
    largest = np.abs(rows).max(axis=1, initial=0.0)
    estimable = np.abs(solved.T @ scaled - rows).max(axis=1) <= _TOLERANCE * largest
    if not np.all(estimable) and b.max() > b.min() and np.any(matrix):
        # Where scales differ that much, the cut takes the rough answers for rounding.
        again = _whatever_the_scales(matrix, b, rows[~estimable])
        solved[:, ~estimable] = again.T
        estimable = np.abs(solved.T @ scaled - rows).max(axis=1) <= _TOLERANCE * largest
    weights = np.where(estimable[:, None], solved.T / b, np.nan)
    shape = (*wanted.shape[:-1], b.size)
    return Blue(
        frozen(weights.reshape(shape)), b, frozen(np.asarray(estimable.reshape(shape[:-1])))
    )


def _whatever_the_scales(
    matrix: NDArray[np.float64], scales: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return noise weights for the rows, over columns that matter in the matrix without scales."""
    asked = np.flatnonzero(matrix.any(axis=1))
    first = matrix[asked, (matrix[asked] != 0.0).argmax(axis=1)]
    lengths = np.copysign(np.abs(matrix[asked]).max(axis=1), first)
    # The same question again is one row: beside a precise one, what rounding leaves of the
    # difference of two of them would hide the rough ones.
    plain, number = np.unique(matrix[asked] / lengths[:, None], axis=0, return_inverse=True)
    each = lengths / scales[asked]
    number = number.ravel()
    largest = np.zeros(len(plain))
    np.maximum.at(largest, number, np.abs(each))
    whole = largest * np.sqrt(np.bincount(number, (each / largest[number]) ** 2))
    # Columns are chosen, not turned, for the same reason.
    corner, pivots = scipy.linalg.qr(plain, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(corner))
    chosen = pivots[: sizes.size][sizes > _RANK * sizes[0]]
    factored = Orthogonal(plain[:, chosen] * whole[:, None])
    found = np.zeros((len(rows), len(matrix)))
    shared = each / whole[number]
    for weights, row in zip(found, rows[:, chosen], strict=True):
        weights[asked] = factored.shortest(row)[number] * shared
    return found


def chebyshev_delta(variance: float, distance: float) -> float:
    """Return Chebyshev's bound min(1, variance / distance^2) on P(|estimate - truth| >= distance).

    An answer is (epsilon, delta)-useful when delta is at least this, with epsilon the distance
    (E, Definition 2.4, Theorem 3.2). In the book: `thm-chebyshev`.

    >>> chebyshev_delta(2.0, 4.0)
    0.125
    """
    return min(1.0, non_negative("variance", variance) / positive("distance", distance) ** 2)


def chebyshev_half_width(variance: float, delta: float) -> float:
    """Return the distance sqrt(variance / delta) that Chebyshev's bound grants at level delta.

    >>> chebyshev_half_width(2.0, 0.125)
    4.0
    """
    return float(np.sqrt(non_negative("variance", variance) / open_unit("delta", delta)))
