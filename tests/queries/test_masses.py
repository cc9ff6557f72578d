"""Algorithm 1, Algorithm 2 and the exact mass vector, each against the others and against sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import queries

EXAMPLE = queries.worked_example()
WEIGHTS = queries.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q).noise_weights
weight_lists = st.lists(st.floats(0.05, 30.0), min_size=1, max_size=6)


def test_one_laplace_vector_of_the_specification() -> None:
    vector = queries.laplace_masses(5.0, 0.01)
    assert vector.half_length == 24
    assert vector.masses[24] == pytest.approx(0.0951625820, abs=5e-11)
    assert vector.masses[25] == pytest.approx(0.0820095987, abs=5e-11)
    assert vector.lost == pytest.approx(math.exp(-24.5 / 5), rel=1e-14)


def test_worked_example_of_algorithm_2() -> None:
    vector = queries.pmf_probability_calculation(WEIGHTS, 0.01)
    assert vector.masses.size == 235
    assert vector.total == pytest.approx(0.9561076339, abs=5e-11)


@settings(max_examples=40, deadline=None)
@given(weight_lists, st.floats(1e-6, 0.5))
def test_the_three_ways_to_convolve_agree(weights: list[float], gamma: float) -> None:
    tree = queries.pmf_probability_calculation(weights, gamma)
    for method in ("shortest-first", "as-given"):
        other = queries.pmf_probability_calculation(weights, gamma, method)
        np.testing.assert_allclose(tree.masses, other.masses, rtol=0, atol=1e-14)
    assert tree.total + tree.lost == pytest.approx(1.0, abs=1e-12)
    parts = [queries.laplace_masses(w, gamma).lost for w in weights]
    assert tree.lost == pytest.approx(queries.combined_loss(parts), rel=1e-9)


def test_long_convolutions_agree_with_direct_sums() -> None:
    weights = np.random.default_rng(0).uniform(1, 20, 60)
    tree = queries.pmf_probability_calculation(weights, 0.01)
    direct = queries.pmf_probability_calculation(weights, 0.01, "shortest-first")
    np.testing.assert_allclose(tree.masses, direct.masses, rtol=0, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(weight_lists)
def test_exact_masses_are_differences_of_tails(weights: list[float]) -> None:
    law = queries.NoiseLaw(weights)
    vector = queries.exact_masses(law)
    assert vector.total + vector.lost == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(vector.masses, vector.masses[::-1], atol=1e-16)
    for k in (0, 1, vector.half_length // 2, vector.half_length):
        expected = law.probability(k - 0.5, k + 0.5)
        assert vector.masses[vector.half_length + k] == pytest.approx(expected, abs=2e-15)


@pytest.mark.parametrize("weights", [[0.1] * 1000, [0.01] * 1000, [5.0] * 100, [3.0], [5.0, 2.0]])
def test_exact_masses_at_the_extremes(weights: list[float]) -> None:
    law = queries.NoiseLaw(weights)
    vector = queries.exact_masses(law)
    expected = law.probability(0.5, 1.5)
    assert vector.masses[vector.half_length + 1] == pytest.approx(expected, abs=3e-15)


def test_exact_masses_on_a_finer_grid_add_up_to_the_coarse_ones() -> None:
    law = queries.NoiseLaw([2.0, 3.0, 4.0])
    coarse = queries.exact_masses(law, 5).masses
    fine = queries.exact_masses(law, 16, step=1 / 3).masses
    np.testing.assert_allclose(fine.reshape(11, 3).sum(axis=1), coarse, atol=1e-15)


@pytest.mark.parametrize(("weight", "reported", "true"), [(0.1, 2.596, 4.472), (0.01, 0.0, 0.447)])
def test_algorithm_2_reports_too_little_noise_for_small_weights(
    weight: float, reported: float, true: float
) -> None:
    weights = np.full(1000, weight)
    vector = queries.pmf_probability_calculation(weights, 0.01)
    assert vector.standard_deviation == pytest.approx(reported, abs=5e-4)
    assert queries.NoiseLaw(weights).standard_deviation == pytest.approx(true, abs=5e-4)
    claimed = queries.credible_interval(vector, 0.05)
    covered = 1 - 2 * queries.NoiseLaw(weights).tail(claimed.half_width)
    if weight == 0.1:
        assert 0.77 < covered < 0.79
    else:
        assert claimed.steps == 0


def test_monte_carlo_error_is_that_of_corollary_4_1() -> None:
    rng = np.random.default_rng(11)
    exact = queries.exact_masses(queries.NoiseLaw(WEIGHTS), 400)
    samples, repeats = 500, 400
    errors = []
    for _ in range(repeats):
        estimate = queries.pmf_monte_carlo(WEIGHTS, samples, rng).resized(400)
        errors.append(float(np.sum((estimate - exact.masses) ** 2)))
    expected = queries.expected_squared_error(exact.masses, samples)
    spread = np.std(errors) / math.sqrt(repeats)
    assert abs(np.mean(errors) - expected) < 6 * spread
    assert abs(np.mean(errors) - 1.1 * expected) > 6 * spread


def test_monte_carlo_histogram_has_odd_length_and_unit_mass() -> None:
    vector = queries.pmf_monte_carlo([0.2, 5.0], 1000, np.random.default_rng(2))
    assert vector.masses.size % 2 == 1
    assert vector.total == pytest.approx(1.0, abs=1e-12)
    assert max(vector.masses[0], vector.masses[-1]) > 0


def test_convolution_work_counts_products() -> None:
    halves = [3, 1, 2]
    work = queries.convolution_work(halves)
    assert work == 3 * 7 + 5 * 9
    assert queries.convolution_work(sorted(halves)) <= work


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: queries.laplace_masses(0.0, 0.1), ValueError, "scale must be positive"),
        (lambda: queries.laplace_masses(1.0, 1.0), ValueError, "gamma must lie strictly"),
        (lambda: queries.laplace_masses(1e12, 0.01), ValueError, "wider step"),
        (
            lambda: queries.pmf_probability_calculation([1.0], 0.1, "fast"),
            ValueError,
            "method must be one of",
        ),
        (lambda: queries.pmf_monte_carlo([1.0], 0, np.random.default_rng()), ValueError, "samples"),
        (lambda: queries.pmf_monte_carlo([1.0], 5, 7), TypeError, "rng must be"),
        (lambda: queries.MassVector(np.ones(4) / 4, 0.0), ValueError, "odd length, got 4"),
        (lambda: queries.MassVector(np.array([-1.0]), 0.0), ValueError, "at least 0"),
        (lambda: queries.exact_masses(queries.NoiseLaw([1.0]), -1), ValueError, "half_length"),
        (lambda: queries.exact_masses(queries.NoiseLaw([1.0]), step=0.0), ValueError, "step"),
        (lambda: queries.combined_loss([1.0]), ValueError, r"losses must lie in \[0, 1\)"),
    ],
)
def test_bad_input(call: object, error: type[Exception], message: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=message):
        call()
