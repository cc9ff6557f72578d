"""What the online system does with a question, against the definitions of E, section 5.1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.tables.decision import Policy, State, decide, empty_state, shortest_affordable
from dpbayes.tables.noise import as_float
from dpbayes.tables.noise_law import NoiseLaw

CELLS = 4
questions = st.lists(st.integers(-2, 2), min_size=CELLS, max_size=CELLS).filter(any)
streams = st.lists(st.tuples(questions, st.floats(5.0, 300.0)), min_size=1, max_size=8)


def asked(stream: list[tuple[list[int], float]], policy: Policy, bound: float = 1.0) -> State:
    state = empty_state(CELLS, policy.neighbours)
    for row, length in stream:
        query = np.array(row, dtype=float)
        made = decide(state, query, length, 0.05, bound, policy)
        if made.outcome == "fresh":
            scale = as_float(made.scale_units)
            state = state.after(query, scale, 0.0, policy.neighbours)
    return state


@settings(max_examples=40, deadline=None)
@given(streams, questions, st.floats(5.0, 300.0))
def test_an_answer_has_the_length_that_was_asked_for(
    stream: list[tuple[list[int], float]], row: list[int], length: float
) -> None:
    state = asked(stream, Policy())
    made = decide(state, np.array(row, dtype=float), length, 0.05, 1.0, Policy())
    if made.outcome == "rejected":
        assert made.law is None
        return
    assert made.law is not None
    assert made.law.log_tail(0.5 * length) <= math.log(0.025) + 1e-9
    assert (made.scale_units == 0) == (made.outcome == "derived")


@settings(max_examples=40, deadline=None)
@given(streams, st.sampled_from(["cells", "sequential"]))
def test_the_bound_is_never_passed(stream: list[tuple[list[int], float]], rule: str) -> None:
    policy = Policy(accounting=rule)
    state = asked(stream, policy, bound=0.3)
    assert state.spent(rule) <= 0.3


@settings(max_examples=30, deadline=None)
@given(streams)
def test_cells_cost_what_a_sum_over_each_cell_says(stream: list[tuple[list[int], float]]) -> None:
    state = empty_state(CELLS, "add-remove")
    budgets = np.zeros(CELLS)
    for row, scale in stream:
        query = np.array(row, dtype=float)
        state = state.after(query, scale, 0.0, "add-remove")
        budgets += np.abs(query) / scale
    assert state.spent("cells") == pytest.approx(float(budgets.max()), rel=1e-12)
    assert state.spent("cells") >= float(budgets.max()) * (1 - 1e-15)
    assert state.spent("sequential") >= state.spent("cells") * (1 - 1e-12)


def test_the_estimate_is_unbiased() -> None:
    rng = np.random.default_rng(3)
    history = [([1, 1, 0, 0], 60.0), ([1, 0, 1, 0], 50.0), ([0, 1, 1, 0], 40.0)]
    state = asked(history, Policy())
    query = np.array([1.0, 0.0, 0.0, 0.0])
    made = decide(state, query, 30.0, 0.05, 1.0, Policy())
    assert made.outcome == "fresh"
    for x in rng.integers(0, 50, (5, CELLS)):
        exact = np.array([np.dot(row, x) for row, _ in history]) / state.scales
        estimate = made.history_weights @ exact + made.fresh_share * (query @ x)
        assert estimate == pytest.approx(float(query @ x), abs=1e-9)


def test_without_inference_the_history_is_of_no_use() -> None:
    row = [([1, 1, 0, 0], 40.0)]
    query = np.array([1.0, 1.0, 0.0, 0.0])
    for policy, outcome in ((Policy(), "derived"), (Policy(inference=False), "fresh")):
        assert decide(asked(row, policy), query, 40.0, 0.05, 1.0, policy).outcome == outcome


def test_a_refusal_can_say_what_would_be_answered() -> None:
    state, query = empty_state(2, "add-remove"), np.array([1.0, 0.0])
    length = shortest_affordable(state, query, 0.05, 0.1, Policy())
    assert length is not None
    assert decide(state, query, length, 0.05, 0.1, Policy()).outcome == "fresh"
    assert decide(state, query, 0.999 * length, 0.05, 0.1, Policy()).outcome == "rejected"
    alone = 2.0 * NoiseLaw([10.0]).half_width(0.05)  # all of the bound on one question
    assert length == pytest.approx(alone, rel=2e-3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"accounting": "none"}, "accounting must be one of cells, sequential"),
        ({"spending": "all"}, "spending must be one of direct, smallest"),
        ({"neighbours": "friends"}, "neighbours must be one of"),
    ],
)
def test_a_policy_names_what_it_does_not_know(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Policy(**changed)


def test_a_query_that_no_neighbour_changes_needs_no_private_system() -> None:
    state = empty_state(2, "replace-one")
    policy = Policy(neighbours="replace-one")
    with pytest.raises(ValueError, match="its answer is public"):
        decide(state, np.ones(2), 10.0, 0.05, 1.0, policy)


def test_an_affordable_length_is_named_however_short_the_one_asked_for() -> None:
    """From the smallest scale of noise to the largest one."""
    query = np.ones(2)
    for bound in (0.01, 1e-6, 1e-11):
        length = shortest_affordable(empty_state(2, "add-remove"), query, 0.05, bound, Policy())
        assert length == pytest.approx(-2.0 * np.log(0.05) / bound, rel=2e-3)


@settings(max_examples=40, deadline=None)
@given(streams, questions, st.sampled_from(["cells", "sequential"]), st.floats(0.05, 1.0))
def test_the_affordable_length_is_answered_and_a_shorter_one_is_not(
    stream: list[tuple[list[int], float]], row: list[int], rule: str, bound: float
) -> None:
    policy, query = Policy(accounting=rule), np.array(row, dtype=float)
    state = asked(stream, policy, bound)
    length = shortest_affordable(state, query, 0.05, bound, policy)
    if length is None:
        assert decide(state, query, 1e9, 0.05, bound, policy).outcome == "rejected"
        return
    assert decide(state, query, length, 0.05, bound, policy).outcome != "rejected"
    assert decide(state, query, 0.998 * length, 0.05, bound, policy).outcome == "rejected"
