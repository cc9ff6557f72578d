"""What one record may have lost to all answers so far, worked out without the table.

A record lies in a cell. Where it can be left out of all counts, because rows with
values that were not declared are dropped, that is a value like any other: a cell in
which every question has the coefficient 0. Cells that no question has told apart are
looked at together, so that a cube of many cells needs room for few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate as check
from dpbayes.tables.inference import Array

MOST_TOLD_APART = 4096  # one float64 for each pair of groups of cells: 128 MiB
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Cells by groups that no question has told apart: number of each cell's group, and
    size of each group.
    """

    of_cell: Whole
    sizes: Whole

    def split(self, values: Array) -> Split:
        """Return the groups that a query with these coefficients leaves together.

        >>> all_together(3).split(np.array([2.0, 0.0, 2.0]))[1:]
        (array([0, 0]), array([0., 2.]), array([1.        , 1.41421356]))
        """
        different = np.unique(values)
        keys = self.of_cell * different.size
        keys += np.searchsorted(different, values)
        there = np.bincount(keys, minlength=self.sizes.size * different.size)
        number = np.cumsum(there > 0) - 1
        of_cell = number[keys]
        one = np.zeros(int(number[-1]) + 1, dtype=np.int64)
        one[of_cell] = np.arange(values.size)  # some cell of each group
        old, sizes = self.of_cell[one], there[there > 0]
        groups = Groups(check.frozen(of_cell), check.frozen(sizes))
        return Split(groups, old, values[one], np.sqrt(sizes))


class Split(NamedTuple):
    """New groups; of each the old group that it was part of, its coefficient in the
    query, and the length of its cells' vector of ones.
    """

    groups: Groups
    old: Whole
    values: Array
    lengths: Array


def all_together(cells: int) -> Groups:
    """Return one group of all cells."""
    return Groups(check.frozen(np.zeros(cells, np.int64)), np.array([cells]))


def difference(first: Array, second: Array) -> Array:
    """Return |first - second|, never below the exact value.

    >>> bool(difference(np.array(1.0), np.array(-(2.0**-60))) > 1.0)
    True
    """
    found = first - second
    back = found - first
    rest = (first - (found - back)) - (second + back)  # what rounding took, exactly
    return np.where(rest == 0.0, np.abs(found), np.nextafter(np.abs(found), np.inf))


def largest_change(values: Array, replaced: bool) -> float:
    """Return by how much one record changes a query with these coefficients."""
    if replaced:
        return float(difference(values.max(), values.min()))
    return float(np.abs(values).max())


def changes_of_groups(values: Array, replaced: bool) -> Array:
    """Return by how much a record changes a query: of each group, or pair of groups if
    replaced.
    """
    if not replaced:
        return np.asarray(np.abs(values))
    if values.size > MOST_TOLD_APART:
        raise ValueError(
            f"questions must tell at most {MOST_TOLD_APART} groups of cells apart where"
            f" a record is replaced, got {values.size}: ask for coarser ones"
        )
    return difference(values[:, None], values[None, :])


def of_new_groups(lost: Array, old: Whole, replaced: bool) -> Array:
    """Return what each new group, or pair of groups, has lost so far."""
    return lost[np.ix_(old, old)] if replaced else lost[old]


def lost_after(lost: Array, change: Array, scale: float) -> Array:
    """Return losses, rounded up, after noise of this scale on such changes."""
    cost = np.nextafter(change / scale, np.inf)
    return np.where(change > 0.0, np.nextafter(lost + cost, np.inf), lost)
