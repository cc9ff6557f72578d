"""Argument checks shared by all modules.

Every refusal has one form: "<argument> must be <what is allowed>, got <value>".
"""

from __future__ import annotations

import itertools
import math
import reprlib
import warnings
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

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


def _refuse(
    name: str, allowed: str, value: Any, kind: type[Exception] = ValueError, verb: str = "be "
) -> NoReturn:
    raise kind(f"{name} must {verb}{allowed}, got {shown(value)}") from None


# ---- single values
def real(name: str, value: Any, allowed: str = "a real number") -> float:
    """Return `value` as a finite float, refusing booleans, text and arrays."""
    refused = isinstance(value, (bool, np.bool_, np.complexfloating))
    if refused or not isinstance(value, (int, float, np.number)):
        _refuse(name, allowed, value, TypeError)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _refuse(name, "finite", value)
    return number


def positive(name: str, value: Any) -> float:
    """Return `value` as a float greater than zero."""
    number = real(name, value)
    return number if number > 0.0 else _refuse(name, "positive and finite", value)


def non_negative(name: str, value: Any) -> float:
    """Return `value` as a float that is at least zero."""
    number = real(name, value)
    return number if number >= 0.0 else _refuse(name, "at least 0", value)


def open_unit(name: str, value: Any) -> float:
    """Return `value` as a float strictly between zero and one."""
    number = real(name, value)
    inside = 0.0 < number < 1.0
    return number if inside else _refuse(name, "strictly between 0 and 1", value, verb="lie ")


def closed_unit(name: str, value: Any) -> float:
    """Return `value` as a float between zero and one, ends included."""
    number = real(name, value)
    return number if 0.0 <= number <= 1.0 else _refuse(name, "between 0 and 1", value, verb="lie ")


def integer(name: str, value: Any, minimum: int | None = None, maximum: int = LARGEST) -> int:
    """Return `value` as an int, at least `minimum` when that is given and at most `maximum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        _refuse(name, "an integer", value, TypeError)
    if minimum is not None and value < minimum:
        _refuse(name, f"an integer of at least {minimum}", value)
    if abs(int(value)) > maximum:
        limit = "2^62" if maximum == LARGEST else str(maximum)
        _refuse(name, f"an integer of at most {limit}", value)
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` when it is one of the allowed words."""
    if not isinstance(value, str):
        _refuse(name, "a string", value, TypeError)
    if value not in allowed:
        _refuse(name, f"one of {', '.join(sorted(allowed))}", value)
    return str(value)


def flag(name: str, value: Any) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(name, "True or False", value, TypeError)
    return bool(value)


def generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` when it is a numpy random generator."""
    if not isinstance(value, np.random.Generator):
        _refuse(name, "a numpy.random.Generator", value, TypeError)
    return value


def offering(name: str, value: Any, *methods: str) -> Any:
    """Return `value` when it is an object (not a class) with these methods."""
    missing = [word for word in methods if not callable(getattr(value, word, None))]
    if missing or isinstance(value, type):
        needed = " and ".join(f".{word}(…)" for word in methods)
        _refuse(name, f"an object with {needed}", value, TypeError)
    return value


def instance(name: str, value: Any, kind: type) -> Any:
    """Return `value` when it is an object of this class."""
    return (
        value if isinstance(value, kind) else _refuse(name, f"a {kind.__name__}", value, TypeError)
    )


def items(name: str, value: Any) -> tuple[Any, ...]:
    """Return the entries of a list or tuple, or of another finite collection but text."""
    if isinstance(value, (str, *_BYTES)) or not 0 <= _length(value, -1) <= _MOST_ENTRIES:
        _refuse(name, "a list", value, TypeError)
    try:
        return tuple(value)
    except Exception:
        _refuse(name, "a list", value, TypeError)


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


def _length(value: Any, without: int = 0) -> int:
    try:
        return len(value)
    except TypeError:
        return without
    except Exception:
        return _MOST_ENTRIES + 1


# ---- arrays
def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`, so that a value object cannot be changed from outside."""
    view = array.view()
    view.flags.writeable = False
    return view


def _numbers(name: str, value: Any, allowed: str) -> NDArray[Any]:
    """Return `value` as an array of whole or floating-point numbers, before any other check.

    Refused are text and bytes, ragged lists, masked entries, booleans and complex numbers.
    """
    array = _array(name, value, allowed)
    if array.dtype.kind == "O":
        largest = max((one for one in array.flat if type(one) is int), key=abs, default=0)
        if abs(largest) > LARGEST:
            _refuse(name, f"{allowed} of at most 2^62", largest)
        if isinstance(value, np.ndarray) or hasattr(value, "dtype"):
            raise TypeError(
                f"{name} must be {allowed}, got an array of Python objects (dtype object): give it "
                "a numeric type, as by .astype(float)"
            )
    if array.dtype.kind not in "iuf":
        _refuse(name, allowed, value, TypeError)
    return array


def _array(name: str, value: Any, allowed: str) -> NDArray[Any]:
    if type(value) is np.ndarray:
        return value
    entries = value if isinstance(value, (list, tuple)) else ()
    wrong = any(isinstance(entry, (bool, np.bool_, *_BYTES)) for entry in entries)
    masked = any(np.ma.is_masked(one) for one in (value, *entries))
    endless = not isinstance(value, np.ndarray) and _length(value) > _MOST_ENTRIES
    if wrong or masked or endless or isinstance(value, _BYTES):
        _refuse(name, allowed, value, TypeError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.asarray(value)
    except Exception:  # a ragged list, or an object that fails when it is turned into an array
        _refuse(name, allowed, value)


def _each(name: str, allowed: str, array: NDArray[Any], holds: NDArray[np.bool_]) -> None:
    # Refuse an array for the first entry of which it does not hold.
    if not holds.all():
        raise ValueError(f"{name} must be {allowed}, got {array[~holds].item(0)!r}")


def counts(name: str, value: ArrayLike) -> Whole:
    """Return a read-only (k,) array of whole, non-negative counts with k at least 2."""
    return _counts(name, value, "a vector of at least 2 counts", 1)


def count_table(name: str, value: ArrayLike) -> Whole:
    """Return a read-only (..., k) array of whole, non-negative counts with k at least 2."""
    return _counts(name, value, "rows of at least 2 counts", 64)


def _counts(name: str, value: ArrayLike, allowed: str, most_axes: int) -> Whole:
    array = _numbers(name, value, f"{allowed}, whole numbers")
    if not 1 <= array.ndim <= most_axes or array.shape[-1] < 2:
        raise ValueError(f"{name} must be {allowed}, got shape {array.shape}")
    return count_array(name, array)


def count_array(name: str, value: ArrayLike) -> Whole:
    """Return a read-only array of whole, non-negative numbers of any shape."""
    array = np.atleast_1d(_numbers(name, value, "whole numbers"))
    if array.dtype.kind == "f":
        _each(name, "finite whole numbers", array, np.isfinite(array))
        whole = (array == np.floor(array)) & (np.abs(array) <= _LARGEST_EXACT_FLOAT)
        _each(name, "whole numbers", array, whole)
    _each(name, "at least 0", array, array >= 0)
    # Sums of floats are right to a part in 10^15, where sums of int64 would wrap around.
    totals = array.sum(axis=-1, dtype=np.float64)
    if (totals > LARGEST).any():
        raise ValueError(f"{name} must have a sum of at most 2^62, got {float(totals.max())!r}")
    return frozen(array.astype(np.int64))


def whole_numbers(name: str, value: ArrayLike) -> Whole:
    """Return a read-only array of whole numbers of any shape, given as integers."""
    array = _numbers(name, value, "whole numbers")
    if array.dtype.kind == "f" and array.size:
        _refuse(name, "whole numbers", value, TypeError)
    if np.any(array > LARGEST) or np.any(array < -LARGEST):
        _refuse(name, "whole numbers of at most 2^62", value)
    return frozen(array.astype(np.int64))


def sizes(name: str, value: ArrayLike) -> list[int]:
    """Return a list of data sizes, whole numbers of at least 1."""
    array = whole_numbers(name, value)
    if array.ndim != 1 or array.size == 0:
        _refuse(name, "a list of at least one data size", value)
    return [integer(name, int(n), minimum=1) for n in array]


def real_array(name: str, value: ArrayLike) -> Floats:
    """Return a read-only float64 array of finite numbers of any shape."""
    array = _numbers(name, value, "real numbers")
    _each(name, "finite", array, np.isfinite(array))
    return frozen(array.astype(np.float64))


def real_vector(name: str, value: ArrayLike, minimum: int = 1) -> Floats:
    """Return a read-only vector of at least `minimum` finite numbers."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size < minimum:
        allowed = f"a vector of at least {minimum} numbers"
        raise ValueError(f"{name} must be {allowed}, got shape {array.shape}")
    return array


def positive_array(name: str, value: ArrayLike) -> Floats:
    """Return a read-only array of positive, finite numbers of any shape."""
    array = real_array(name, value)
    _each(name, "positive and finite", array, array > 0)
    return array


def positive_vector(name: str, value: ArrayLike, size: int | None = None) -> Floats:
    """Return a read-only vector of positive, finite numbers, of length `size` when given."""
    array = real_vector(name, positive_array(name, value), minimum=2)
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have {size} entries, one a category, got {array.size}")
    with np.errstate(over="ignore"):
        if not math.isfinite(float(array.sum())):
            _refuse(name, "a finite sum", array, verb="have ")
    return array


prior = positive_vector
"""The (k,) prior parameters of a Dirichlet distribution."""


def proportions(name: str, value: ArrayLike) -> Floats:
    """Return a read-only vector of at least 2 shares, each at least 0, that sum to 1."""
    shares = real_vector(name, value, minimum=2)
    if np.any(shares < 0.0) or abs(float(shares.sum()) - 1.0) > 1e-9:
        _refuse(name, "at least 0 and sum to 1", value)
    return shares


def counts_and_prior(counts_value: ArrayLike, prior_value: ArrayLike) -> tuple[Whole, Floats]:
    """Return counts and prior, checked one by one and against each other."""
    same_labels(counts=counts_value, prior=prior_value)
    whole = counts("counts", counts_value)
    return whole, prior("prior", prior_value, whole.size)


def pair_of_counts(
    counts_value: ArrayLike, neighbour_value: ArrayLike, prior_value: ArrayLike
) -> tuple[Whole, Whole, Floats]:
    """Return counts, another histogram over the same categories, and the prior, all checked."""
    same_labels(counts=counts_value, neighbour=neighbour_value, prior=prior_value)
    whole, parameters = counts_and_prior(counts_value, prior_value)
    other = counts("neighbour", neighbour_value)
    if other.size != whole.size:
        _refuse("neighbour", f"{whole.size} entries", neighbour_value, verb="have ")
    return whole, other, parameters
