"""Answers that fit counts of at least 0, beside the unbiased ones.

Every count is at least 0, and the best linear unbiased estimate does not know that: it can be
negative, or larger for a part than for the whole. Least squares over all x >= 0 cannot. It looks at
the noisy answers only, so it is post-processing and costs no privacy. It costs unbiasedness: where
counts are small its estimates are too large on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen
from dpbayes.queries import _arrays
from dpbayes.queries.blue import NotEstimableError, blue

LARGEST = 1 << 22
"""Largest number of answers times cells."""

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Consistent:
    """Estimates that fit counts of at least 0; make it with `consistent`.

    `estimates` (t,) of the targets, NaN where a target is not estimable (no axis for one target);
    `fitted` (m,) the answers it gives to the questions of the history; `cells` (cells,) counts of
    at least 0 that have these answers, in general not the only ones; `optimality` the largest
    violation of the conditions of Karush, Kuhn and Tucker, 0 for an exact minimum.

    >>> pulled = consistent([[1.0, 0.0], [1.0, 1.0]], [2.0, 2.0], [-3.0, 5.0], [1.0, 0.0])
    >>> float(pulled.estimates), pulled.fitted, pulled.optimality < 1e-12
    (0.0, array([0., 5.]), True)
    """

    estimates: NDArray[np.float64]
    fitted: NDArray[np.float64]
    cells: NDArray[np.float64]
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
    matrix = _arrays.history("H", H)
    if matrix.size > LARGEST:
        raise ValueError(
            f"H must have at most {LARGEST} entries for consistent answers, got {matrix.size}"
        )
    b = _arrays.positive_entries("scales", scales, matrix.shape[0])
    answers = _arrays.vector("y", y, b.size)
    wanted = _arrays.targets("Q", Q, matrix.shape[1])
    estimable = blue(matrix, b, wanted).estimable
    cells, optimality = _least_squares(matrix / b[:, None], answers / b)
    estimates = np.where(estimable, wanted @ cells, np.nan)
    return Consistent(frozen(estimates), frozen(matrix @ cells), frozen(cells), optimality)


def consistent_answer(
    H: ArrayLike, scales: ArrayLike, y: ArrayLike, query: ArrayLike
) -> float | None:
    """Return the consistent estimate of one query, None where there is none or it is not found.

    >>> consistent_answer([[1.0, 1.0]], [2.0], [7.0], [1.0, 0.0]) is None
    True
    """
    try:
        value = float(consistent(H, scales, y, query).estimates)
    except (ValueError, NotEstimableError):
        return None
    return None if np.isnan(value) else value


def _least_squares(
    scaled: NDArray[np.float64], data: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    size = max(float(np.abs(data).max()), 1.0)
    best = np.zeros(scaled.shape[1])
    least = violation(scaled, data / size, best)
    for solve in (_by_active_sets, _by_bounds):
        if least <= _TOLERANCE:
            break
        found = solve(scaled, data / size)
        wrong = violation(scaled, data / size, found)
        best, least = (found, wrong) if wrong < least else (best, least)
    if not least <= _TOLERANCE:
        raise ValueError(f"y must have a consistent fit that can be found, got {least:.1e} off it")
    return np.asarray(best * size), least


def _by_active_sets(scaled: NDArray[np.float64], data: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.optimize import nnls  # slow to import, and only consistent answers need it

    try:
        return np.asarray(nnls(scaled, data)[0], np.float64)
    except RuntimeError:
        return np.zeros(scaled.shape[1])


def _by_bounds(scaled: NDArray[np.float64], data: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.optimize import lsq_linear

    found = lsq_linear(scaled, data, (0.0, np.inf), method="bvls", tol=1e-14)
    return np.asarray(np.maximum(found.x, 0.0), np.float64)


def violation(
    scaled: NDArray[np.float64], data: NDArray[np.float64], cells: NDArray[np.float64]
) -> float:
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
