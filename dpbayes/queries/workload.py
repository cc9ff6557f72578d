"""Linear queries over the cells of a data cube, their sensitivities and their noise scales.

A history is a matrix H with one row a query and one column a cell; the answers are y = Hx + N with
independent Laplace noise of scales b = S/alpha (E, Definition 2.6, Lemma 2.1, equations 9 and 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import frozen, generator, integer
from dpbayes.queries import _arrays


def sensitivity(H: ArrayLike, neighbours: str = "add-remove") -> NDArray[np.float64]:
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
    matrix = _arrays.history("H", H)
    if _arrays.neighbour_relation(neighbours) == "add-remove":
        return np.asarray(np.abs(matrix).max(axis=1))
    return np.asarray(matrix.max(axis=1) - matrix.min(axis=1))


def sensitivity_witness(H: ArrayLike, neighbours: str = "add-remove") -> NDArray[np.int64]:
    """Return the cells where each sensitivity is attained, so that it can be checked by hand.

    One column for one record added or removed (its cell); two columns for one record replaced
    (the cell it enters, the cell it leaves).

    >>> sensitivity_witness([[1.0, 0.0, -1.0]], neighbours="replace-one")
    array([[0, 2]])
    """
    matrix = _arrays.history("H", H)
    if _arrays.neighbour_relation(neighbours) == "add-remove":
        return np.asarray(np.abs(matrix).argmax(axis=1)[:, None])
    return np.stack([matrix.argmax(axis=1), matrix.argmin(axis=1)], axis=1)


def laplace_scales(
    H: ArrayLike, alpha: ArrayLike, neighbours: str = "add-remove"
) -> NDArray[np.float64]:
    """Return the scale b_i = S_i / alpha_i of the Laplace noise of each answer.

    For every pair of neighbouring tables x, x' of the stated relation and every set B of answers,
    P[y_i in B | x] <= e^alpha_i P[y_i in B | x'] (E, Theorem 2.1).

    Parameters: `H` (m, cells); `alpha` (m,) positive budgets. A query that no neighbour can change
    has sensitivity 0 and needs no noise: it is refused, because a scale of 0 is not a Laplace law.

    >>> laplace_scales([[0.0, 2.0], [1.0, 1.0]], [0.5, 0.1])
    array([ 4., 10.])
    """
    matrix = _arrays.history("H", H)
    budgets = _arrays.positive_entries("alpha", alpha, matrix.shape[0])
    sensitivities = sensitivity(matrix, neighbours)
    if np.any(sensitivities == 0.0):
        row = int(np.flatnonzero(sensitivities == 0.0)[0])
        raise ValueError(
            f"H must have queries that some neighbour changes, but row {row} has sensitivity 0 "
            f"under {neighbours}"
        )
    return np.asarray(sensitivities / budgets)


def range_query(shape: tuple[int, ...], low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    """Return the 0/1 coefficients of the box low <= cell < high of a cube of the given shape.

    >>> range_query((2, 3), (0, 1), (2, 3))
    array([0., 1., 1., 0., 1., 1.])
    """
    sides = _arrays.shape("shape", shape)
    lows = _arrays.place("low", low, len(sides))
    highs = _arrays.place("high", high, len(sides))
    if any(not 0 <= a < b <= n for a, b, n in zip(lows, highs, sides, strict=True)):
        raise ValueError(
            f"low and high must satisfy 0 <= low < high <= shape, got {lows}, {highs} in {sides}"
        )
    cube = np.zeros(sides)
    cube[tuple(slice(a, b) for a, b in zip(lows, highs, strict=True))] = 1.0
    return frozen(cube.reshape(-1))


def random_ranges(
    shape: tuple[int, ...], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return `count` random box queries (count, cells), each side an interval chosen uniformly.

    >>> random_ranges((4,), 3, np.random.default_rng(1)).shape
    (3, 4)
    """
    boxes, sides = [], _arrays.shape("shape", shape)
    generator("rng", rng)
    for _ in range(integer("count", count, 1)):
        edges = [np.sort(rng.choice(side + 1, 2, replace=False)) for side in sides]
        boxes.append(range_query(sides, [e[0] for e in edges], [e[1] for e in edges]))
    return frozen(np.array(boxes))


def all_intervals(cells: int) -> NDArray[np.float64]:
    """Return the cells (cells + 1) / 2 interval queries of a one-dimensional cube.

    >>> all_intervals(2)
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """
    size = integer("cells", cells, 1)
    rows = [range_query((size,), a, b) for a in range(size) for b in range(a + 1, size + 1)]
    return frozen(np.array(rows))


def tree_workload(leaves: int) -> NDArray[np.float64]:
    """Return the 2 leaves - 1 node sums of a binary tree, root first, level by level.

    >>> tree_workload(2)
    array([[1., 1.],
           [1., 0.],
           [0., 1.]])
    """
    size = integer("leaves", leaves, 1)
    if size & (size - 1):
        raise ValueError(f"leaves must be a power of 2, got {leaves}")
    widths = [size >> level for level in range(size.bit_length())]
    rows = [range_query((size,), a, a + w) for w in widths for a in range(0, size, w)]
    return frozen(np.array(rows))
