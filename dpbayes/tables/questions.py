"""A question in words about a cube, and what it got."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbayes._validate import shown
from dpbayes.tables.workload import Array

if TYPE_CHECKING:
    from dpbayes.tables.answering import Answering

_FIELDS = {"question", "length", "confidence", "consistent", "by", "request"}
_REQUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
class Wish:
    """What somebody asks for, checked as far as it can be without the cube."""

    question: str
    length: float
    confidence: float = 0.95
    consistent: bool = False
    by: str | None = None
    request: str | None = None

    @property
    def asked(self) -> str:
        """What is asked once for each value, as text: the same text for the same wish only."""
        return json.dumps([self.question, self.by, self.length, self.confidence])


@dataclass(frozen=True)
class Answer:
    """What a question got.

    `outcome` "derived", "fresh" or "rejected"; `estimate` and `interval`, None when rejected;
    `cost` the epsilon that the account was charged; `spent` the cube's overall cost after it and
    `left` what is left of its bound; `history` the number of answers it was made from or is one of;
    `affordable` about the shortest length that can be had, told when a question is rejected;
    `consistent` the estimate that fits counts of at least 0, where it was asked for.

    >>> answer = Answer("all", "fresh", 61.5, (41.5, 81.5), 0.95, 0.15, 0.15, 0.85, 1)
    >>> answer_from(answer_text(answer)) == answer
    True
    """

    question: str
    outcome: str
    estimate: float | None
    interval: tuple[float, float] | None
    confidence: float
    cost: float
    spent: float
    left: float
    history: int
    affordable: float | None = None
    consistent: float | None = None


def wished(fields: Any) -> Wish:
    """Return what fields ask for, or raise ValueError naming the one that is wrong.

    >>> wished({"question": "all", "length": 40}).confidence
    0.95
    """
    if not isinstance(fields, dict) or not {"question", "length"} <= fields.keys() <= _FIELDS:
        raise ValueError(
            "a question must have the fields question, length and, if wanted, confidence, "
            "consistent, by and request"
        )
    wish = Wish(**fields)
    for name, kind, said in (
        ("question", str, "text"),
        ("length", (int, float), "a number"),
        ("confidence", (int, float), "a number"),
        ("consistent", bool, "true or false"),
        ("by", (str, type(None)), "the name of an attribute"),
        ("request", (str, type(None)), "an id"),
    ):
        value = getattr(wish, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and name != "consistent"):
            raise ValueError(f"{name} must be {said}, got {shown(value)}")
    if wish.request is not None and not _REQUEST.fullmatch(wish.request):
        raise ValueError(
            f"request must be 1 to 64 letters, digits, '.', '_' and '-', got {shown(wish.request)}"
        )
    if not 0.0 < 1.0 - wish.confidence < 1.0:
        raise ValueError(
            "confidence must lie strictly between 0 and 1, by 2e-16 at least, got "
            f"{shown(wish.confidence)}"
        )
    return wish


def parts(answering: Answering, wish: Wish, payer: str = "") -> list[Question]:
    """Return the questions of a wish, one for each value of `by`; no account is looked at."""
    delta, request = 1.0 - wish.confidence, wish.request
    whole = answering.question(wish.question, wish.length, delta, payer=payer, request=request)
    if wish.by is None:
        return [whole]
    attributes = answering.cube.attributes
    axes = [axis for axis, one in enumerate(attributes) if one.name == wish.by]
    if not axes:
        known = ", ".join(one.name for one in attributes)
        raise ValueError(f"by must be an attribute of the cube ({known}), got {wish.by!r}")
    place = np.indices(answering.cube.shape)[axes[0]].reshape(-1)
    found = []
    for i, label in enumerate(attributes[axes[0]].labels):
        query = np.where(place == i, whole.query, 0.0)
        if query.any():
            text = f"({wish.question}) and {wish.by} = {label}"
            one = request and f"{request}#{i}"
            found.append(replace(whole, text=text, query=query, request=one))
    return found


def answer_text(answer: Answer) -> str:
    """Return an answer as JSON, from which `answer_from` makes the same one."""
    return json.dumps(asdict(answer))


def answer_from(text: str) -> Answer:
    """Return the answer that `answer_text` wrote down."""
    fields: dict[str, Any] = json.loads(text)
    box = fields.pop("interval")
    return Answer(**fields, interval=None if box is None else (box[0], box[1]))
