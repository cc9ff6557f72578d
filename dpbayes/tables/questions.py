"""A question in words about a cube, and what it got."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpbayes.tables.attributes import Bins
from dpbayes.tables.predicate import quoted, written
from dpbayes.tables.workload import Array

if TYPE_CHECKING:
    from dpbayes.tables.table import Cube


@dataclass(frozen=True)
class Question:
    """A question in words, checked: `query` (cells,) on the grid, the longest interval that will
    do, its `delta`, who pays, and an id under which the same answer can be had again.
    """

    text: str
    query: Array
    length: float
    delta: float
    payer: str = ""
    request: str | None = None

    @property
    def asked(self) -> str:
        """What is asked, as text: the same text for the same question only."""
        return json.dumps([self.text, self.length, self.delta])


@dataclass(frozen=True)
class Answer:
    """What a question got.

    `outcome` "derived", "fresh" or "rejected"; `estimate` and `interval`, None when rejected;
    `cost` the epsilon that the account was charged; `spent` the cube's overall cost after it and
    `left` what is left of its bound; `answers` the length of the history it was made from;
    `affordable` about the shortest length that can be had, told when a question is rejected;
    `consistent` the estimate that fits counts of at least 0, where it was asked for.
    """

    question: str
    outcome: str
    estimate: float | None
    interval: tuple[float, float] | None
    confidence: float
    cost: float
    spent: float
    left: float
    answers: int
    affordable: float | None = None
    consistent: float | None = None


def answer_text(answer: Answer) -> str:
    """Return an answer as JSON, from which `answer_from` makes the same one."""
    return json.dumps(asdict(answer))


def answer_from(text: str) -> Answer:
    """Return the answer that `answer_text` wrote down."""
    fields: dict[str, Any] = json.loads(text)
    box = fields.pop("interval")
    return Answer(**fields, interval=None if box is None else (box[0], box[1]))


def by_value(cube: Cube, question: str, attribute: str) -> list[str]:
    """Return the question once for each value or bin of an attribute."""
    found = [a for a in cube.attributes if a.name == attribute]
    if not found:
        known = ", ".join(a.name for a in cube.attributes)
        raise ValueError(f"by must be an attribute of the cube ({known}), got {attribute!r}")
    name, chosen = written(attribute), found[0]
    if isinstance(chosen, Bins):
        each = [f"{name} between {a!r} and {b!r}" for a, b in pairwise(chosen.edges)]
    else:
        values = [quoted(v) if isinstance(v, str) else repr(float(v)) for v in chosen.values]
        each = [f"{name} = {value}" for value in values]
    return [f"({question}) and {one}" for one in each]
