"""The columns that a plan declares: their categories, or the edges at which numbers are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from dpbayes.releasing.plan_file import PlanFile

_LARGEST_EDGE = 1e300


@dataclass(frozen=True)
class Column:
    """One declared column: `labels` in their order; `edges` when it is numeric and cut there."""

    name: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.labels)


def joined(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return one text a cell, the last column fastest."""
    return tuple(", ".join(cell) for cell in product(*(column.labels for column in columns)))


def texts(file: PlanFile, key: str, values: Iterable[Any]) -> list[str]:
    """Return the values of a key if all are texts, or raise PlanError."""
    listed = list(values)
    if not all(isinstance(value, str) for value in listed):
        raise file.fail(key, "texts", listed)
    if any("\0" in value for value in listed):
        raise file.fail(key, "texts without null characters", listed)
    return listed


def column(file: PlanFile, name: str, declared: Any) -> Column:
    """Return what is declared of a column, or raise PlanError."""
    if isinstance(declared, dict):
        return _numeric(file, name, declared)
    if not isinstance(declared, list):
        raise file.fail("categories", f"a list, or edges that increase, for {name}", declared)
    labels = texts(file, "categories", declared)
    if not labels or len(set(labels)) != len(labels):
        raise file.fail("categories", f"at least one, all different, for {name}", declared)
    if not all(label.isprintable() for label in labels):
        raise file.fail("categories", f"in letters that can be printed, for {name}", labels)
    return Column(name, tuple(labels))


def _numeric(file: PlanFile, name: str, declared: dict[str, Any]) -> Column:
    edges = declared.get("edges")
    if set(declared) != {"edges"} or not isinstance(edges, list) or not _increase(edges):
        raise file.fail("categories", f"a list, or edges that increase, for {name}", declared)
    cuts = tuple(float(edge) for edge in edges)
    shown = [f"{cut:g}" for cut in cuts]
    if len(set(shown)) < len(shown):
        shown = [repr(cut) for cut in cuts]
    return Column(name, tuple(f"{a} to {b}" for a, b in pairwise(shown)), cuts)


def _increase(edges: list[Any]) -> bool:
    """Return whether these are at least two finite numbers, each above the one before."""
    numbers = [e for e in edges if isinstance(e, (int, float)) and not isinstance(e, bool)]
    if len(numbers) < len(edges) or not all(abs(e) <= _LARGEST_EDGE for e in numbers):
        return False
    floats = [float(e) for e in numbers]
    return len(edges) >= 2 and all(a < b for a, b in pairwise(floats))
