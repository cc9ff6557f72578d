"""Best linear unbiased estimates of queries from noisy answers to other queries (E, section 3).

With B = diag(1/b) H the noise weights w = b A of a query q are the shortest solution of B^T w = q.
`Factor` keeps B = Q T Z, with orthonormal columns in Q and rows in Z and T lower triangular, so
that w = Q T^-T Z q. One more answer adds a row: in a new direction it borders T; else it is turned
into T by plane rotations. Nothing is squared, so that no digits are lost where answers are many and
few of them new; the normal equations lose every digit there without saying so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import drot, drotg
from scipy.sparse import csr_array, diags_array, issparse, vstack
from scipy.sparse.linalg import lsmr

from dpbayes._validate import frozen, integer, non_negative, offering, open_unit, positive
from dpbayes.tables import workload
from dpbayes.tables.workload import Array

_NEW = 1e-10  # share of a row's length outside all others; rounding leaves some 1e-14
_ESTIMABLE = 1e-9  # share of a query outside the row space up to which it counts as inside


class NotEstimableError(ValueError):
    """The query is not a linear combination of the history: the answers do not determine it.

    >>> blue([[1.0, 1.0]], [1.0], [1.0, 0.0]).estimate([3.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.tables.inference.NotEstimableError: Q must lie in the row space of the history...
    """


@dataclass(frozen=True)
class Blue:
    """Best linear unbiased estimators of t queries from m answers; no t axis for one query.

    `weights` (t, m) the matrix A, NaN in the rows of queries that are not estimable; `scales` (m,);
    `estimable` (t,).

    >>> pair = blue([[1.0], [1.0]], [1.0, 2.0], [1.0])
    >>> pair.weights.round(12), round(float(pair.estimate([5, 10])), 9)
    (array([0.8, 0.2]), 6.0)
    """

    weights: Array
    scales: Array
    estimable: NDArray[np.bool_]

    @property
    def noise_weights(self) -> Array:
        """The weights w = |A| b of independent standard Laplace variables in the error."""
        return np.asarray(np.abs(self.weights) * self.scales)

    @property
    def variance(self) -> Array:
        """The variance 2 sum_i (A_i b_i)^2 of each estimate; NaN where not estimable."""
        return np.asarray(2.0 * np.sum((self.weights * self.scales) ** 2, axis=-1))

    @property
    def covariance(self) -> Array:
        """The covariance 2 (A diag b)(A diag b)^T of the estimates (E, Theorem 3.1)."""
        scaled = np.atleast_2d(self.weights * self.scales)
        return np.asarray(2.0 * scaled @ scaled.T)

    def estimate(self, y: ArrayLike) -> Array:
        """Return A y, NaN where not estimable; a single query raises `NotEstimableError`."""
        answers = workload.vector("y", y, self.scales.size)
        if not np.any(self.estimable) and self.estimable.ndim == 0:
            raise NotEstimableError(
                "Q must lie in the row space of the history: no combination of its answers gives it"
            )
        return np.asarray(self.weights @ answers)


@dataclass(frozen=True)
class Factor:
    """B = Q T Z of m scaled answers over some cells, of rank r; grows by `append`.

    `Q` (m, r) with orthonormal columns; `T` (r, r) lower triangular; `Z` (r, cells) with
    orthonormal rows.

    >>> one = empty_factor(2).append([1.0, 1.0], 2.0)
    >>> one.rank, one.noise_weights([2.0, 2.0]).round(12), one.noise_weights([1.0, 0.0])
    (1, array([4.]), None)
    """

    Q: Array
    T: Array
    Z: Array

    @property
    def answers(self) -> int:
        """The number m of answers."""
        return int(self.Q.shape[0])

    @property
    def rank(self) -> int:
        """The dimension r of the row space."""
        return int(self.Z.shape[0])

    def noise_weights(self, query: ArrayLike) -> Array | None:
        """Return the signed weights A_i b_i of the best estimate, or None when there is none."""
        q = workload.query("query", query, self.Z.shape[1])
        inside = self.Z @ q
        outside = q - inside @ self.Z
        if np.linalg.norm(outside) > _ESTIMABLE * np.linalg.norm(q):
            return None
        return np.asarray(self.Q @ solve_triangular(self.T, inside, trans="T", lower=True))

    def append(self, query: ArrayLike, scale: float) -> Factor:
        """Return the factorisation after one more answer, to `query` with noise of this scale."""
        row = workload.query("query", query, self.Z.shape[1]) / positive("scale", scale)
        inside = self.Z @ row
        outside = row - inside @ self.Z
        # Once more, because one projection leaves rounding of the size of what it removed.
        again = self.Z @ outside
        inside, outside = inside + again, outside - again @ self.Z
        length = float(np.linalg.norm(outside))
        m, r = self.Q.shape
        if length > _NEW * float(np.linalg.norm(row)):
            Q, T = np.zeros((m + 1, r + 1), order="F"), np.zeros((r + 1, r + 1))
            Q[:m, :r], Q[m, r], T[:r, :r] = self.Q, 1.0, self.T
            T[r, :r], T[r, r] = inside, length
            return Factor(frozen(Q), frozen(T), frozen(np.vstack([self.Z, outside / length])))
        return self._rotated(inside)

    def _rotated(self, row: Array) -> Factor:
        """Return the factors once a row of known coordinates is turned into T, from its end."""
        m, r = self.Q.shape
        Q, T = np.zeros((m + 1, r), order="F"), self.T.copy()
        Q[:m], row, new = self.Q, row.copy(), np.zeros(m + 1)
        new[m] = 1.0
        columns, rows = Q.reshape(-1, order="F"), T.reshape(-1)
        for k in range(r - 1, -1, -1):
            if row[k] == 0.0:
                continue
            c, s = drotg(T[k, k], row[k])
            drot(rows, row, c, s, k + 1, k * r, 1, 0, 1, True, True)
            drot(columns, new, c, s, m + 1, k * (m + 1), 1, 0, 1, True, True)
        return Factor(frozen(Q), frozen(T), self.Z)


def empty_factor(cells: int) -> Factor:
    """Return the factorisation of a history without answers.

    >>> grown = empty_factor(2).append([1.0, 1.0], 1.0).append([1.0, 0.0], 2.0)
    >>> grown.noise_weights([0.0, 1.0]).round(12)
    array([ 1., -2.])
    """
    size = integer("cells", cells, 1)
    return Factor(np.zeros((0, 0), order="F"), np.zeros((0, 0)), np.zeros((0, size)))


def blue(H: ArrayLike, scales: ArrayLike, Q: ArrayLike) -> Blue:
    """Return the best linear unbiased estimator of each query of Q from answers y = Hx + N.

    A = q (H^T W H)^- H^T W with W = diag(1/b^2); the estimate A y has the smallest variance,
    2 sum (A_i b_i)^2, among all linear unbiased ones. A query is estimable exactly when it lies in
    the row space of H.

    Parameters: `H` (m, cells); `scales` (m,) positive; `Q` (cells,) or (t, cells).

    Source: E, Theorem 3.1 and Corollaries 3.1, 3.2. In the book: `thm-blue`.

    >>> one = blue([[1.0, 1.0], [1.0, 0.0]], [1.0, 2.0], [0.0, 1.0])
    >>> one.weights.round(12), round(float(one.variance), 12)
    (array([ 1., -1.]), 10.0)
    """
    matrix = workload.history("H", H)
    b = workload.positive_entries("scales", scales, matrix.shape[0])
    wanted = workload.targets("Q", Q, matrix.shape[1])
    factor, asked = empty_factor(matrix.shape[1]), matrix.any(axis=1)
    for row, scale in zip(matrix[asked], b[asked], strict=True):
        factor = factor.append(row, float(scale))
    weights = np.zeros((len(np.atleast_2d(wanted)), b.size))
    for line, q in zip(weights, np.atleast_2d(wanted), strict=True):
        found = factor.noise_weights(q) if np.any(q) else np.zeros(factor.answers)
        if found is None:
            line[:] = np.nan
        else:
            line[asked] = found / b[asked]
    return _shaped(weights, b, wanted)


def blue_sparse(H: Any, scales: ArrayLike, Q: ArrayLike) -> Blue:
    """Return what `blue` returns for a sparse history over many cells, by least squares (LSMR).

    The weights minimise |B^T w - q| by an iteration that starts at 0 and so ends at the shortest
    solution; a query is estimable when what is left of it is below 1e-6 of its length. Cells that
    no query tells apart are looked at once: they are found by the sums of their columns with random
    weights, which agree by chance for one pair in 10^30.

    Parameters: `H` (m, cells) a scipy sparse array or matrix, cells up to some millions; `scales`
    within some six powers of ten; `Q` as in `blue`, dense or sparse.

    >>> from scipy.sparse import csr_array
    >>> one = blue_sparse(csr_array([[1.0, 1.0], [1.0, 0.0]]), [1.0, 2.0], [0.0, 1.0])
    >>> one.weights.round(9)
    array([ 1., -1.])
    """
    matrix = csr_array(offering("H", H, "tocsr"), dtype=np.float64)
    b = workload.positive_entries("scales", scales, matrix.shape[0])
    wanted = workload.targets("Q", Q.toarray() if issparse(Q) else Q, matrix.shape[1])
    rows = vstack([matrix, csr_array(np.atleast_2d(wanted))]).tocsc()
    real, imaginary = np.random.default_rng(0).standard_normal((2, rows.shape[0]))
    _, chosen = np.unique(rows.T @ real + 1j * (rows.T @ imaginary), return_index=True)
    transposed = (diags_array(1.0 / b) @ matrix.tocsc()[:, chosen]).T.tocsr()
    weights = np.empty((rows.shape[0] - b.size, b.size))
    for line, q in zip(weights, np.atleast_2d(wanted)[:, chosen], strict=True):
        limit = 10 * (b.size + 100)
        found = lsmr(transposed, q, atol=1e-13, btol=1e-13, conlim=0.0, maxiter=limit)[0]
        left = np.linalg.norm(transposed @ found - q)
        line[:] = found / b if left <= 1e-6 * np.linalg.norm(q) else np.nan
    return _shaped(weights, b, wanted)


def _shaped(weights: Array, b: Array, wanted: Array) -> Blue:
    shape = wanted.shape[:-1]
    estimable = np.asarray(~np.isnan(weights).any(axis=1)).reshape(shape)
    return Blue(frozen(weights.reshape(*shape, -1)), b, frozen(np.asarray(estimable)))


def chebyshev_half_width(variance: float, delta: float) -> float:
    """Return the distance sqrt(variance / delta) that Chebyshev's bound grants at level delta.

    An answer is (epsilon, delta)-useful with epsilon this distance (E, Definition 2.4, Theorem
    3.2). In the book: `thm-chebyshev`.

    >>> chebyshev_half_width(2.0, 0.125)
    4.0
    """
    return float(np.sqrt(non_negative("variance", variance) / open_unit("delta", delta)))
