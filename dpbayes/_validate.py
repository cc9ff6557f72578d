"""Argument checks shared by all modules.

Every refusal has one form: "<argument> must be <what is allowed>, got <value>".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LARGEST = 2**62
"""Counts, their totals and all whole-number arguments are at most this."""

_LARGEST_EXACT_FLOAT = 2.0**53
_BYTES = (bytes, bytearray, memoryview)


def shown(value: Any) -> str:
    """Return a value as a message shows it: `repr`, cut where it is long, whatever it
    is.
    """
    if isinstance(value, int) and abs(value) >= 10**100:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, np.ndarray) and value.size > 20:
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _refuse(
    name: str, duty: str, value: Any, kind: type[ValueError | TypeError] = ValueError
) -> NoReturn:
    raise kind(f"{name} must {duty}, got {shown(value)}") from None


# ---- single values
def real(name: str, value: Any) -> float:
    """Return `value` as a finite float, refusing booleans, text and arrays."""
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers):
        _refuse(name, "be a real number", value, TypeError)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return number if math.isfinite(number) else _refuse(name, "be finite", value)


def _real_where(
    holds: Callable[[float], bool], duty: str
) -> Callable[[str, Any], float]:
    def check(name: str, value: Any) -> float:
        number = real(name, value)
        return number if holds(number) else _refuse(name, duty, value)

    return check


positive = _real_where(lambda x: x > 0.0, "be positive and finite")
non_negative = _real_where(lambda x: x >= 0.0, "be at least 0")
open_unit = _real_where(lambda x: 0.0 < x < 1.0, "lie strictly between 0 and 1")
closed_unit = _real_where(lambda x: 0.0 <= x <= 1.0, "lie between 0 and 1")


def integer(
    name: str, value: Any, minimum: int | None = None, maximum: int = LARGEST
) -> int:
    """Return `value` as an int, at least `minimum` when that is given and at most
    `maximum`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        _refuse(name, "be an integer", value, TypeError)
    if minimum is not None and value < minimum:
        _refuse(name, f"be an integer of at least {minimum}", value)
    if abs(int(value)) > maximum:
        limit = "2^62" if maximum == LARGEST else maximum
        _refuse(name, f"be an integer of at most {limit}", value)
    return int(value)


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` when it is one of the allowed words."""
    if not isinstance(value, str):
        _refuse(name, "be a string", value, TypeError)
    if value not in allowed:
        _refuse(name, f"be one of {', '.join(sorted(allowed))}", value)
    return str(value)


def flag(name: str, value: Any) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(name, "be True or False", value, TypeError)
    return bool(value)


def instance(name: str, value: Any, kind: type) -> Any:
    """Return `value` when it is an object of this class."""
    if not isinstance(value, kind):
        _refuse(name, f"be a {kind.__name__}", value, TypeError)
    return value


def generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` when it is a numpy random generator."""
    if not isinstance(value, np.random.Generator):
        _refuse(name, "be a numpy.random.Generator", value, TypeError)
    return value


def path(name: str, value: Any) -> Path:
    """Return `value` as a path; a table in memory is to be written to a file first."""
    if isinstance(value, (str, Path)):
        return Path(value)
    if hasattr(value, "to_parquet"):
        raise TypeError(
            f"{name} must be the path of a file, got a {type(value).__name__}: write it"
            f" with to_parquet('{name}.parquet') and give that path"
        )
    _refuse(name, "be the path of a file", value, TypeError)


def offering(name: str, value: Any, *methods: str) -> Any:
    """Return `value` when it is an object (not a class) with these methods."""
    missing = [word for word in methods if not callable(getattr(value, word, None))]
    if missing or isinstance(value, type):
        needed = " and ".join(f".{word}(…)" for word in methods)
        _refuse(name, f"be an object with {needed}", value, TypeError)
    return value


def items(name: str, value: Any) -> tuple[Any, ...]:
    """Return the entries of a list, a tuple or another collection with a length, but
    text.
    """
    with suppress(Exception):  # what cannot be counted or read is no list
        if not isinstance(value, (str, *_BYTES)) and len(value) >= 0:
            return tuple(value)
    _refuse(name, "be a list", value, TypeError)


def same_labels(**values: Any) -> None:
    """Refuse arguments whose labels (a pandas index or columns) differ, or their
    order."""
    known = {
        name: labels for name, value in values.items() if (labels := labels_of(value))
    }
    for (first, ours), (second, theirs) in itertools.pairwise(known.items()):
        if ours != theirs:
            raise ValueError(
                f"{second} must have the labels of {first} in their order, got"
                f" {shown(theirs)} and {shown(ours)}; reindex one of the two, or pass"
                " numbers without labels"
            )


def labels_of(value: Any) -> tuple[Any, ...]:
    """Return the labels of a pandas object, its columns or else its index; () without.

    >>> labels_of([3, 4])
    ()
    """
    for name in ("columns", "index"):
        labels = getattr(value, name, ())
        if hasattr(labels, "__len__") and len(labels):
            return tuple(labels)
    return ()


# ---- arrays
def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`, so that a value object cannot be changed from
    outside.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _numbers(name: str, value: Any, duty: str) -> NDArray[Any]:
    """Return `value` as an array of whole or floating-point numbers, before any other
    check.
    """
    entries = value if isinstance(value, (list, tuple)) else ()
    wrong = isinstance(value, _BYTES) or any(
        isinstance(one, (bool, np.bool_)) for one in entries
    )
    if wrong or any(np.ma.is_masked(one) for one in (value, *entries)):
        _refuse(name, duty, value, TypeError)
    try:
        array = np.asarray(value)
    except (
        Exception
    ):  # a ragged list, or an object that fails when it is turned into an array
        _refuse(name, duty, value)
    if array.dtype == object:
        duty += ", at most 2^62 and of a numeric dtype"
    return array if array.dtype.kind in "iuf" else _refuse(name, duty, value, TypeError)


def _doubles(array: NDArray[Any]) -> Floats:
    # Half precision overflows in sums; what long doubles hold may be inf in doubles.
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _each(name: str, duty: str, array: NDArray[Any], holds: NDArray[np.bool_]) -> None:
    # Refuse an array for the first entry of which it does not hold.
    if not holds.all():
        _refuse(name, duty, array[~holds].item(0))


def counts(
    name: str, value: ArrayLike, size: int | None = None, rows: bool = False
) -> Whole:
    """Return a read-only (k,) array, or (..., k) of `rows`, of counts with k at least
    2.
    """
    duty = (
        "be rows of at least 2 counts" if rows else "be a vector of at least 2 counts"
    )
    array = _numbers(name, value, f"{duty}, whole numbers")
    if array.ndim == 0 or (array.ndim > 1 and not rows) or array.shape[-1] < 2:
        _refuse(name, duty, value)
    if size is not None and array.shape[-1] != size:
        _refuse(name, f"have {size} entries", value)
    return count_array(name, array)


def count_array(name: str, value: ArrayLike) -> Whole:
    """Return a read-only array of whole, non-negative numbers of any shape."""
    array = np.atleast_1d(_numbers(name, value, "be whole numbers"))
    if array.dtype.kind == "f":
        array = _doubles(array)
        _each(name, "be finite whole numbers", array, np.isfinite(array))
        whole = (array == np.floor(array)) & (np.abs(array) <= _LARGEST_EXACT_FLOAT)
        _each(name, "be whole numbers", array, whole)
    _each(name, "be at least 0", array, array >= 0)
    # Sums of floats are right to a part in 10^15, where sums of int64 would wrap
    # around.
    totals = np.atleast_1d(array.sum(axis=-1, dtype=np.float64))
    _each(name, "have a sum of at most 2^62", totals, totals <= LARGEST)
    return frozen(array.astype(np.int64))


def whole_numbers(name: str, value: ArrayLike) -> Whole:
    """Return a read-only array of whole numbers of any shape, given as integers."""
    array = _numbers(name, value, "be whole numbers")
    if array.dtype.kind == "f" and array.size:
        _refuse(name, "be whole numbers", value, TypeError)
    _each(
        name,
        "be whole numbers of at most 2^62",
        array,
        (array <= LARGEST) & (array >= -LARGEST),
    )
    return frozen(array.astype(np.int64))


def sizes(name: str, value: ArrayLike) -> list[int]:
    """Return a list of data sizes, whole numbers of at least 1."""
    array = whole_numbers(name, value)
    if array.ndim != 1 or array.size == 0:
        _refuse(name, "be a list of at least one data size", value)
    return [integer(name, n, minimum=1) for n in array.tolist()]


def real_array(name: str, value: ArrayLike) -> Floats:
    """Return a read-only float64 array of finite numbers of any shape."""
    array = _doubles(_numbers(name, value, "be real numbers"))
    _each(name, "be finite", array, np.isfinite(array))
    return frozen(array)


def real_vector(name: str, value: ArrayLike, minimum: int = 1) -> Floats:
    """Return a read-only vector of at least `minimum` finite numbers."""
    array = real_array(name, value)
    if array.ndim != 1 or array.size < minimum:
        _refuse(name, f"be a vector of at least {minimum} numbers", value)
    return array


def positive_array(name: str, value: ArrayLike) -> Floats:
    """Return a read-only array of positive, finite numbers of any shape."""
    array = real_array(name, value)
    _each(name, "be positive and finite", array, array > 0)
    return array


def prior(name: str, value: ArrayLike, size: int | None = None) -> Floats:
    """Return Dirichlet parameters: at least 2 positive, finite numbers, `size` when
    given.
    """
    array = real_vector(name, positive_array(name, value), minimum=2)
    if size is not None and array.size != size:
        raise ValueError(
            f"{name} must have {size} entries, one a category, got {array.size}"
        )
    with np.errstate(over="ignore"):
        return (
            array
            if np.isfinite(array.sum())
            else _refuse(name, "have a finite sum", array)
        )


def proportions(name: str, value: ArrayLike) -> Floats:
    """Return a read-only vector of at least 2 shares, each at least 0, that sum to
    1."""
    shares = real_vector(name, value, minimum=2)
    if np.any(shares < 0.0) or abs(float(shares.sum()) - 1.0) > 1e-9:
        _refuse(name, "be at least 0 and sum to 1", value)
    return shares


def counts_and_prior(
    counts_value: ArrayLike, prior_value: ArrayLike
) -> tuple[Whole, Floats]:
    """Return counts and prior, checked one by one and against each other."""
    same_labels(counts=counts_value, prior=prior_value)
    whole = counts("counts", counts_value)
    return whole, prior("prior", prior_value, whole.size)
