"""Who is protected: one record, or one person with at most so many records."""

from __future__ import annotations

from dataclasses import dataclass

from dpbayes._validate import integer, shown

MOST_KEPT = 1_000_000
RELATIONS = ("replace-one", "add-or-remove")


def column(name: str, value: object) -> None:
    """Raise ValueError unless a value is the name of a column."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"{name} must be the name of a column, got {shown(value)}")


@dataclass(frozen=True)
class Unit:
    """The privacy unit: a record (`person` None), or a person of whom `keep` records count.

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
            raise ValueError(f"keep must be used with person, got {self.keep} without one")

    def __str__(self) -> str:
        if self.person is None:
            return "one record"
        most = f"at most {self.keep} records of each" if self.keep > 1 else "one record of each"
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
                "The unit is one record: for a person with m records the epsilon is m times as "
                "large."
            )
        counted = ", whose records are exchanged for as many" if neighbours == RELATIONS[0] else ""
        return (
            f"The unit is {self}{counted}. A record of one person replaced by a record of another "
            "changes two people, and moves up to two counted records of each: for that the epsilon "
            "is up to twice as large."
        )


RECORD = Unit()
