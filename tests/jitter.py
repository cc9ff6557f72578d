"""Elementary functions that differ in the last digit, as on another processor or
library build.

    python -m pytest -p tests.jitter dpbayes tests/laws tests/mechanisms

Whatever numpy's, scipy's and Python's logarithms, exponentials and their kin return is
moved to the next float above or below, or left alone. Which of the three is decided by
the bits of the value, so that a value always moves alike and every run is the same. A
doctest or a test that fails so asks for digits that do not travel. Values that are
exact everywhere, 0 and 1 among them, stay.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

MOVED: dict[Any, tuple[str, ...]] = {
    np: ("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tanh"),
    scipy.special: (
        "gammaln",
        "betaln",
        "logsumexp",
        "xlogy",
        "xlog1py",
        "digamma",
        "gamma",
        "erf",
        "erfc",
        "erfcx",
        "ndtr",
        "ndtri",
        "log_ndtr",
        "betainc",
        "betaincinv",
        "gammainc",
        "gammaincc",
    ),
    math: (
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "sin",
        "cos",
        "lgamma",
        "gamma",
    ),
}
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 by the golden ratio: mixes neighbouring floats
SHIFTS = np.array(
    [-1, 1, 0, 0], dtype=np.int64
)  # units in the last place, half of all stay


def moved(values: Any) -> Any:
    """Return an array of floats, each moved by at most one unit in the last place."""
    with np.errstate(all="ignore"):
        bits = np.array(values, dtype=np.float64, order="C").view(np.int64)
        mixed = (bits.view(np.uint64) * np.uint64(GOLDEN)) >> np.uint64(62)
        new = (bits + SHIFTS[mixed.astype(np.intp)]).view(np.float64)
        return np.where((values == np.rint(values)) | ~np.isfinite(values), values, new)


def moved_one(value: float) -> float:
    """Return one float moved as an array's element is."""
    if not math.isfinite(value) or value == round(value):
        return value
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    shift = int(SHIFTS[((bits % 2**64) * GOLDEN % 2**64) >> 62])
    return float(struct.unpack("<d", struct.pack("<q", bits + shift))[0])


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose floats are moved; what it writes elsewhere stays as it
    is.
    """

    @functools.wraps(function)
    def moving(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        if options.get("out") is not None:
            return found
        if isinstance(found, np.ndarray) and found.dtype == np.float64:
            return moved(found) if found.ndim else np.asarray(moved_one(float(found)))
        if isinstance(found, float):  # numpy's are such, too
            return type(found)(moved_one(float(found)))
        return found

    return moving


for module, names in MOVED.items():
    for name in names:
        setattr(module, name, wrapped(getattr(module, name)))
