"""Answers that fit counts of at least 0, beside the unbiased ones.

Every count is at least 0, and the best linear unbiased estimate does not know that: it can be
negative, or larger for a part than for the whole. Least squares over all x >= 0 cannot. It looks at
the noisy answers only, so it is post-processing and costs no privacy. It costs unbiasedness: where
counts are small its estimates are too large on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from dpbayes._validate import frozen
from dpbayes.tables import workload
from dpbayes.tables.inference import blue
from dpbayes.tables.workload import Array

LARGEST = 1 << 22
"""Largest number of answers times cells: nnls then takes some seconds."""

_OPTIMAL = 1e-9  # relative violation of the conditions of a minimum that rounding may leave


@dataclass(frozen=True)
class Consistent:
    """Estimates that fit counts of at least 0; make it with `consistent`.

    `estimates` (t,) of the targets, NaN where a target is not estimable (no axis for one target);
    `fitted` (m,) the answers it gives to the questions of the history; `cells` (cells,) counts of
    at least 0 that have these answers, in general not the only ones; `optimality` the largest
    violation of the conditions of Karush, Kuhn and Tucker, 0 for an exact minimum.

    >>> pulled = consistent([[1.0, 0.0], [1.0, 1.0]], [2.0, 2.0], [-3.0, 5.0], [1.0, 0.0])
    >>> float(pulled.estimates), pulled.fitted.round(9), pulled.optimality < 1e-12
    (0.0, array([0., 5.]), True)
    """

    estimates: Array
    fitted: Array
    cells: Array
    optimality: float


def consistent(H: ArrayLike, scales: ArrayLike, y: ArrayLike, Q: ArrayLike) -> Consistent:
    """Return the least-squares estimates of Q x over all x >= 0 from answers y = Hx + N.

    x minimises sum_i ((y_i - H_i x) / b_i)^2 subject to x >= 0; the answers H x are unique, and so
    is q x for every query in the row space of H. It uses y, H and b alone: post-processing.

    Parameters: `H` (m, cells), at most `LARGEST` entries; `scales` (m,) positive; `y` (m,);
    `Q` (cells,) or (t, cells). Raises ValueError where the minimum is not found to 1e-9.

    Source: ours. In the book: `thm-consistent`.

    >>> consistent([[1.0]], [2.0], [-3.0], [1.0]).estimates.item()
    0.0
    """
    matrix = workload.history("H", H)
    if matrix.size > LARGEST:
        raise ValueError(
            f"H must have at most {LARGEST} entries for consistent answers, got {matrix.size}"
        )
    b = workload.positive_entries("scales", scales, matrix.shape[0])
    answers = workload.vector("y", y, b.size)
    wanted = workload.targets("Q", Q, matrix.shape[1])
    size = max(float(np.abs(answers / b).max()), 1.0)
    scaled, data = matrix / b[:, None], answers / b / size
    try:
        cells = np.asarray(nnls(scaled, data)[0], np.float64)
    except RuntimeError as error:
        raise ValueError(f"y must have a consistent fit that can be found: {error}") from error
    optimality = violation(scaled, data, cells)
    if not optimality <= _OPTIMAL:
        raise ValueError(
            f"y must have a consistent fit that can be found, got {optimality:.1e} off"
        )
    cells = cells * size
    estimates = np.where(blue(matrix, b, wanted).estimable, wanted @ cells, np.nan)
    return Consistent(frozen(estimates), frozen(matrix @ cells), frozen(cells), optimality)


def violation(scaled: Array, data: Array, cells: Array) -> float:
    """Return how far a point x >= 0 is from the conditions of a minimum of |Gx - d|^2.

    With g = G'(Gx - d): g >= 0, and x g = 0. Each is relative to the size of its terms.

    >>> violation(np.eye(2), np.array([1.0, -1.0]), np.array([1.0, 0.0]))
    0.0
    """
    gradient = scaled.T @ (scaled @ cells - data)
    size = np.abs(scaled).T @ (np.abs(scaled) @ cells + np.abs(data)) + 1e-300
    pushed = np.maximum(-gradient, 0.0) / size
    held = np.where(cells > 0.0, np.abs(gradient) / size, 0.0)
    return float(max(pushed.max(), held.max(), -min(float(cells.min()), 0.0)))
