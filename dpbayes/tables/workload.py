"""Linear queries over the cells of a data cube, their sensitivities and their noise scales.

A history is a matrix H with one row a query and one column a cell; the answers are y = Hx + N with
independent Laplace noise of scales b = S/alpha (E, Definition 2.6, Lemma 2.1, equations 9 and 10).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import choice, frozen, generator, integer, items, real_array, whole_numbers

Array = NDArray[np.float64]
NEIGHBOURS = ("add-remove", "replace-one")


def vector(name: str, value: ArrayLike, size: int | None = None) -> Array:
    """Return a read-only vector of finite numbers, of length `size` when that is given."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size == 0 or size not in (None, array.size):
        wanted = "at least 1 entry" if size is None else f"{size} entries"
        raise ValueError(f"{name} must be a vector with {wanted}, got shape {array.shape}")
    return array


def positive_entries(name: str, value: ArrayLike, size: int | None = None) -> Array:
    """Return a read-only vector of positive, finite numbers."""
    array = vector(name, value, size)
    if np.any(array <= 0.0):
        raise ValueError(f"{name} must be positive, got {float(array[array <= 0.0][0])!r}")
    return array


def history(name: str, value: ArrayLike) -> Array:
    """Return a read-only (m, cells) matrix with at least one query and one cell."""
    array = real_array(name, value)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} must be a matrix with one row a query and one column a cell, "
            f"got shape {array.shape}"
        )
    return array


def query(name: str, value: ArrayLike, cells: int) -> Array:
    """Return one coefficient a cell; a query that asks for nothing is refused."""
    array = vector(name, value, cells)
    if not np.any(array):
        raise ValueError(f"{name} must have a coefficient that is not 0, got all zeros")
    return array


def targets(name: str, value: ArrayLike, cells: int) -> Array:
    """Return one query (cells,) or several (t, cells), whose columns match the history."""
    array = real_array(name, value)
    if array.ndim not in (1, 2) or array.size == 0 or array.shape[-1] != cells:
        raise ValueError(
            f"{name} must have shape ({cells},) or (t, {cells}) to match the history, "
            f"got {array.shape}"
        )
    return array


def sensitivity(H: ArrayLike, neighbours: str = "add-remove") -> Array:
    """Return the sensitivity of each query of a history.

    For one record added or removed S_i = max_j |H_ij| (E, Lemma 2.1). For one record replaced a
    record leaves one cell and enters another, so S_i = max_j H_ij - min_j H_ij: at most twice as
    much.

    Parameters: `H` (m, cells) finite; `neighbours` "add-remove" or "replace-one".

    Source: E, Definition 2.2 and Lemma 2.1; the replaced record is ours. In the book:
    `lem-query-sensitivity`.

    >>> sensitivity([[1.0, 0.0, -1.0], [0.0, 2.0, 2.0]])
    array([1., 2.])
    >>> sensitivity([[1.0, 0.0, -1.0], [0.0, 2.0, 2.0]], neighbours="replace-one")
    array([2., 2.])
    """
    matrix = history("H", H)
    if choice("neighbours", neighbours, NEIGHBOURS) == "add-remove":
        return np.asarray(np.abs(matrix).max(axis=1))
    return np.asarray(matrix.max(axis=1) - matrix.min(axis=1))


def laplace_scales(H: ArrayLike, alpha: ArrayLike, neighbours: str = "add-remove") -> Array:
    """Return the scale b_i = S_i / alpha_i of the Laplace noise of each answer.

    For every pair of neighbouring tables x, x' of the stated relation and every set B of answers,
    P[y_i in B | x] <= e^alpha_i P[y_i in B | x'] (E, Theorem 2.1).

    Parameters: `H` (m, cells); `alpha` (m,) positive budgets. A query that no neighbour can change
    has sensitivity 0 and needs no noise: it is refused, because a scale of 0 is not a Laplace law.

    >>> laplace_scales([[0.0, 2.0], [1.0, 1.0]], [0.5, 0.1])
    array([ 4., 10.])
    """
    matrix = history("H", H)
    budgets = positive_entries("alpha", alpha, matrix.shape[0])
    sensitivities = sensitivity(matrix, neighbours)
    if np.any(sensitivities == 0.0):
        row = int(np.flatnonzero(sensitivities == 0.0)[0])
        raise ValueError(
            f"H must have queries that some neighbour changes, but row {row} has sensitivity 0 "
            f"under {neighbours}"
        )
    return np.asarray(sensitivities / budgets)


def range_query(shape: Any, low: ArrayLike, high: ArrayLike) -> Array:
    """Return the 0/1 coefficients of the box low <= cell < high of a cube of the given shape.

    >>> range_query((2, 3), (0, 1), (2, 3))
    array([0., 1., 1., 0., 1., 1.])
    """
    sides = _sides(shape)
    ends = [whole_numbers(name, end) for name, end in (("low", low), ("high", high))]
    first, last = (np.atleast_1d(end) for end in ends)
    inside = first.shape == last.shape == (len(sides),)
    if not inside or not np.all((first >= 0) & (first < last) & (last <= np.array(sides))):
        raise ValueError(
            f"low and high must satisfy 0 <= low < high <= shape = {sides}, got "
            f"{first.tolist()} and {last.tolist()}"
        )
    box = np.zeros(sides)
    box[tuple(slice(a, b) for a, b in zip(first, last, strict=True))] = 1.0
    return frozen(box.reshape(-1))


def random_ranges(shape: Any, count: int, rng: np.random.Generator) -> Array:
    """Return `count` random boxes of a cube as rows (count, cells); each pair of ends is as likely.

    >>> random_ranges((2, 3), 4, np.random.default_rng(1)).shape
    (4, 6)
    """
    sides, boxes = _sides(shape), []
    generator("rng", rng)
    for _ in range(integer("count", count, 1)):
        edges = [np.sort(rng.choice(side + 1, 2, replace=False)) for side in sides]
        boxes.append(range_query(sides, [e[0] for e in edges], [e[1] for e in edges]))
    return frozen(np.array(boxes))


def _sides(shape: Any) -> tuple[int, ...]:
    sides = tuple(integer("shape", side, 1) for side in items("shape", shape))
    if not sides:
        raise ValueError("shape must have at least 1 side, got none")
    return sides
