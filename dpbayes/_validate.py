"""Argument checks shared by all modules: each names argument, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LARGEST_EXACT_FLOAT = 2.0**53


def real(name: str, value: Any) -> float:
    """Return `value` as a finite float, refusing booleans, text and arrays."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if isinstance(value, np.complexfloating) or not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float(value)


def positive(name: str, value: Any) -> float:
    """Return `value` as a float greater than zero."""
    number = real(name, value)
    if number <= 0.0:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return number


def non_negative(name: str, value: Any) -> float:
    """Return `value` as a float that is at least zero."""
    number = real(name, value)
    if number < 0.0:
        raise ValueError(f"{name} must be at least 0, got {value!r}")
    return number


def open_unit(name: str, value: Any) -> float:
    """Return `value` as a float strictly between zero and one."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number


def closed_unit(name: str, value: Any) -> float:
    """Return `value` as a float between zero and one, ends included."""
    number = real(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    return number


def integer(name: str, value: Any, minimum: int | None = None) -> int:
    """Return `value` as an int, at least `minimum` when that is given."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` when it is one of the allowed words."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(sorted(allowed))}, got {value!r}")
    return value


def generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` when it is a numpy random generator."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name} must be a numpy.random.Generator, got {value!r}")
    return value


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`, so that a value object cannot be changed from outside."""
    view = array.view()
    view.flags.writeable = False
    return view


def counts(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only (k,) array of whole, non-negative counts with k at least 2."""
    array = np.asarray(value)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} must be a vector of at least 2 counts, got shape {array.shape}")
    return _whole(name, array)


def count_table(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only (..., k) array of whole, non-negative counts with k at least 2."""
    array = np.asarray(value)
    if array.ndim < 1 or array.shape[-1] < 2:
        raise ValueError(f"{name} must hold at least 2 counts in a row, got shape {array.shape}")
    return _whole(name, array)


def _whole(name: str, array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.number):
        raise TypeError(f"{name} must be whole numbers, got dtype {array.dtype}")
    if not np.issubdtype(array.dtype, np.integer):
        if np.issubdtype(array.dtype, np.complexfloating) or not np.all(np.isfinite(array)):
            raise ValueError(f"{name} must be finite whole numbers, got {_first_bad(array)!r}")
        broken = (array != np.floor(array)) | (np.abs(array) > _LARGEST_EXACT_FLOAT)
        if np.any(broken):
            raise ValueError(f"{name} must be whole numbers, got {array[broken].item(0)!r}")
    if np.any(array < 0):
        raise ValueError(f"{name} must be at least 0, got {array[array < 0].item(0)!r}")
    if np.any(array > 2**62):
        raise ValueError(f"{name} must be at most 2^62, got {array.max()!r}")
    return frozen(array.astype(np.int64))


def _first_bad(array: NDArray[Any]) -> Any:
    if np.issubdtype(array.dtype, np.complexfloating):
        return array.item(0)
    return array[~np.isfinite(array)].item(0)


def positive_vector(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only vector of positive, finite numbers, of length `size` when given."""
    array = positive_array(name, value)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} must be a vector of at least 2 numbers, got shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have {size} entries, one a category, got {array.size}")
    return array


def positive_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only array of positive, finite numbers of any shape."""
    array = np.asarray(value)
    if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.number):
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    if np.issubdtype(array.dtype, np.complexfloating) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {_first_bad(array)!r}")
    if np.any(array <= 0):
        raise ValueError(f"{name} must be positive and finite, got {array[array <= 0].item(0)!r}")
    return frozen(array.astype(np.float64))


def prior(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return the (k,) prior parameters of a Dirichlet distribution as a read-only array."""
    return positive_vector(name, value, size)


def counts_and_prior(
    counts_value: ArrayLike, prior_value: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return counts and prior, checked one by one and against each other."""
    whole = counts("counts", counts_value)
    return whole, prior("prior", prior_value, whole.size)
