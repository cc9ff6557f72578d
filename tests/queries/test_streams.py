"""A stream decided without data, against a server that really answers it."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.decision import Policy
from dpbayes.queries.streams import answered_shares, stream

RNG = np.random.default_rng(11)
QUESTIONS = RNG.integers(0, 2, (25, 5)).astype(float)
QUESTIONS[~QUESTIONS.any(axis=1)] = 1.0
LENGTHS = RNG.uniform(20.0, 120.0, 25)


@pytest.mark.parametrize("bound", [0.2, 1.0])
@pytest.mark.parametrize("rule", ["cells", "sequential"])
def test_a_server_with_data_does_the_same(bound: float, rule: str) -> None:
    policy = Policy(accounting=rule)
    seen = stream(QUESTIONS, LENGTHS, 0.05, bound, policy)
    server = queries.QueryServer.simulated(
        np.array([3, 0, 7, 1, 9]), bound, np.random.default_rng(1), accounting=rule
    )
    for row, length, outcome, spent in zip(
        QUESTIONS, LENGTHS, seen.outcomes, seen.spent, strict=True
    ):
        answer = server.ask(row, L=float(length), delta=0.05)
        assert answer.outcome == outcome
        assert server.spent == pytest.approx(float(spent), rel=1e-12)


def test_counts_and_shares_are_those_of_the_outcomes() -> None:
    seen = stream(QUESTIONS, 40.0, 0.05, 0.5, Policy())
    words = ("fresh", "derived", "rejected")
    assert sum(seen.count(word) for word in words) == len(QUESTIONS)
    got = [outcome != "rejected" for outcome in seen.outcomes]
    assert seen.answered == pytest.approx([np.mean(got[: i + 1]) for i in range(len(got))])
    refused = seen.first_rejection
    assert all(got[: refused - 1])
    assert refused > len(got) or not got[refused - 1]
    assert np.all(np.diff(seen.spent) >= 0.0)


def test_a_larger_bound_answers_the_same_questions_and_more() -> None:
    bounds = (0.05, 0.2, 0.8, 3.2)
    shares = answered_shares(QUESTIONS, bounds, 40.0, 0.05, Policy())
    assert np.all(np.diff(shares) >= 0.0)
    assert shares[-1] == 1.0
    single = [stream(QUESTIONS, 40.0, 0.05, bound, Policy()).answered[-1] for bound in bounds]
    assert shares == pytest.approx(single)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delta": 1.0}, "delta must"),
        ({"bound": 0.0}, "bound must"),
        ({"lengths": -1.0}, "lengths must"),
        ({"questions": [1.0, 0.0]}, "questions must be a matrix"),
    ],
)
def test_refusals_name_the_argument(changed: dict[str, object], message: str) -> None:
    given = {"questions": [[1.0, 0.0]], "lengths": 10.0, "delta": 0.05, "bound": 1.0}
    with pytest.raises(ValueError, match=message):
        stream(**{**given, **changed}, policy=Policy())
