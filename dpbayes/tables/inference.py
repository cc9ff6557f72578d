"""Linear queries over the cells of a cube, and their best linear unbiased estimates (E,
section 3).

A history is a matrix H, one row a query and one column a cell; its answers are y = Hx +
N with independent Laplace noise of scales b = S/alpha (E, Definition 2.6, Lemma 2.1,
equations 9 and 10). With B = diag(1/b) H the noise weights w = b A of a query q are the
shortest solution of B^T w = q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr_insert, solve_triangular

from dpbayes import _validate as check
from dpbayes.tables.units import RELATIONS

Array = NDArray[np.float64]
_MOST_PAIRED_CELLS = 4096  # one float64 for each pair of cells: 128 MiB
# share of a query outside the row space up to which it counts as inside
_ESTIMABLE = 1e-9


def shaped(name: str, value: ArrayLike, *shape: int | str) -> Array:
    """Return a read-only array of finite numbers; a word in `shape` stands for 1 or
    more.
    """
    array = check.real_array(name, value)
    pairs = zip(shape, array.shape, strict=False)
    fits = all(size == wanted for wanted, size in pairs if isinstance(wanted, int))
    if array.ndim != len(shape) or not array.size or not fits:
        wanted = ", ".join(map(str, shape))
        raise ValueError(
            f"{name} must have shape ({wanted}), none of it 0, got {array.shape}"
        )
    return array


def coefficients(name: str, value: ArrayLike, cells: int) -> Array:
    """Return one coefficient a cell; a query that asks for nothing is refused."""
    array = shaped(name, value, cells)
    if not np.any(array):
        raise ValueError(f"{name} must have a coefficient that is not 0, got all zeros")
    return array


def sensitivity(H: ArrayLike, neighbours: str = "add-or-remove") -> Array:
    """Return S_i, by how much one record can change each query of a history (m, cells).

    max_j |H_ij| where it is added or removed (E, Lemma 2.1; `lem-query-sensitivity`),
    max_j H_ij - min_j H_ij where it leaves a cell and enters another ("replace-one").

    >>> sensitivity([[1.0, 0.0, -1.0]]), sensitivity([[1.0, 0.0, -1.0]], "replace-one")
    (array([1.]), array([2.]))
    """
    matrix = shaped("H", H, "m", "cells")
    if check.choice("neighbours", neighbours, RELATIONS) == "add-or-remove":
        return np.asarray(np.abs(matrix).max(axis=1))
    return np.asarray(matrix.max(axis=1) - matrix.min(axis=1))


def cost_of_scales(
    H: ArrayLike, scales: ArrayLike, neighbours: str = "add-or-remove"
) -> float:
    """Return the overall cost of answers whose noise scales are given.

    >>> history = [[1.0, -1.0]], [2.0]
    >>> cost_of_scales(*history), cost_of_scales(*history, "replace-one")
    (0.5, 1.0)
    """
    matrix = shaped("H", H, "m", "cells")
    b = shaped("scales", check.positive_array("scales", scales), len(matrix))
    losses = changes(np.zeros(matrix.shape[1]), neighbours)
    for row, scale in zip(matrix, b, strict=True):
        losses = losses + changes(row, neighbours) / scale
    return float(losses.max())


def changes(query: Array, neighbours: str) -> Array:
    """Return by how much a record changes a query: of each cell, or pair of cells if
    replaced.
    """
    if check.choice("neighbours", neighbours, RELATIONS) == "add-or-remove":
        return np.abs(query)
    if query.size > _MOST_PAIRED_CELLS:
        limit = f"{_MOST_PAIRED_CELLS} under replace-one, which looks at pairs of cells"
        raise ValueError(f"cells must be at most {limit}, got {query.size}")
    return np.abs(np.subtract.outer(query, query))


class NotEstimableError(ValueError):
    """The query is no linear combination of the history: the answers do not determine
    it.
    """


@dataclass(frozen=True)
class Blue:
    """Estimators `weights` A (t, m) of t queries, NaN where not `estimable`; no t axis
    for one.

    >>> blue([[1.0, 1.0]], [1.0], [1.0, 0.0]).estimate([3.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.tables.inference.NotEstimableError: Q must lie in the row space of the...
    """

    weights: Array
    scales: Array
    estimable: NDArray[np.bool_]

    @property
    def noise_weights(self) -> Array:
        """The weights w = |A| b of independent standard Laplace variables in the
        error."""
        return np.asarray(np.abs(self.weights) * self.scales)

    @property
    def variance(self) -> Array:
        """The variance 2 sum_i (A_i b_i)^2 of each estimate; NaN where not
        estimable."""
        return np.asarray(2.0 * np.sum(self.noise_weights**2, axis=-1))

    def estimate(self, y: ArrayLike) -> Array:
        """Return A y, NaN where not estimable; a single query raises
        `NotEstimableError`.
        """
        answers = shaped("y", y, self.scales.size)
        if self.estimable.ndim == 0 and not self.estimable:
            raise NotEstimableError(
                "Q must lie in the row space of the history: no combination of its"
                " answers gives it"
            )
        return np.asarray(self.weights @ answers)


@dataclass(frozen=True)
class Factor:
    """B = Q R Z, `Q` (m, r) and `Z` (r, cells) orthonormal, `R` (r, r) triangular: w =
    Q R^-T Z q.

    >>> one = empty_factor(2).append([1.0, 1.0], 2.0)
    >>> one.noise_weights([2.0, 2.0]).round(12), one.noise_weights([1.0, 0.0])
    (array([4.]), None)
    """

    Q: Array
    R: Array
    Z: Array

    def noise_weights(self, query: ArrayLike) -> Array | None:
        """Return the signed weights A_i b_i of the best estimate, or None when there is
        none.
        """
        q = coefficients("query", query, self.Z.shape[1])
        inside, outside = self._split(q)
        if np.linalg.norm(outside) > _ESTIMABLE * np.linalg.norm(q):
            return None
        return np.asarray(self.Q @ solve_triangular(self.R, inside, trans="T"))

    def append(self, query: ArrayLike, scale: float) -> Factor:
        """Return the factorisation after one more answer, to `query` with noise of this
        scale.
        """
        row = coefficients("query", query, self.Z.shape[1]) / check.positive(
            "scale", scale
        )
        inside, outside = self._split(row)
        length, (m, r) = float(np.linalg.norm(outside)), self.Q.shape
        if length <= 1e-10 * float(np.linalg.norm(row)):  # rounding leaves some 1e-14
            Q, R = qr_insert(self.Q, self.R, inside, m, "row", check_finite=False)
            return Factor(check.frozen(Q[:, :r]), check.frozen(R[:r]), self.Z)
        Q, R = np.zeros((m + 1, r + 1)), np.zeros((r + 1, r + 1))
        Q[m, 0], Q[:m, 1:], R[0, 0], R[0, 1:], R[1:, 1:] = (
            1.0,
            self.Q,
            length,
            inside,
            self.R,
        )
        Z = np.vstack([outside / length, self.Z])
        return Factor(check.frozen(Q), check.frozen(R), check.frozen(Z))

    def _split(self, row: Array) -> tuple[Array, Array]:
        """Return the coordinates of a row, and its part in no known direction."""
        inside = self.Z @ row
        outside = row - inside @ self.Z
        # Once more, because one projection leaves rounding of the size of what it
        # removed.
        again = self.Z @ outside
        return inside + again, outside - again @ self.Z


def empty_factor(cells: int) -> Factor:
    """Return the factorisation of a history without answers, from which others grow."""
    nothing = np.zeros((0, 0))
    return Factor(nothing, nothing, np.zeros((0, check.integer("cells", cells, 1))))


def blue(H: ArrayLike, scales: ArrayLike, Q: ArrayLike) -> Blue:
    """Return the best linear unbiased estimator of each query of Q from answers y = Hx
    + N.

    A = q (H^T W H)^- H^T W with W = diag(1/b^2) has the smallest variance, 2 sum (A_i
    b_i)^2; NaN outside the row space of H. `H` (m, cells); `scales` b (m,) positive;
    `Q` (cells,) or (t, cells). E, Theorem 3.1, Corollaries 3.1, 3.2; `thm-blue`.

    >>> one = blue([[1.0, 1.0], [1.0, 0.0]], [1.0, 2.0], [0.0, 1.0])
    >>> one.weights.round(12), round(float(one.variance), 12)
    (array([ 1., -1.]), 10.0)
    """
    matrix = shaped("H", H, "m", "cells")
    b, targets = scales_and_targets(scales, Q, *matrix.shape)
    factor, asked = empty_factor(matrix.shape[1]), matrix.any(axis=1)
    for row, scale in zip(matrix[asked], b[asked], strict=True):
        factor = factor.append(row, float(scale))
    weights = np.zeros((len(targets), b.size))
    for line, q in zip(weights, targets, strict=True):
        found = factor.noise_weights(q) if q.any() else np.zeros(asked.sum())
        if found is None:
            line[:] = np.nan
        else:
            line[asked] = found / b[asked]
    return estimates(weights, b, np.ndim(Q))


def scales_and_targets(
    scales: ArrayLike, Q: ArrayLike, m: int, cells: int
) -> tuple[Array, Array]:
    """Return m noise scales and queries (t, cells), checked."""
    b = shaped("scales", check.positive_array("scales", scales), m)
    return b, shaped("Q", np.atleast_2d(check.real_array("Q", Q)), "t", cells)


def estimates(weights: Array, b: Array, axes: int) -> Blue:
    """Return rows of weights as estimates, the only one where a query is a vector."""
    lines = weights if axes == 2 else weights[0]
    return Blue(
        check.frozen(lines), b, check.frozen(np.asarray(~np.isnan(lines).any(axis=-1)))
    )
