"""Decisions, budgets and costs: against E's definitions, OpenDP, closed forms and exact
losses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import tables
from dpbayes.study import query_history
from dpbayes.study.linear_queries import worked_example
from dpbayes.tables.decision import (
    Policy,
    State,
    decide,
    empty_state,
    shortest_affordable,
)
from dpbayes.tables.noise import as_float

CELLS = 4
questions = st.lists(st.integers(-2, 2), min_size=CELLS, max_size=CELLS).filter(any)
streams = st.lists(st.tuples(questions, st.floats(5.0, 300.0)), min_size=1, max_size=8)


def asked(
    stream: list[tuple[list[int], float]], policy: Policy, bound: float = 1.0
) -> State:
    state = empty_state(CELLS, policy)
    for row, length in stream:
        query = np.array(row, dtype=float)
        made = decide(state, query, length, 0.05, bound)
        if made.outcome == "fresh":
            scale = as_float(made.scale_units)
            state = state.after(query, scale, 0.0)
    return state


@settings(max_examples=40, deadline=None)
@given(streams, questions, st.floats(5.0, 300.0))
def test_an_answer_has_the_length_that_was_asked_for(
    stream: list[tuple[list[int], float]], row: list[int], length: float
) -> None:
    state = asked(stream, Policy())
    made = decide(state, np.array(row, dtype=float), length, 0.05, 1.0)
    if made.outcome == "rejected":
        assert made.law is None
        return
    assert made.law is not None
    assert made.law.log_tail(0.5 * length) <= math.log(0.025) + 1e-9
    assert (made.scale_units == 0) == (made.outcome == "derived")


@settings(max_examples=40, deadline=None)
@given(streams, st.sampled_from(["cells", "sequential"]))
def test_the_bound_is_never_passed(
    stream: list[tuple[list[int], float]], rule: str
) -> None:
    policy = Policy(accounting=rule)
    state = asked(stream, policy, bound=0.3)
    assert state.spent <= 0.3


def test_the_estimate_is_unbiased() -> None:
    rng = np.random.default_rng(3)
    history = [([1, 1, 0, 0], 60.0), ([1, 0, 1, 0], 50.0), ([0, 1, 1, 0], 40.0)]
    state = asked(history, Policy())
    query = np.array([1.0, 0.0, 0.0, 0.0])
    made = decide(state, query, 30.0, 0.05, 1.0)
    assert made.outcome == "fresh"
    for x in rng.integers(0, 50, (5, CELLS)):
        exact = np.array([np.dot(row, x) for row, _ in history]) / state.scales
        estimate = made.history_weights @ exact + made.fresh_share * (query @ x)
        assert estimate == pytest.approx(float(query @ x), abs=1e-9)


def test_a_query_that_no_neighbour_changes_needs_no_private_system() -> None:
    state = empty_state(2, Policy(neighbours="replace-one"))
    with pytest.raises(ValueError, match="its answer is public"):
        decide(state, np.ones(2), 10.0, 0.05, 1.0)


def test_an_affordable_length_is_named_however_short_the_one_asked_for() -> None:
    """From the smallest scale of noise to the largest one."""
    query = np.ones(2)
    for bound in (0.01, 1e-6, 1e-11):
        length = shortest_affordable(empty_state(2, Policy()), query, 0.05, bound)
        assert length == pytest.approx(-2.0 * np.log(0.05) / bound, rel=2e-3)


@settings(max_examples=40, deadline=None)
@given(
    streams, questions, st.sampled_from(["cells", "sequential"]), st.floats(0.05, 1.0)
)
def test_the_affordable_length_is_answered_and_a_shorter_one_is_not(
    stream: list[tuple[list[int], float]], row: list[int], rule: str, bound: float
) -> None:
    policy, query = Policy(accounting=rule), np.array(row, dtype=float)
    state = asked(stream, policy, bound)
    length = shortest_affordable(state, query, 0.05, bound)
    if length is None:
        assert decide(state, query, 1e9, 0.05, bound).outcome == "rejected"
        return
    assert decide(state, query, length, 0.05, bound).outcome != "rejected"
    assert decide(state, query, 0.998 * length, 0.05, bound).outcome == "rejected"


EXAMPLE = worked_example()
W0 = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q).noise_weights


@pytest.mark.parametrize(
    ("L", "direct", "aware"),
    [(40.0, 0.1497866137, 0.1102607697), (20.0, 0.2995732274, 0.2807451945)],
)
def test_worked_example(L: float, direct: float, aware: float) -> None:
    assert tables.budget(1.0, L, 0.05) == pytest.approx(direct, abs=5e-11)
    assert tables.allocation(W0, 1.0, L, 0.05).alpha == pytest.approx(aware, abs=5e-11)


@pytest.mark.parametrize("delta", [0.5, 0.05, 0.001])
@pytest.mark.parametrize("L", [1.0, 33.0])
def test_direct_budget_is_opendp_accuracy_to_scale(L: float, delta: float) -> None:
    opendp = pytest.importorskip("opendp.prelude")
    scale = opendp.accuracy_to_laplacian_scale(L / 2, delta)
    assert 1.0 / tables.budget(1.0, L, delta) == pytest.approx(scale, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.1, 50.0),
    st.floats(0.5, 4.0),
    st.floats(1.0, 100.0),
    st.floats(0.001, 0.95),
)
def test_the_joined_interval_is_short_enough_whatever_delta(
    w: float, S: float, L: float, delta: float
) -> None:
    bought = tables.allocation([w, w / 2], S, L, delta)
    held = 2 * tables.NoiseLaw(bought.noise_weights).tail(L / 2)
    assert held <= delta * (1 + 1e-12)
    assert bought.alpha <= tables.budget(S, L, delta) * (1 + 1e-12)
    if bought.alpha > 0:
        assert bought.fresh_share * S / bought.alpha == pytest.approx(
            bought.noise_weights[-1]
        )


def test_joined_weights_are_blue_of_the_longer_history() -> None:
    bought = tables.allocation(W0, 1.0, 40.0, 0.05)
    longer = tables.blue(
        np.vstack([EXAMPLE.H, EXAMPLE.q]),
        np.append(EXAMPLE.scales, 1.0 / bought.alpha),
        EXAMPLE.q,
    )
    np.testing.assert_allclose(longer.noise_weights, bought.noise_weights, rtol=1e-9)


def two_laplace(a: float, b: float, at: float) -> float:
    """Return P[|X + Y| > at] for Laplace X, Y of unequal scales a, b, in closed
    form."""
    return (a * a * math.exp(-at / a) - b * b * math.exp(-at / b)) / (a * a - b * b)


@pytest.mark.parametrize("ratio", [0.6, 1.5, 3.0, 5.57, 40.0])
def test_one_earlier_answer_saves_where_the_closed_form_says(ratio: float) -> None:
    for delta in (0.01, 0.2, 0.36, 0.37, 0.5, 0.7, 0.95):
        length, kappa = 2 * math.log(1 / delta), ratio**2 / (ratio**2 + 1)
        joined = two_laplace((1 - kappa) * ratio, kappa, length / 2)
        bought = tables.allocation([ratio], 1.0, length, delta).alpha
        assert (bought < 1 - 1e-9) == (joined < delta)
        assert bought <= tables.budget(1.0, length, delta)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6),
    st.floats(0.001, 0.95),
    st.floats(0.01, 0.9999),
)
def test_a_budget_smaller_by_a_billionth_would_not_do(
    w: list[float], delta: float, share: float
) -> None:
    length = 2.0 * share * tables.NoiseLaw(w).half_width(delta)
    bought = tables.allocation(w, 1.0, length, delta)
    if bought.fresh_share < 1.0:
        less = tables.combine(w, (1.0 + 1e-9) / bought.alpha)[1]
        assert 2.0 * tables.NoiseLaw(less).tail(0.5 * length) > delta * (1.0 - 1e-13)


def test_cost_of_the_worked_example() -> None:
    assert query_history.privacy_cost(EXAMPLE.H, EXAMPLE.alpha) == pytest.approx(
        0.35, abs=1e-12
    )
    replaced = query_history.privacy_cost(EXAMPLE.H, EXAMPLE.alpha, "replace-one")
    assert replaced == pytest.approx(0.45, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["add-or-remove", "replace-one"]))
def test_cost_is_the_largest_log_ratio_of_densities_and_grows_to_it(
    seed: int, neighbours: str
) -> None:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (6, 5)).astype(float)
    H[:, 0] += ~H.any(axis=1)
    b = rng.uniform(0.1, 5, 6)
    x = rng.integers(0, 5, 5)
    changes = np.eye(5)
    if neighbours == "replace-one":
        changes = (np.eye(5)[:, None] - np.eye(5)[None]).reshape(-1, 5)
    # The ratio of Laplace densities is largest when every answer lies beyond both
    # means.
    worst = 0.0
    for change in changes:
        means, moved = H @ x, H @ (x + change)
        y = np.where(moved >= means, 1e3, -1e3)
        ratio = np.sum((np.abs(y - means) - np.abs(y - moved)) / b)
        worst = max(worst, float(ratio))
    cost = tables.cost_of_scales(H, b, neighbours)
    assert cost == pytest.approx(worst, rel=1e-9, abs=1e-9)
    state = tables.empty_state(5, Policy(neighbours))
    for row, scale in zip(H, b, strict=True):
        state = state.after(row, scale, 0.0)
    assert state.spent == pytest.approx(cost, rel=1e-12)
    assert state.spent >= cost * (1 - 1e-15)
