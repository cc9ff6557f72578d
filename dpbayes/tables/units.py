"""Who is protected: one record, or one person with at most so many; bounds on the safe
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dpbayes._validate import integer, shown

MOST_KEPT = 1_000_000
RELATIONS = ("replace-one", "add-or-remove")


def column(name: str, value: object) -> None:
    """Raise ValueError unless a value is the name of a column."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"{name} must be the name of a column, got {shown(value)}")


@dataclass(frozen=True)
class Unit:
    """The privacy unit: a record (`person` None), or a person of whom `keep` records
    count.

    >>> print(Unit(), "/", Unit("id", 3))
    one record / one person (column 'id', at most 3 records of each)
    """

    person: str | None = None
    keep: int = 1

    def __post_init__(self) -> None:
        if self.person is not None:
            column("person", self.person)
        integer("keep", self.keep, 1, MOST_KEPT)
        if self.person is None and self.keep != 1:
            raise ValueError(
                f"keep must be used with person, got {self.keep} without one"
            )

    def __str__(self) -> str:
        if self.person is None:
            return "one record"
        most = (
            f"at most {self.keep} records of each"
            if self.keep > 1
            else "one record of each"
        )
        return f"one person (column {self.person!r}, {most})"

    def differ_by(self, neighbours: str) -> str:
        """Return in words how neighbouring tables differ."""
        replaced = neighbours == RELATIONS[0]
        if self.keep == 1:
            what = "one record" if self.person is None else "one person"
            return f"{what} {'replaced' if replaced else 'more or less'}"
        how = "replaced by as many others" if replaced else "added or taken away"
        return f"the at most {self.keep} counted records of one person {how}"

    def holds_for(self, neighbours: str) -> str:
        """Return for whom a guarantee holds, and for what change it does not."""
        if self.person is None:
            return (
                "The unit is one record: for a person with m records the epsilon is m"
                " times as large."
            )
        counted = (
            ", whose records are exchanged for as many"
            if neighbours == RELATIONS[0]
            else ""
        )
        return (
            f"The unit is {self}{counted}. A record of one person replaced by a record"
            " of another changes two people, and moves up to two counted records of"
            " each: for that the epsilon is up to twice as large."
        )


RECORD = Unit()


def decimal_text(value: Fraction, direction: str, digits: int = 6) -> str:
    """Return a decimal at least ("up") or at most ("down") as large, exact where
    `digits` suffice.

    Where so many digits behind the point would show less than three of a value, it has
    three.

    >>> decimal_text(Fraction(1, 3), "down"), decimal_text(Fraction(1, 3 * 10**9), "up")
    ('0.333333', '3.34e-10')
    """
    up, scaled = direction == "up", value * 10**digits
    if 0 < scaled < 100 and scaled.denominator > 1:
        three = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
        found = three.divide(
            Decimal(value.numerator), Decimal(value.denominator)
        ).normalize(three)
        return f"{found:f}" if found.adjusted() >= -6 else f"{found:e}"
    whole, rest = divmod(math.ceil(scaled) if up else math.floor(scaled), 10**digits)
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number and what it counts; `more` than one is `one` with s unless
    given."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
