"""Who is protected: one record, or one person with at most so many; bounds on the safe
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dpbayes._validate import choice, integer, shown

MOST_KEPT = 1_000_000
MOST_POWER = 230  # e^230 is 1e100
WORTHLESS = 10  # an epsilon above it multiplies odds by more than 22,000
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
        replaced = neighbours == RELATIONS[0]
        if self.person is None:
            return (
                "The unit is one record: for a person with m records the epsilon is m"
                " times as large."
            )
        times = decimal_text(Fraction(2 if replaced else 4, self.keep), "up", 3)
        if replaced:
            return (
                f"The unit is {self}, whose records are exchanged for as many. A record"
                " of one person replaced by a record of another is not covered where"
                " it changes the number of counted records, which is public; where"
                f" that number stays, the epsilon for it is at most {times} times this"
                " one."
            )
        return (
            f"The unit is {self}. A record of one person replaced by a record of"
            " another can change two counted records of each: the epsilon for it is"
            f" at most {times} times this one."
        )

    def odds(self, epsilon: Fraction, neighbours: str) -> Odds:
        """Return what a promise of `epsilon` for this unit and relation means in odds.

        Replaced records (`neighbours` "replace-one", n public): the answers of one unit
        are covered with epsilon. One more or less ("add-or-remove"): whether a unit is
        in the table is covered with epsilon; other answers are the unit taken away and
        another one added, so they are covered with 2 epsilon. One of the `keep` records
        of a person has the keep-th part. Book: `thm-odds`, `thm-group`.

        >>> Unit("id", 2).odds(Fraction(1), "add-or-remove").answer
        Fraction(2, 1)
        """
        choice("neighbours", neighbours, RELATIONS)
        replaced = neighbours == RELATIONS[0]
        answer = epsilon if replaced else 2 * epsilon
        presence = None if replaced else epsilon
        return Odds(self, answer, answer / self.keep, presence)


@dataclass(frozen=True)
class Odds:
    """By how much a release can move odds about one unit: factors e^exponent at most.

    `answer` is the exponent of the odds between any two answers (or sets of answers) of
    one unit, `record` of those between two answers in one of its records, `presence`
    of those on whether it is in the table, None where the number of records is public.

    >>> odds: Odds = Unit().odds(Fraction(1), "add-or-remove")
    >>> odds.text(odds.presence), odds.text(odds.answer)
    ('2.72', '7.39')
    """

    unit: Unit
    answer: Fraction
    record: Fraction
    presence: Fraction | None = None

    @staticmethod
    def factor(exponent: Fraction | float) -> float:
        """Return the factor e^exponent on odds."""
        return math.exp(exponent)

    @staticmethod
    def text(exponent: Fraction) -> str:
        """Return e^exponent in three digits that are not too few.

        >>> Odds.text(Fraction(1)), Odds.text(Fraction(10)), Odds.text(Fraction(1, 100))
        ('2.72', '22,100', '1.02')
        """
        if exponent > MOST_POWER:
            return "more than 1e+100"
        factor = Odds.factor(exponent) * (1 + 1e-12)
        step = 10.0 ** (max(math.floor(math.log10(factor)), 0) - 2)
        rounded = math.ceil(factor / step) * step
        return (
            f"{rounded:.3g}"
            if rounded >= 1e6
            else f"{rounded:,.{2 if step < 1 else 0}f}"
        )

    @staticmethod
    def chance(exponent: Fraction | float, before: float = 0.5) -> float:
        """Return the largest probability of a guess after the release, from `before`.

        >>> round(Odds.chance(Fraction(1)), 4)
        0.7311
        """
        return before / (before + (1.0 - before) * Odds.factor(-exponent))

    @property
    def sentence(self) -> str:
        """What the promise means for one unit, in odds that grow from even ones."""
        whose = "record" if self.unit.person is None else "person"
        answers = "answer" if self.unit.keep == 1 else "answers"
        told = (
            f"Somebody who knows everything about the others can come from even odds on"
            f" one {whose}'s {answers} to at most {self.text(self.answer)} to 1"
        )
        if self.presence is not None:
            told += (
                f", and on whether one {whose} is in the table to at most"
                f" {self.text(self.presence)} to 1"
            )
        if self.answer > WORTHLESS:
            return f"At an epsilon this large the promise is of little worth. {told}."
        return f"{told}."


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
