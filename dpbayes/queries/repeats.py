"""A question under an id: sent again it gets the same answer, and no other one goes under its id.

The reply is written beside the answer in the same transaction. So whoever did not hear it, because
a line broke or a process ended, sends the question again and pays once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import shown
from dpbayes.queries.answers import Answer, Source
from dpbayes.queries.intervals import Interval

_REQUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}(#[0-9]{1,9})?")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


Cap = Fraction | Callable[[], Fraction] | None


@dataclass(frozen=True)
class Question:
    """A checked question: its coefficients `query` (cells,), what it wants, who pays, and its id.

    `most` caps its cost, or is a function that returns the cap at the moment it is asked;
    `request` is None where it has no id.

    >>> Question("all", np.ones(2), 40.0, 0.05, request="a").name
    'answer--id-a'
    """

    label: str
    query: NDArray[np.float64]
    L: float
    delta: float
    consistent: bool = False
    payer: str = ""
    most: Cap = None
    request: str | None = None

    @property
    def name(self) -> str:
        """What the request is called in ledger and account; one payer's are not another's."""
        return "" if self.request is None else f"answer-{self.payer}-id-{self.request}"

    @property
    def asked(self) -> str:
        """Return what is asked, as text: the same text for the same question only."""
        if self.request is None:
            return ""
        digest = hashlib.sha256(self.query.astype("<f8").tobytes()).hexdigest()
        return json.dumps([self.label, digest, self.L, self.delta, self.consistent])


def question_of(label: str, query: NDArray[np.float64], asked: str) -> Question:
    """Return the question behind the text `Question.asked`, without payer and id.

    >>> one = Question("all", np.ones(2), 40.0, 0.05, request="a")
    >>> question_of("all", np.ones(2), one.asked).L
    40.0
    """
    _, _, length, delta, consistent = json.loads(asked)
    return Question(label, query, float(length), float(delta), bool(consistent))


def checked_request(request: object, parts: bool = False) -> str:
    """Return the id of a request, or raise ValueError; `parts` allows "#" and a number after it.

    >>> checked_request("tuesday-1")
    'tuesday-1'
    >>> checked_request("tuesday 1")
    Traceback (most recent call last):
        ...
    ValueError: request must be 1 to 64 letters, digits, '.', '_' and '-', got 'tuesday 1'
    """
    pattern = _REQUEST if parts else _PLAIN
    if not isinstance(request, str) or not pattern.fullmatch(request):
        raise ValueError(
            f"request must be 1 to 64 letters, digits, '.', '_' and '-', got {shown(request)}"
        )
    return request


def answer_text(answer: Answer) -> str:
    """Return an answer as text from which `answer_from` makes the same one.

    >>> from dpbayes.queries import QueryServer
    >>> answer = QueryServer([10, 20, 30], bound=1.0).ask("all", L=40.0, delta=0.05)
    >>> answer_from(answer_text(answer)) == answer
    True
    """
    return json.dumps(asdict(answer))


def answer_from(text: str) -> Answer:
    """Return the answer that `answer_text` wrote down."""
    fields = json.loads(text)
    sources = tuple(Source(**source) for source in fields.pop("sources"))
    interval = fields.pop("interval")
    return Answer(
        **fields, sources=sources, interval=None if interval is None else Interval(**interval)
    )
