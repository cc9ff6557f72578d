"""Direct and history-aware budgets against OpenDP, the worked example and the law itself."""

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
        assert bought.scale == pytest.approx(S / bought.alpha)


def test_history_that_suffices_costs_nothing() -> None:
    bought = tables.allocation(W0, 1.0, 63.0, 0.05)
    assert bought.alpha == 0.0
    assert tables.allocation(W0, 1.0, 62.0, 0.05).alpha > 0.0


def test_joined_weights_are_blue_of_the_longer_history() -> None:
    bought = tables.allocation(W0, 1.0, 40.0, 0.05)
    longer = tables.blue(
        np.vstack([EXAMPLE.H, EXAMPLE.q]), np.append(EXAMPLE.scales, bought.scale), EXAMPLE.q
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
    less = tables.combine(W0, bought.scale * (1 + 1e-6))[1]
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
        less = tables.combine(w, bought.scale * (1.0 + 1e-9))[1]
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
