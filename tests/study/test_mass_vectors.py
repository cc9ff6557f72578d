"""Mass vectors against each other and against sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import tables
from dpbayes.study import mass_vectors
from dpbayes.study.linear_queries import worked_example

EXAMPLE = worked_example()
WEIGHTS = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q).noise_weights
LAW = tables.NoiseLaw(WEIGHTS)
VECTOR = mass_vectors.pmf_probability_calculation(WEIGHTS, 0.01)
weight_lists = st.lists(st.floats(0.05, 30.0), min_size=1, max_size=6)


def between(law: tables.NoiseLaw, low: float, high: float) -> float:
    return law.tail(low) - law.tail(high)


def test_worked_example_of_algorithms_2_and_3() -> None:
    assert VECTOR.masses.size == 235
    assert VECTOR.total == pytest.approx(0.9561076339, abs=5e-11)
    assert mass_vectors.credible_interval(VECTOR, 0.05).steps == 41
    with pytest.raises(ValueError, match=r"got delta = 0\.01 but only 0\.9561076339"):
        mass_vectors.credible_interval(VECTOR, 0.01)


@settings(max_examples=40, deadline=None)
@given(weight_lists, st.floats(1e-6, 0.5))
def test_the_two_ways_to_convolve_agree(weights: list[float], gamma: float) -> None:
    tree = mass_vectors.pmf_probability_calculation(weights, gamma)
    other = mass_vectors.pmf_probability_calculation(weights, gamma, "shortest-first")
    np.testing.assert_allclose(tree.masses, other.masses, rtol=0, atol=1e-14)
    assert tree.total + tree.lost == pytest.approx(1.0, abs=1e-12)
    kept = [
        1.0 - mass_vectors.pmf_probability_calculation([w], gamma).lost for w in weights
    ]
    assert tree.lost == pytest.approx(1.0 - math.prod(kept), rel=1e-9, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(weight_lists)
def test_exact_masses_are_differences_of_tails(weights: list[float]) -> None:
    law = tables.NoiseLaw(weights)
    vector = mass_vectors.exact_masses(law)
    assert vector.total + vector.lost == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(vector.masses, vector.masses[::-1], atol=1e-16)
    for k in (0, 1, vector.half_length // 2, vector.half_length):
        expected = between(law, k - 0.5, k + 0.5)
        assert vector.masses[vector.half_length + k] == pytest.approx(
            expected, abs=2e-15
        )


@pytest.mark.parametrize(
    "weights", [[0.1] * 1000, [0.01] * 1000, [5.0] * 100, [3.0], [5.0, 2.0]]
)
def test_exact_masses_at_the_extremes(weights: list[float]) -> None:
    law = tables.NoiseLaw(weights)
    vector = mass_vectors.exact_masses(law)
    expected = between(law, 0.5, 1.5)
    assert vector.masses[vector.half_length + 1] == pytest.approx(expected, abs=1e-13)


def loop_of_algorithm_3(masses: np.ndarray, delta: float) -> int:
    middle = masses.size // 2
    reached, i = masses[middle], 0
    while reached < 1 - delta:
        i += 1
        reached += masses[middle - i] + masses[middle + i]
    return i


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20), st.floats(0.01, 0.99))
def test_equals_the_loop_on_asymmetric_histograms(
    seed: int, half: int, delta: float
) -> None:
    masses = np.random.default_rng(seed).dirichlet(np.ones(2 * half + 1))
    found = mass_vectors.credible_interval(masses, delta)
    assert found.steps == loop_of_algorithm_3(masses, delta)
    assert found.mass >= 1 - delta - 1e-12


def test_vectors_are_checked_and_not_too_long() -> None:
    for wrong, message in (
        (np.ones(4) / 4, "odd length, got 4"),
        ([-1.0], "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            mass_vectors.MassVector(wrong, 0.0)
    with pytest.raises(ValueError, match="wider unit"):
        mass_vectors.pmf_probability_calculation([1e12], 0.01)
    assert VECTOR.resized(118).tolist() == [0.0, *VECTOR.masses.tolist(), 0.0]
    assert VECTOR.resized(1).tolist() == VECTOR.masses[116:119].tolist()
