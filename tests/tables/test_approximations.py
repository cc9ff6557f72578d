"""Algorithm 1, Algorithm 2 and the exact mass vector, each against the others and against sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import tables
from dpbayes.study.linear_queries import worked_example

EXAMPLE = worked_example()
BLUE = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q)
WEIGHTS = BLUE.noise_weights
LAW = tables.NoiseLaw(WEIGHTS)
VECTOR = tables.pmf_probability_calculation(WEIGHTS, 0.01)
weight_lists = st.lists(st.floats(0.05, 30.0), min_size=1, max_size=6)


def between(law: tables.NoiseLaw, low: float, high: float) -> float:
    return law.tail(low) - law.tail(high)


def test_worked_example_of_algorithm_2() -> None:
    vector = tables.pmf_probability_calculation(WEIGHTS, 0.01)
    assert vector.masses.size == 235
    assert vector.total == pytest.approx(0.9561076339, abs=5e-11)


@settings(max_examples=40, deadline=None)
@given(weight_lists, st.floats(1e-6, 0.5))
def test_the_two_ways_to_convolve_agree(weights: list[float], gamma: float) -> None:
    tree = tables.pmf_probability_calculation(weights, gamma)
    for method in ("shortest-first",):
        other = tables.pmf_probability_calculation(weights, gamma, method)
        np.testing.assert_allclose(tree.masses, other.masses, rtol=0, atol=1e-14)
    assert tree.total + tree.lost == pytest.approx(1.0, abs=1e-12)
    kept = [1.0 - tables.pmf_probability_calculation([w], gamma).lost for w in weights]
    assert tree.lost == pytest.approx(1.0 - math.prod(kept), rel=1e-9, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(weight_lists)
def test_exact_masses_are_differences_of_tails(weights: list[float]) -> None:
    law = tables.NoiseLaw(weights)
    vector = tables.exact_masses(law)
    assert vector.total + vector.lost == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(vector.masses, vector.masses[::-1], atol=1e-16)
    for k in (0, 1, vector.half_length // 2, vector.half_length):
        expected = between(law, k - 0.5, k + 0.5)
        assert vector.masses[vector.half_length + k] == pytest.approx(expected, abs=2e-15)


@pytest.mark.parametrize("weights", [[0.1] * 1000, [0.01] * 1000, [5.0] * 100, [3.0], [5.0, 2.0]])
def test_exact_masses_at_the_extremes(weights: list[float]) -> None:
    law = tables.NoiseLaw(weights)
    vector = tables.exact_masses(law)
    expected = between(law, 0.5, 1.5)
    assert vector.masses[vector.half_length + 1] == pytest.approx(expected, abs=1e-13)


def test_exact_masses_on_a_finer_grid_add_up_to_the_coarse_ones() -> None:
    law = tables.NoiseLaw([2.0, 3.0, 4.0])
    coarse = tables.exact_masses(law, 5).masses
    fine = tables.exact_masses(law, 16, step=1 / 3).masses
    np.testing.assert_allclose(fine.reshape(11, 3).sum(axis=1), coarse, atol=1e-15)


@pytest.mark.parametrize(("weight", "reported", "true"), [(0.1, 2.596, 4.472), (0.01, 0.0, 0.447)])
def test_algorithm_2_reports_too_little_noise_for_small_weights(
    weight: float, reported: float, true: float
) -> None:
    weights = np.full(1000, weight)
    vector = tables.pmf_probability_calculation(weights, 0.01)
    assert vector.standard_deviation == pytest.approx(reported, abs=5e-4)
    assert tables.NoiseLaw(weights).standard_deviation == pytest.approx(true, abs=5e-4)
    claimed = tables.credible_interval(vector, 0.05)
    covered = 1 - 2 * tables.NoiseLaw(weights).tail(claimed.half_width)
    if weight == 0.1:
        assert 0.77 < covered < 0.79
    else:
        assert claimed.steps == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tables.pmf_probability_calculation([1.0], 1.0), ValueError, "gamma must lie"),
        (lambda: tables.pmf_probability_calculation([1e12], 0.01), ValueError, "wider step"),
        (
            lambda: tables.pmf_probability_calculation([1.0], 0.1, "fast"),
            ValueError,
            "method must be one of",
        ),
        (lambda: tables.pmf_monte_carlo([1.0], 0, np.random.default_rng()), ValueError, "samples"),
        (lambda: tables.pmf_monte_carlo([1.0], 5, 7), TypeError, "rng must be"),
        (lambda: tables.MassVector(np.ones(4) / 4, 0.0), ValueError, "odd length, got 4"),
        (lambda: tables.MassVector(np.array([-1.0]), 0.0), ValueError, "at least 0"),
        (lambda: tables.exact_masses(tables.NoiseLaw([1.0]), -1), ValueError, "half_length"),
        (lambda: tables.exact_masses(tables.NoiseLaw([1.0]), step=0.0), ValueError, "step"),
    ],
)
def test_bad_input(call: object, error: type[Exception], message: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=message):
        call()


def loop_of_algorithm_3(masses: np.ndarray, delta: float) -> int:
    middle = masses.size // 2
    reached, i = masses[middle], 0
    while reached < 1 - delta:
        i += 1
        reached += masses[middle - i] + masses[middle + i]
    return i


def test_worked_example_of_algorithm_3() -> None:
    assert tables.credible_interval(VECTOR, 0.05).steps == 41
    with pytest.raises(ValueError, match=r"got delta = 0\.01 but only 0\.9561076339"):
        tables.credible_interval(VECTOR, 0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20), st.floats(0.01, 0.99))
def test_equals_the_loop_on_asymmetric_histograms(seed: int, half: int, delta: float) -> None:
    masses = np.random.default_rng(seed).dirichlet(np.ones(2 * half + 1))
    found = tables.credible_interval(masses, delta)
    assert found.steps == loop_of_algorithm_3(masses, delta)
    assert found.mass >= 1 - delta - 1e-12


def test_length_is_2i_plus_1_and_not_2i() -> None:
    exact = tables.exact_masses(LAW, 300)
    found = tables.credible_interval(exact, 0.05)
    assert found.cells == 2 * found.steps + 1
    held = 1 - 2 * LAW.tail(found.half_width)
    assert held == pytest.approx(found.mass, abs=1e-13)
    assert found.steps < LAW.half_width(0.05) <= found.half_width


@settings(max_examples=30, deadline=None)
@given(st.floats(0.001, 0.9))
def test_exact_interval_holds_its_confidence(delta: float) -> None:
    box = tables.interval(12.5, LAW, delta)
    held = between(LAW, box.low - 12.5, box.high - 12.5)
    assert held == pytest.approx(1 - delta, abs=1e-12)
    assert box.length == pytest.approx(2 * LAW.half_width(delta))


def test_hypothesis_probabilities_are_complementary() -> None:
    above = tables.probability_at_least(70.0, LAW, 60.0)
    assert above + tables.probability_at_least(-70.0, LAW, -60.0) == pytest.approx(1.0)
    assert above == pytest.approx(between(LAW, -10.0, 1e9), abs=1e-13)
    assert tables.probability_at_least(70.0, LAW, 70.0) == 0.5
