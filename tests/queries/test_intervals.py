"""Algorithm 3 against a loop, the exact interval, confidence levels and hypotheses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import queries

EXAMPLE = queries.worked_example()
BLUE = queries.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q)
LAW = queries.NoiseLaw(BLUE.noise_weights)
VECTOR = queries.pmf_probability_calculation(BLUE.noise_weights, 0.01)


def loop_of_algorithm_3(masses: np.ndarray, delta: float) -> int:
    middle = masses.size // 2
    reached, i = masses[middle], 0
    while reached < 1 - delta:
        i += 1
        reached += masses[middle - i] + masses[middle + i]
    return i


def test_worked_example_of_algorithm_3() -> None:
    assert queries.credible_interval(VECTOR, 0.05).steps == 41
    with pytest.raises(ValueError, match=r"got delta = 0\.01 but only 0\.9561076339"):
        queries.credible_interval(VECTOR, 0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20), st.floats(0.01, 0.99))
def test_equals_the_loop_on_asymmetric_histograms(seed: int, half: int, delta: float) -> None:
    masses = np.random.default_rng(seed).dirichlet(np.ones(2 * half + 1))
    found = queries.credible_interval(masses, delta)
    assert found.steps == loop_of_algorithm_3(masses, delta)
    assert found.mass >= 1 - delta - 1e-12


def test_length_is_2i_plus_1_and_not_2i() -> None:
    exact = queries.exact_masses(LAW, 300)
    found = queries.credible_interval(exact, 0.05)
    assert found.cells == 2 * found.steps + 1
    held = 1 - 2 * LAW.tail(found.half_width)
    assert held == pytest.approx(found.mass, abs=1e-13)
    assert found.steps < LAW.half_width(0.05) <= found.half_width


@settings(max_examples=30, deadline=None)
@given(st.floats(0.001, 0.9))
def test_exact_interval_holds_its_confidence(delta: float) -> None:
    box = queries.interval(12.5, LAW, delta)
    held = queries.confidence(12.5, LAW, box.low, box.high)
    assert held == pytest.approx(1 - delta, abs=1e-12)
    assert box.length == pytest.approx(2 * LAW.half_width(delta))


def test_chebyshev_is_wider_and_gauss_crosses_the_exact_law() -> None:
    for delta in (0.5, 0.1, 0.05, 0.01):
        assert queries.chebyshev_half_width(LAW.variance, delta) > LAW.half_width(delta)
    assert queries.gaussian_half_width(LAW.variance, 0.001) < LAW.half_width(0.001)
    assert queries.gaussian_half_width(LAW.variance, 0.5) > LAW.half_width(0.5)


def test_hypothesis_probabilities_are_complementary() -> None:
    above = queries.probability_at_least(70.0, LAW, 60.0)
    assert above + queries.probability_at_least(-70.0, LAW, -60.0) == pytest.approx(1.0)
    assert above == pytest.approx(queries.confidence(70.0, LAW, 60.0, 1e9), abs=1e-13)
    assert queries.probability_at_least(70.0, LAW, 70.0) == 0.5


def test_the_largest_of_many_answers_is_not_covered() -> None:
    rng = np.random.default_rng(4)
    half = queries.NoiseLaw([1.0]).half_width(0.05)
    largest = rng.laplace(size=(4000, 50)).max(axis=1)
    covered = np.mean(np.abs(largest) <= half)
    assert 0.25 < covered < 0.31


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: queries.credible_interval([0.5, 0.5], 0.1), ValueError, "odd length"),
        (lambda: queries.credible_interval([1.0], 0.0), ValueError, "delta must lie strictly"),
        (lambda: queries.credible_interval([1.0], 1.5), ValueError, "delta must lie strictly"),
        (lambda: queries.interval(np.nan, LAW, 0.1), ValueError, "estimate must be finite"),
        (lambda: queries.interval(True, LAW, 0.1), TypeError, "estimate must be a real"),
        (lambda: queries.confidence(0.0, LAW, 2.0, 1.0), ValueError, "low must be at most high"),
        (lambda: queries.gaussian_half_width(-1.0, 0.1), ValueError, "variance must be at least"),
        (lambda: queries.chebyshev_delta(1.0, 0.0), ValueError, "distance must be positive"),
    ],
)
def test_bad_input(call: object, error: type[Exception], message: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=message):
        call()
