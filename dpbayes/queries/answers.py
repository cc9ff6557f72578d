"""What a question got: the answer, and the earlier answers it was combined from."""

from __future__ import annotations

from dataclasses import dataclass

from dpbayes.queries.intervals import Interval


@dataclass(frozen=True)
class Source:
    """An earlier answer in an estimate: number, label, weight A_i, share of the variance.

    >>> from dpbayes.queries import QueryServer
    >>> server = QueryServer([10, 20, 30], bound=1.0)
    >>> bought = server.ask("cell < 2", L=40.0, delta=0.05)
    >>> source = server.ask("cell < 2", L=50.0, delta=0.05).sources[0]
    >>> source.number, source.label, round(source.weight, 9), round(source.variance_share, 9)
    (1, 'cell < 2', 1.0, 1.0)
    """

    number: int
    label: str
    weight: float
    variance_share: float


@dataclass(frozen=True)
class Answer:
    """What a question got.

    `outcome` "derived", "fresh" or "rejected"; `estimate` and `interval`, None when rejected;
    `cost` budget of the fresh answer alone; `spent` overall cost after it; `remaining` what is left
    of the bound; `sources` the earlier answers it was combined from; `number` of the fresh answer
    in the ledger. `affordable` is the shortest interval that the bound still allows, to a
    thousandth of its length, told when a question is rejected, None where there is none.
    `consistent` is the estimate that fits counts of at least 0, where it was asked for: biased, and
    without an interval of its own.

    >>> from dpbayes.queries import QueryServer
    >>> server = QueryServer([10, 20, 30], bound=1.0)
    >>> answer = server.ask("cell < 2", L=40.0, delta=0.05)
    >>> answer.outcome, answer.number, answer.label, round(answer.remaining, 6)
    ('fresh', 1, 'cell < 2', 0.850213)
    >>> round(server.ask("all", L=1.0, delta=0.05).affordable, 1)
    7.1
    """

    outcome: str
    label: str
    estimate: float | None
    interval: Interval | None
    cost: float
    spent: float
    remaining: float
    sources: tuple[Source, ...]
    number: int | None
    affordable: float | None = None
    consistent: float | None = None
