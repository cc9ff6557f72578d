"""A stream decided without data, against a server that really answers it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.decision import Policy
from dpbayes.queries.streams import answered_shares, stream

ROOT = Path(__file__).parents[2]

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


def unrelated(seed: int) -> tuple[np.ndarray, bool]:
    """Return a stream, and whether no question is a combination of those before it."""
    asked = queries.random_ranges((64,), 25, np.random.default_rng(seed))
    ranks = [np.linalg.matrix_rank(asked[: i + 1]) for i in range(len(asked))]
    return asked, ranks == list(range(1, len(asked) + 1))


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0])
def test_without_a_question_that_others_determine_both_budgets_are_the_same(bound: float) -> None:
    smallest, direct = Policy(), Policy(spending="direct")
    seen = 0
    for seed in range(60):
        asked, none = unrelated(seed)
        if none:
            seen += 1
            first, second = (stream(asked, 40.0, 0.05, bound, one) for one in (smallest, direct))
            assert first.outcomes == second.outcomes
            assert np.array_equal(first.spent, second.spent)
    assert seen >= 5


def test_without_a_derived_answer_the_budgets_may_still_differ() -> None:
    asked, none = unrelated(3)
    assert not none
    smallest, direct = Policy(), Policy(spending="direct")
    first, second = (stream(asked, 40.0, 0.05, 1.0, one) for one in (smallest, direct))
    assert first.count("derived") == second.count("derived") == 0
    assert first.answered[-1] > second.answered[-1]


def test_the_page_says_when_both_budgets_are_the_same() -> None:
    text = (ROOT / "notebooks" / "queries" / "myopic-budget.ipynb").read_text(encoding="utf-8")
    assert "where none of them is a combination of" in text
    assert "where few of them" not in text


def test_per_cell_answers_twice_as_many_where_most_ranges_share_a_cell_as_well() -> None:
    asked = queries.random_ranges((4, 16), 30, np.random.default_rng(0))
    shared = (asked != 0).astype(int) @ (asked != 0).T.astype(int) > 0
    assert shared[np.triu_indices(30, 1)].mean() > 0.5
    rules = (Policy(accounting="sequential", inference=False), Policy(inference=False))
    everything, cells = (stream(asked, 40.0, 0.05, 0.2, rule).answered[-1] for rule in rules)
    assert cells > 2.0 * everything > 0.0
    text = (ROOT / "notebooks" / "queries" / "online-system.ipynb").read_text(encoding="utf-8")
    assert "most ranges do not touch the same cells" not in text
    assert "the cell that most ranges touch is in {busiest:.0%} of them" in text
