"""Value objects with arrays: equal if their parts are, hashed by them, short in
print."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from typing import Any

import numpy as np

_HASHED = 32  # entries of an array that its hash looks at
_WIDTH, _LINES = 88, 5  # of what is printed at most
_ENTRIES = 8  # of an array or a tuple that are all printed, and rows of a table


class Shown:
    """What prints in five lines at most, and as a small table in a notebook: a base of
    ``@dataclass(repr=False)``.
    """

    def _shown(self) -> Mapping[str, object]:
        """Return what is printed, by name: the parts with ``repr=True``."""
        return {
            part.name: getattr(self, part.name)
            for part in fields(self)  # type: ignore[arg-type]
            if part.repr
        }

    def __repr__(self) -> str:
        parts = (f"{name}={brief(value)}" for name, value in self._shown().items())
        text = f"{type(self).__name__}({', '.join(parts)})"
        lines = textwrap.wrap(
            text, _WIDTH, subsequent_indent="    ", max_lines=_LINES, placeholder=" …)"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a table: a column for each vector of one length, a line for the
        rest.
        """
        shown = dict(self._shown())
        labels = shown.pop("labels", ())
        vectors = {name: v for name, v in shown.items() if np.ndim(_array(v)) == 1}
        size = max((len(_array(v)) for v in vectors.values()), default=0)
        columns = {n: _array(v) for n, v in vectors.items() if len(_array(v)) == size}
        rest = {n: brief(v) for n, v in shown.items() if n not in columns}
        if labels:
            columns = {"category": labels, **columns}
        lines = [[_cell(column[i]) for column in columns.values()]
                 for i in range(min(size, _ENTRIES))]  # fmt: skip
        if size > _ENTRIES:
            lines.append([f"… {size} in all", *[""] * (len(columns) - 1)])
        caption = ", ".join(f"{name} = {value}" for name, value in rest.items())
        return _table(f"{type(self).__name__}: {caption}".rstrip(": "), columns, lines)


class ByValue(Shown):
    """What compares and hashes by its parts: a base of ``@dataclass(frozen=True,
    eq=False, repr=False)``.

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


def brief(value: Any) -> str:
    """Return a value on one line, with the middle of what is long left out.

    >>> brief(np.arange(100)), brief((1, 2))
    ('[ 0, 1, 2, ..., 97, 98, 99]', '(1, 2)')
    """
    if isinstance(value, tuple) and len(value) > _ENTRIES:
        first = ", ".join(map(brief, value[:3]))
        return f"({first}, … {len(value)} in all)"
    with np.printoptions(threshold=_ENTRIES, edgeitems=3):
        if isinstance(value, np.ndarray):
            return " ".join(np.array2string(value, separator=", ").split())
        return " ".join(repr(value).split())


def _array(value: object) -> Any:
    # Numbers in a row, as an array or a tuple; all else is no vector.
    if isinstance(value, np.ndarray):
        return value
    numbers = isinstance(value, tuple) and value and isinstance(value[0], int | float)
    return np.asarray(value) if numbers else None


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return brief(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(caption: str, columns: Mapping[str, Any], lines: list[list[str]]) -> str:
    def row(cells: list[str], tag: str) -> str:
        inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    head = row(list(columns), "th") if columns else ""
    body = "".join(row(line, "td") for line in lines)
    return f"<table><caption>{escape(caption)}</caption>{head}{body}</table>"


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
