"""Value objects with arrays: equal if their parts are, hashed by them, short in print."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

_HASHED = 32  # entries of an array that its hash looks at


class ByValue:
    """What compares and hashes by its parts: a base of ``@dataclass(frozen=True,
    eq=False)``.

    The comparison that a dataclass writes itself asks arrays for one truth value and
    fails. Parts declared with ``compare=False`` do not count.
    """

    def _parts(self) -> list[Any]:
        return [
            getattr(self, part.name)
            for part in fields(self)  # type: ignore[arg-type]
            if part.compare
        ]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = zip(self._parts(), other._parts(), strict=True)
        return all(_same(mine, theirs) for mine, theirs in pairs)

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __hash__(self) -> int:
        return hash((type(self).__name__, *map(_hashable, self._parts())))


def plain(values: Any) -> Any:
    """Return an array as it is, and one without an axis as the float that it holds.

    >>> plain(np.array(0.5))
    0.5
    """
    return float(values) if np.ndim(values) == 0 else np.asarray(values)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        floats = all(np.asarray(array).dtype.kind == "f" for array in (one, other))
        return np.array_equal(one, other, equal_nan=floats)
    return bool(one == other)


def _hashable(part: Any) -> Any:
    if not isinstance(part, np.ndarray):
        return part
    entries = part.ravel()[:_HASHED]
    numbers = np.nan_to_num(entries) if part.dtype.kind == "f" else entries
    return part.shape, *numbers.tolist()
