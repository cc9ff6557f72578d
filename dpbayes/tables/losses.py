"""What one record may have lost to all answers so far, worked out without the table.

A record lies in a cell. Where it can be left out of all counts, because rows with
values that were not declared are dropped, that is a value like any other: a cell in
which every question has the coefficient 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate as check
from dpbayes.tables.inference import Array
from dpbayes.tables.units import RELATIONS

MOST_TOLD_APART = 4096  # one float64 for each pair of groups of cells: 128 MiB


def difference(first: Array, second: Array) -> Array:
    """Return |first - second|, never below the exact value.

    >>> float(difference(np.array(1.0), np.array(2.0**-60))) > 1 - 2**-60
    True
    """
    found = first - second
    back = found - first
    rest = (first - (found - back)) - (second + back)  # what rounding took, exactly
    return np.where(rest == 0.0, np.abs(found), np.nextafter(np.abs(found), np.inf))


@dataclass(frozen=True)
class Losses:
    """An upper bound on what each record has lost, or each pair of values a record
    may take.

    `groups` (cells,) numbers the cells that no answer has told apart, with one more
    cell where records can be `dropped` and one is replaced; `lost` (g,) for a record
    more or less, (g, g) for one replaced, one number where the largest changes are
    `added`.

    >>> begun = no_losses(2, "replace-one", dropped=True)
    >>> query = np.array([100.0, 101.0])
    >>> begun.change(query), no_losses(2, "replace-one").change(query)
    (101.0, 1.0)
    """

    replaced: bool
    dropped: bool
    added: bool
    groups: NDArray[np.int64]
    lost: Array

    @property
    def spent(self) -> float:
        """The overall cost so far."""
        return float(self.lost.max())

    def change(self, query: Array) -> float:
        """Return by how much one record can change a query: its sensitivity."""
        values = np.unique(self._values(query))
        if self.replaced:
            return float(difference(values[-1], values[0]))
        return float(np.abs(values).max())

    def after(self, query: Array, scale: float) -> Losses:
        """Return the losses once a query has been answered with noise of this scale."""
        groups, lost, change = self._told_apart(query)
        cost = np.nextafter(change / scale, np.inf)
        lost = np.where(change > 0.0, np.nextafter(lost + cost, np.inf), lost)
        return replace(self, groups=groups, lost=check.frozen(lost))

    def room(self, query: Array, bound: float) -> float:
        """Return the largest 1 / scale with which a query can still be answered within
        a bound.
        """
        _, lost, change = self._told_apart(query)
        left = (bound - lost[change > 0.0]) / change[change > 0.0]
        return max(float(left.min()), 0.0)

    def _values(self, query: Array) -> Array:
        """Return the coefficient of each value that a record may take."""
        return np.append(query, 0.0) if self.replaced and self.dropped else query

    def _told_apart(self, query: Array) -> tuple[NDArray[np.int64], Array, Array]:
        """Return the groups that also this query does not tell apart, their losses so
        far, and what a record changes of the query.
        """
        if self.added:
            return self.groups, self.lost, np.array([self.change(query)])
        values = self._values(query)
        different, place = np.unique(values, return_inverse=True)
        keys = self.groups * different.size + place
        _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
        old, value = self.groups[first], values[first]
        if not self.replaced:
            return groups, self.lost[old], np.abs(value)
        if first.size > MOST_TOLD_APART:
            raise ValueError(
                f"questions must tell at most {MOST_TOLD_APART} groups of cells apart"
                f" where a record is replaced, got {first.size}: ask for coarser ones"
            )
        lost = self.lost[np.ix_(old, old)]
        return groups, lost, difference(value[:, None], value[None, :])


def no_losses(
    cells: int, neighbours: str, dropped: bool = False, added: bool = False
) -> Losses:
    """Return the losses before the first answer about a number of cells."""
    replaced = check.choice("neighbours", neighbours, RELATIONS) == "replace-one"
    places = check.integer("cells", cells, 1) + (replaced and dropped)
    lost = np.zeros((1, 1)) if replaced and not added else np.zeros(1)
    none = np.zeros(places, dtype=np.int64)
    return Losses(replaced, dropped, added, none, check.frozen(lost))
