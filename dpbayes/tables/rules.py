"""What is done with rows that fit no cell; which texts stand for a missing value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dpbayes._validate import choice, shown
from dpbayes.tables.attributes import Attribute, Categories
from dpbayes.tables.units import RECORD, Unit

REFUSE, DROP = "refuse", "drop"
MISSING_VALUES = (
    *("", "NA", "N/A", "NaN", "NULL", "None", "-", ".", "?"),
    *("#N/A", "<NA>", "NaT"),  # of spreadsheets, and of pandas
)


def _spelled(text: str) -> str:
    return text.strip().casefold()


@dataclass(frozen=True)
class Rules:
    """What is done with rows that fit no cell, and what counts one row.

    `outside` is "refuse" or "drop". `missing` is "refuse", "drop" or a label, which
    counts them where an attribute lists it and refuses them where not: the texts in
    `missing_values`, in capitals or not, with blanks around or without; where it is not
    given, it is what `outside` is. `count` is a column of numbers of records, where
    `once` says that each cell has one row at most. A value that an attribute lists is
    never missing.

    >>> Rules(outside="drop").missing, Rules().is_missing(" n/a "), Rules().drops
    ('drop', True, False)
    """

    unit: Unit = RECORD
    outside: str = REFUSE
    missing: str = ""
    missing_values: tuple[str, ...] = MISSING_VALUES
    count: str | None = None
    once: bool = False

    def __post_init__(self) -> None:
        choice("outside", self.outside, (REFUSE, DROP))
        object.__setattr__(self, "missing", self.missing or self.outside)
        object.__setattr__(self, "missing_values", tuple(self.missing_values))
        if self.count is not None and self.unit.person is not None:
            why = f"got {self.count!r}: a row would stand for several people"
            raise ValueError(
                f"count must not be used where the unit is a person, {why}"
            )

    @property
    def drops(self) -> bool:
        """Whether a record can be left out of all counts by the values it has."""
        return DROP in (self.outside, self.missing)

    def is_missing(self, text: str) -> bool:
        """Return whether a text stands for a missing value."""
        return _spelled(text) in self._spellings

    def names_nobody(self, text: str) -> bool:
        """Return whether a text in the column that identifies people names nobody."""
        return not text.strip() or self.is_missing(text)

    @cached_property
    def _spellings(self) -> frozenset[str]:
        return frozenset(map(_spelled, self.missing_values))

    def statement(self) -> list[object]:
        """Return what decides which rows count, in a form that is the same for the same
        rules.
        """
        what = self.unit.person, self.unit.keep, self.outside, self.missing, self.count
        return [*what, *sorted(self._spellings)]

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Raise ValueError where the rules do not suit the attributes."""
        if self.count in [one.name for one in attributes]:
            raise ValueError(
                f"count must be a column that is no attribute, got {self.count!r}: one"
                " record would move all the others of its row to another cell"
            )
        known = {label for one in attributes for label in one.labels}
        if self.missing not in (REFUSE, DROP) and self.missing not in known:
            raise ValueError(
                'missing must be "refuse", "drop" or a value that an attribute lists'
                f" ({', '.join(sorted(known)[:9])}), got {self.missing!r}"
            )
        for one in attributes:
            listed = one.labels if isinstance(one, Categories) else ()
            twice = [v for v in listed if v != self.missing and self.is_missing(v)]
            if twice and self.missing_values != MISSING_VALUES:
                raise ValueError(
                    f"missing_values must not have what {one.name} lists as a value,"
                    f" got {shown(twice[0])}"
                )
