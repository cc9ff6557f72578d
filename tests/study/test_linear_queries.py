"""The posterior given all answers, exact and sampled, against sums and against each
other.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import cumulative_trapezoid

from dpbayes import tables
from dpbayes.study.linear_queries import (
    posterior_draws,
    posterior_one_unknown,
)

answers = st.lists(
    st.tuples(st.floats(-20, 20), st.floats(0.2, 5.0)), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None)
@given(answers, st.floats(-25, 25))
def test_one_unknown_is_the_sum_over_a_fine_grid(
    given_: list[tuple[float, float]], at: float
) -> None:
    y, b = (np.array(column) for column in zip(*given_, strict=True))
    one = posterior_one_unknown(y, b)
    t = np.linspace(-160, 160, 640_001)
    logs = -(np.abs(t[:, None] - y) / b).sum(axis=1)
    density = np.exp(logs - logs.max())
    below = cumulative_trapezoid(density, t, initial=0.0)
    assert one.cdf(at) == pytest.approx(np.interp(at, t, below / below[-1]), abs=2e-3)
    for p in (1e-3, 0.3, 0.999):
        assert one.cdf(one.quantile(p)) == pytest.approx(p, rel=1e-9)
    assert one.mass(-1e3, 1e3) == pytest.approx(1.0, abs=1e-12)


def test_one_answer_is_its_own_law_and_two_far_apart_are_flat_between() -> None:
    one, law = posterior_one_unknown([4.0], [2.0]), tables.NoiseLaw([2.0])
    assert one.interval(0.05).length == pytest.approx(
        2 * law.half_width(0.05), rel=1e-9
    )
    two = posterior_one_unknown([-50.0, 50.0], [1.0, 1.0])
    assert two.mass(-10, 10) == pytest.approx(2 * two.mass(20, 30), rel=1e-9)


def test_draws_follow_the_exact_posterior_of_one_unknown() -> None:
    rng = np.random.default_rng(4)
    y, b = np.array([[3.0, 5.0, -4.0]]), np.array([1.0, 2.0, 4.0])
    drawn, mean = posterior_draws(np.ones((3, 1)), b, y, [1.0], 20_000, rng)
    exact = posterior_one_unknown(y[0], b)
    for p in (0.1, 0.5, 0.9):
        assert exact.cdf(float(np.quantile(drawn, p))) == pytest.approx(p, abs=0.02)
    assert float(drawn.mean()) == pytest.approx(float(mean[0]), abs=0.05)
