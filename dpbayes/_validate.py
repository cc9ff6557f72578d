"""Argument checks shared by all modules.

Every refusal has one form: "<argument> must be <what is allowed>, got <value>".
"""

from __future__ import annotations

import itertools
import math
import reprlib
import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 2**62
"""Counts, their totals and all whole-number arguments are at most this."""

_LARGEST_EXACT_FLOAT = 2.0**53
_MOST_ENTRIES = 100_000_000
_BYTES = (bytes, bytearray, memoryview)

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 8
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100


def shown(value: Any) -> str:
    """Return a value as a message shows it: `repr`, cut where it is long, whatever it is."""
    if isinstance(value, int) and abs(value) >= 10**100:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, np.ndarray) and value.size > 20:
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 300 else f"{text[:297]}..."


def real(name: str, value: Any, allowed: str = "a real number") -> float:
    """Return `value` as a finite float, refusing booleans, text and arrays."""
    refused = isinstance(value, (bool, np.bool_, np.complexfloating))
    if refused or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"{name} must be {allowed}, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return number


def _within(name: str, value: Any, allowed: str, holds: Callable[[float], bool]) -> float:
    number = real(name, value)
    if not holds(number):
        raise ValueError(f"{name} must {allowed}, got {shown(value)}")
    return number


def positive(name: str, value: Any) -> float:
    """Return `value` as a float greater than zero."""
    return _within(name, value, "be positive and finite", lambda number: number > 0.0)


def non_negative(name: str, value: Any) -> float:
    """Return `value` as a float that is at least zero."""
    return _within(name, value, "be at least 0", lambda number: number >= 0.0)


def open_unit(name: str, value: Any) -> float:
    """Return `value` as a float strictly between zero and one."""
    return _within(name, value, "lie strictly between 0 and 1", lambda number: 0.0 < number < 1.0)


def closed_unit(name: str, value: Any) -> float:
    """Return `value` as a float between zero and one, ends included."""
    return _within(name, value, "lie between 0 and 1", lambda number: 0.0 <= number <= 1.0)


def integer(name: str, value: Any, minimum: int | None = None, maximum: int = LARGEST) -> int:
    """Return `value` as an int, at least `minimum` when that is given and at most `maximum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {shown(value)}")
    if abs(int(value)) > maximum:
        limit = "2^62" if maximum == LARGEST else str(maximum)
        raise ValueError(f"{name} must be an integer of at most {limit}, got {shown(value)}")
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` when it is one of the allowed words."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {shown(value)}")
    if value not in allowed:
        listed = ", ".join(sorted(allowed))
        raise ValueError(f"{name} must be one of {listed}, got {shown(value)}")
    return str(value)


def flag(name: str, value: Any) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def same_labels(**values: Any) -> None:
    """Refuse arguments whose labels (a pandas index or columns) differ, or their order."""
    known = {name: found for name, value in values.items() if (found := _labels(value)) is not None}
    for (first, ours), (second, theirs) in itertools.pairwise(known.items()):
        if ours != theirs:
            raise ValueError(
                f"{second} must have the labels of {first} in their order, got {shown(theirs)} and "
                f"{shown(ours)}; reindex one of the two, or pass numbers without labels"
            )


def _labels(value: Any) -> list[Any] | None:
    for name in ("columns", "index"):
        labels = getattr(value, name, None)
        if labels is not None and not callable(labels) and _length(labels):
            return list(labels)
    return None


def generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` when it is a numpy random generator."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name} must be a numpy.random.Generator, got {shown(value)}")
    return value


def offering(name: str, value: Any, *methods: str) -> Any:
    """Return `value` when it is an object (not a class) with these methods."""
    missing = [word for word in methods if not callable(getattr(value, word, None))]
    if missing or isinstance(value, type):
        needed = " and ".join(f".{word}(…)" for word in methods)
        raise TypeError(f"{name} must be an object with {needed}, got {shown(value)}")
    return value


def instance(name: str, value: Any, kind: type) -> Any:
    """Return `value` when it is an object of this class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {shown(value)}")
    return value


def items(name: str, value: Any) -> tuple[Any, ...]:
    """Return the entries of a list or tuple, or of another finite collection but text."""
    if isinstance(value, (str, *_BYTES)) or not 0 <= _length(value, -1) <= _MOST_ENTRIES:
        raise TypeError(f"{name} must be a list, got {shown(value)}")
    try:
        return tuple(value)
    except Exception:
        raise TypeError(f"{name} must be a list, got {shown(value)}") from None


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`, so that a value object cannot be changed from outside."""
    view = array.view()
    view.flags.writeable = False
    return view


def numbers(name: str, value: Any, allowed: str) -> NDArray[Any]:
    """Return `value` as an array of whole or floating-point numbers, before any other check.

    Refused are text and bytes, ragged lists, masked entries, booleans and complex numbers.
    """
    array = _array(name, value, allowed)
    kind = array.dtype.kind
    if kind == "O":
        largest = max((one for one in array.flat if type(one) is int), key=abs, default=0)
        if abs(largest) > LARGEST:
            raise ValueError(f"{name} must be {allowed} of at most 2^62, got {shown(largest)}")
        if isinstance(value, np.ndarray) or hasattr(value, "dtype"):
            kind_of = "an array of Python objects (dtype object): give it a numeric type"
            raise TypeError(f"{name} must be {allowed}, got {kind_of}, as by .astype(float)")
    if kind not in "iuf":
        raise TypeError(f"{name} must be {allowed}, got {shown(value)}")
    return array


def _array(name: str, value: Any, allowed: str) -> NDArray[Any]:
    if type(value) is np.ndarray:
        return value
    entries = value if isinstance(value, (list, tuple)) else ()
    refused = (
        isinstance(value, _BYTES)
        or np.ma.is_masked(value)
        or any(
            np.ma.is_masked(entry) or isinstance(entry, (bool, np.bool_, *_BYTES))
            for entry in entries
        )
    )
    if refused or (not isinstance(value, np.ndarray) and _length(value) > _MOST_ENTRIES):
        raise TypeError(f"{name} must be {allowed}, got {shown(value)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.asarray(value)
    except Exception:
        # A ragged list, or an object that fails when it is turned into an array.
        raise ValueError(f"{name} must be {allowed}, got {shown(value)}") from None


def _length(value: Any, without: int = 0) -> int:
    try:
        return len(value)
    except TypeError:
        return without
    except Exception:
        return _MOST_ENTRIES + 1


def counts(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only (k,) array of whole, non-negative counts with k at least 2."""
    return _counts(name, value, "a vector of at least 2 counts", 1)


def count_table(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only (..., k) array of whole, non-negative counts with k at least 2."""
    return _counts(name, value, "rows of at least 2 counts", 64)


def _counts(name: str, value: ArrayLike, allowed: str, most_axes: int) -> NDArray[np.int64]:
    array = numbers(name, value, f"{allowed}, whole numbers")
    if not 1 <= array.ndim <= most_axes or array.shape[-1] < 2:
        raise ValueError(f"{name} must be {allowed}, got shape {array.shape}")
    return _whole(name, array)


def count_array(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only array of whole, non-negative numbers of any shape."""
    return _whole(name, np.atleast_1d(numbers(name, value, "whole numbers")))


def _whole(name: str, array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            bad = array[~np.isfinite(array)].item(0)
            raise ValueError(f"{name} must be finite whole numbers, got {bad!r}")
        broken = (array != np.floor(array)) | (np.abs(array) > _LARGEST_EXACT_FLOAT)
        if np.any(broken):
            raise ValueError(f"{name} must be whole numbers, got {array[broken].item(0)!r}")
    if (array < 0).any():
        raise ValueError(f"{name} must be at least 0, got {array[array < 0].item(0)!r}")
    # Sums of floats are right to a part in 10^15, where sums of int64 would wrap around.
    totals = array.sum(axis=-1, dtype=np.float64)
    if (totals > LARGEST).any():
        raise ValueError(f"{name} must have a sum of at most 2^62, got {float(totals.max())!r}")
    return frozen(array.astype(np.int64))


def whole_numbers(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return a read-only array of whole numbers of any shape, given as integers."""
    array = numbers(name, value, "whole numbers")
    if array.dtype.kind == "f" and array.size:
        raise TypeError(f"{name} must be whole numbers, got {shown(value)}")
    if np.any(array > LARGEST) or np.any(array < -LARGEST):
        raise ValueError(f"{name} must be whole numbers of at most 2^62, got {shown(value)}")
    return frozen(array.astype(np.int64))


def sizes(name: str, value: ArrayLike) -> list[int]:
    """Return a list of data sizes, whole numbers of at least 1."""
    array = whole_numbers(name, value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a list of at least one data size, got {shown(value)}")
    return [integer(name, int(n), minimum=1) for n in array]


def real_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 array of finite numbers of any shape."""
    array = numbers(name, value, "real numbers")
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].item(0)
        raise ValueError(f"{name} must be finite, got {bad!r}")
    return frozen(array.astype(np.float64))


def real_vector(name: str, value: ArrayLike, minimum: int = 1) -> NDArray[np.float64]:
    """Return a read-only vector of at least `minimum` finite numbers."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size < minimum:
        allowed = f"a vector of at least {minimum} numbers"
        raise ValueError(f"{name} must be {allowed}, got shape {array.shape}")
    return array


def positive_vector(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only vector of positive, finite numbers, of length `size` when given."""
    array = positive_array(name, value)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} must be a vector of at least 2 numbers, got shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have {size} entries, one a category, got {array.size}")
    with np.errstate(over="ignore"):
        if not math.isfinite(float(array.sum())):
            raise ValueError(f"{name} must have a finite sum, got {shown(array)}")
    return array


def positive_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only array of positive, finite numbers of any shape."""
    array = real_array(name, value)
    if (array <= 0).any():
        raise ValueError(f"{name} must be positive and finite, got {array[array <= 0].item(0)!r}")
    return array


def prior(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return the (k,) prior parameters of a Dirichlet distribution as a read-only array."""
    return positive_vector(name, value, size)


def counts_and_prior(
    counts_value: ArrayLike, prior_value: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return counts and prior, checked one by one and against each other."""
    same_labels(counts=counts_value, prior=prior_value)
    whole = counts("counts", counts_value)
    return whole, prior("prior", prior_value, whole.size)


def pair_of_counts(
    counts_value: ArrayLike, neighbour_value: ArrayLike, prior_value: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return counts, another histogram over the same categories, and the prior, all checked."""
    same_labels(counts=counts_value, neighbour=neighbour_value, prior=prior_value)
    whole, parameters = counts_and_prior(counts_value, prior_value)
    other = counts("neighbour", neighbour_value)
    if other.size != whole.size:
        raise ValueError(f"neighbour must have {whole.size} entries, got {shown(neighbour_value)}")
    return whole, other, parameters


def proportions(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only vector of at least 2 shares, each at least 0, that sum to 1."""
    shares = real_vector(name, value, minimum=2)
    if np.any(shares < 0.0) or abs(float(shares.sum()) - 1.0) > 1e-9:
        raise ValueError(f"{name} must be at least 0 and sum to 1, got {shown(value)}")
    return shares
