"""Budgets against OpenDP, the worked example and the law; the overall cost against exact losses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import tables
from dpbayes.study.linear_queries import worked_example

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
@given(st.floats(0.1, 50.0), st.floats(0.5, 4.0), st.floats(1.0, 100.0), st.floats(0.001, 0.95))
def test_the_joined_interval_is_short_enough_whatever_delta(
    w: float, S: float, L: float, delta: float
) -> None:
    bought = tables.allocation([w, w / 2], S, L, delta)
    held = 2 * tables.NoiseLaw(bought.noise_weights).tail(L / 2)
    assert held <= delta * (1 + 1e-12)
    assert bought.alpha <= tables.budget(S, L, delta) * (1 + 1e-12)
    if bought.alpha > 0:
        assert bought.fresh_share * S / bought.alpha == pytest.approx(bought.noise_weights[-1])


def test_history_that_suffices_costs_nothing() -> None:
    bought = tables.allocation(W0, 1.0, 63.0, 0.05)
    assert bought.alpha == 0.0
    assert tables.allocation(W0, 1.0, 62.0, 0.05).alpha > 0.0


def test_joined_weights_are_blue_of_the_longer_history() -> None:
    bought = tables.allocation(W0, 1.0, 40.0, 0.05)
    longer = tables.blue(
        np.vstack([EXAMPLE.H, EXAMPLE.q]), np.append(EXAMPLE.scales, 1.0 / bought.alpha), EXAMPLE.q
    )
    np.testing.assert_allclose(longer.noise_weights, bought.noise_weights, rtol=1e-9)


def test_above_one_over_e_joining_can_hurt_and_is_not_done() -> None:
    delta, L = 0.8, 2.0
    alpha = tables.budget(1.0, L, delta)
    w0 = np.array([3.0 / alpha])
    joined = tables.combine(w0, 1.0 / alpha)[1]
    assert 2 * tables.NoiseLaw(joined).tail(L / 2) > 1.02 * delta
    safe = tables.allocation(w0, 1.0, L, delta)
    assert safe.history_share == 0.0
    assert safe.alpha == alpha


def test_smaller_budget_would_not_do() -> None:
    bought = tables.allocation(W0, 1.0, 40.0, 0.05)
    less = tables.combine(W0, (1 + 1e-6) / bought.alpha)[1]
    assert 2 * tables.NoiseLaw(less).tail(20.0) > 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tables.budget(0.0, 1.0, 0.1), "S must be positive"),
        (lambda: tables.budget(1.0, -1.0, 0.1), "L must be positive"),
        (lambda: tables.budget(1.0, 1.0, 1.0), "delta must lie strictly"),
        (lambda: tables.budget(1.0, np.inf, 0.1), "L must be finite"),
        (lambda: tables.combine([1.0], 0.0), "scale must be positive"),
        (lambda: tables.allocation([np.nan], 1.0, 1.0, 0.1), "w0 must be finite"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def two_laplace(a: float, b: float, at: float) -> float:
    """Return P[|X + Y| > at] for Laplace X, Y of unequal scales a, b, in closed form."""
    return (a * a * math.exp(-at / a) - b * b * math.exp(-at / b)) / (a * a - b * b)


@pytest.mark.parametrize("ratio", [0.6, 1.5, 3.0, 5.57, 40.0])
def test_one_earlier_answer_saves_where_the_closed_form_says(ratio: float) -> None:
    for delta in (0.01, 0.2, 0.36, 0.37, 0.5, 0.7, 0.95):
        length, kappa = 2 * math.log(1 / delta), ratio**2 / (ratio**2 + 1)
        joined = two_laplace((1 - kappa) * ratio, kappa, length / 2)
        bought = tables.allocation([ratio], 1.0, length, delta).alpha
        assert (bought < 1 - 1e-9) == (joined < delta)
        assert bought <= tables.budget(1.0, length, delta)


def test_a_history_saves_at_every_delta_up_to_36_in_100_and_never_costs_more() -> None:
    rng = np.random.default_rng(3)
    useless = 0
    for _ in range(150):
        weights, scale = rng.lognormal(0.0, 1.5, rng.integers(1, 7)), rng.lognormal(0.0, 1.0)
        for delta in (rng.uniform(0.001, 0.36), rng.uniform(0.37, 0.95)):
            length = 2 * scale * math.log(1 / delta)
            direct = tables.budget(1.0, length, delta)
            share = tables.allocation(weights, 1.0, length, delta).alpha / direct
            assert share <= 1
            assert share < 1 - 1e-9 or delta > 0.36
            useless += share > 1 - 1e-9
    assert useless > 20


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
    if bought.history_share > 0.0:
        less = tables.combine(w, (1.0 + 1e-9) / bought.alpha)[1]
        assert 2.0 * tables.NoiseLaw(less).tail(0.5 * length) > delta * (1.0 - 1e-13)


def excess_by_share(weights: list[float], L: float, delta: float) -> np.ndarray:
    """Return ln of the joined tail over what is allowed, at shares of the direct budget up to 1."""
    direct = tables.budget(1.0, L, delta)
    shares = np.geomspace(1e-4, 1.0, 60)
    joined = [tables.combine(weights, 1.0 / (share * direct))[1] for share in shares]
    return np.array([tables.NoiseLaw(w).log_tail(0.5 * L) for w in joined]) - math.log(0.5 * delta)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(0.01, 50.0), min_size=1, max_size=4),
    st.floats(0.05, 60.0),
    st.floats(0.001, 0.98),
)
def test_the_excess_crosses_zero_once_and_the_budget_is_where(
    weights: list[float], L: float, delta: float
) -> None:
    excess = excess_by_share(weights, L, delta)
    if excess[0] > 0.0 >= excess[-1]:
        enough = excess <= 0.0
        first = int(np.argmax(enough))
        assert enough[first:].all()
        share = tables.allocation(weights, 1.0, L, delta).alpha / tables.budget(1.0, L, delta)
        shares = np.geomspace(1e-4, 1.0, 60)
        assert shares[first - 1] <= share * (1 + 1e-9)
        assert share <= shares[first] * (1 + 1e-9)


def test_cost_of_the_worked_example() -> None:
    assert tables.privacy_cost(EXAMPLE.H, EXAMPLE.alpha) == pytest.approx(0.35, abs=1e-12)
    replaced = tables.privacy_cost(EXAMPLE.H, EXAMPLE.alpha, "replace-one")
    assert replaced == pytest.approx(0.45, abs=1e-12)


def test_sequential_and_parallel_composition_are_special_cases() -> None:
    same = np.tile([1.0, 1.0, 0.0], (3, 1))
    assert tables.privacy_cost(same, [0.1, 0.2, 0.3]) == pytest.approx(0.6)
    assert tables.privacy_cost(np.eye(3), [0.1, 0.2, 0.3]) == pytest.approx(0.3)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["add-remove", "replace-one"]))
def test_cost_is_the_largest_log_ratio_of_densities(seed: int, neighbours: str) -> None:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (4, 5)).astype(float)
    b = rng.uniform(0.5, 5, 4)
    x = rng.integers(0, 5, 5)
    changes = np.eye(5)
    if neighbours == "replace-one":
        changes = (np.eye(5)[:, None] - np.eye(5)[None]).reshape(-1, 5)
    # The ratio of Laplace densities is largest when every answer lies beyond both means.
    worst = 0.0
    for change in changes:
        means, moved = H @ x, H @ (x + change)
        y = np.where(moved >= means, 1e3, -1e3)
        ratio = np.sum((np.abs(y - means) - np.abs(y - moved)) / b)
        worst = max(worst, float(ratio))
    cost = tables.cost_of_scales(H, b, neighbours)
    assert cost == pytest.approx(worst, rel=1e-9, abs=1e-9)
    draws = rng.normal(size=(200, 4)) * 5
    for change in changes[:3]:
        means, moved = H @ x, H @ (x + change)
        ratios = ((np.abs(draws - means) - np.abs(draws - moved)) / b).sum(axis=1)
        assert ratios.max() <= cost + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["add-remove", "replace-one"]))
def test_growing_costs_equal_the_batch_and_never_fall_short(seed: int, neighbours: str) -> None:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (6, 4)).astype(float)
    H[:, 0] += ~H.any(axis=1)
    b = rng.uniform(0.1, 5, 6)
    state = tables.empty_state(4, neighbours)
    for row, scale in zip(H, b, strict=True):
        state = state.after(row, scale, 0.0, neighbours)
    batch = tables.cost_of_scales(H, b, neighbours)
    assert state.spent("cells") == pytest.approx(batch, rel=1e-12)
    assert state.spent("cells") >= batch * (1 - 1e-15)


def test_scales_for_added_records_cost_twice_as_much_when_one_is_replaced() -> None:
    H = [[1.0, -1.0]]
    b = tables.laplace_scales(H, [0.5])
    assert tables.cost_of_scales(H, b) == 0.5
    assert tables.cost_of_scales(H, b, "replace-one") == 1.0
    assert tables.privacy_cost(H, [0.5], "replace-one") == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tables.privacy_cost([[1.0]], [0.0]), "alpha must be positive"),
        (lambda: tables.privacy_cost([[1.0]], [0.1, 0.1]), "alpha must have shape"),
        (lambda: tables.privacy_cost([[1.0]], [0.1], "none"), "neighbours must be one of"),
        (lambda: tables.empty_state(5000, "replace-one"), "cells must be at most 4096"),
    ],
)
def test_bad_costs(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def test_a_question_asked_only_between_the_means_never_costs_the_whole_sum() -> None:
    # One cell with 0 or 1 records; the second question comes only if the first answer lies inside.
    first, second, inside = 1.0, 1.0, (0.4, 0.6)
    answers = np.linspace(-3.0, 4.0, 7001)
    loss = np.abs(np.abs(answers) - np.abs(answers - 1.0))  # per unit of budget
    between = (answers > inside[0]) & (answers < inside[1])
    largest = first * loss
    largest[between] += second * loss.max()
    whole = tables.privacy_cost([[1.0], [1.0]], [first, second])
    assert largest.max() == pytest.approx(second + 0.2 * first, abs=2e-3)
    assert largest.max() < whole
