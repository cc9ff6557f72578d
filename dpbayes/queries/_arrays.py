"""Checks for the arrays of linear queries: coefficients, scales, answers and cell counts."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes._validate import choice, frozen

Neighbours = Literal["add-remove", "replace-one"]
_MOST_CELLS = 100_000_000
NEIGHBOURS: tuple[str, ...] = get_args(Neighbours)


def neighbour_relation(value: Any) -> str:
    """Return the name of a neighbour relation, refusing every other word."""
    return choice("neighbours", value, NEIGHBOURS)


def real_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 array of finite real numbers."""
    return _validate.real_array(name, value)


def vector(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only vector of finite numbers, of length `size` when that is given."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a vector with at least 1 entry, got shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have {size} entries, got {array.size}")
    return frozen(array)


def positive_entries(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only vector of positive, finite numbers."""
    array = vector(name, value, size)
    if np.any(array <= 0.0):
        raise ValueError(f"{name} must be positive, got {array[array <= 0.0][0]!r}")
    return array


def place(name: str, value: ArrayLike, sides: int) -> list[int]:
    """Return one whole number for each side of a cube."""
    edges = _validate.whole_numbers(name, value)
    if edges.ndim > 1 or edges.size != sides:
        raise ValueError(f"{name} must have {sides} entries, got {_validate.shown(value)}")
    return [int(edge) for edge in np.atleast_1d(edges)]


def shape(name: str, value: Any) -> tuple[int, ...]:
    """Return the numbers of cells along the sides of a cube, at least one side."""
    sides = tuple(_validate.integer(name, side, 1) for side in _validate.items(name, value))
    if not 0 < len(sides) <= 32 or math.prod(sides) > _MOST_CELLS:
        raise ValueError(
            f"{name} must be 1 to 32 sides and at most {_MOST_CELLS} cells, got "
            f"{_validate.shown(value)}"
        )
    return sides


def history(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only (m, cells) matrix with at least one query and one cell."""
    array = real_array(name, value)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} must be a matrix with one row a query and one column a cell, "
            f"got shape {array.shape}"
        )
    return frozen(array)


def query(name: str, value: ArrayLike, cells: int) -> NDArray[np.float64]:
    """Return one coefficient a cell; a query that asks for nothing is refused."""
    array = vector(name, value)
    if array.size != cells:
        raise ValueError(
            f"{name} must have one coefficient for each of the {cells} cells, got {array.size}"
        )
    if not np.any(array):
        raise ValueError(f"{name} must have a coefficient that is not 0, got all zeros")
    return array


def targets(name: str, value: ArrayLike, cells: int) -> NDArray[np.float64]:
    """Return one query (cells,) or several (t, cells), whose columns match the history."""
    array = real_array(name, value)
    if array.ndim not in (1, 2) or array.size == 0 or array.shape[-1] != cells:
        raise ValueError(
            f"{name} must have shape ({cells},) or (t, {cells}) to match the history, "
            f"got {array.shape}"
        )
    return frozen(array)
