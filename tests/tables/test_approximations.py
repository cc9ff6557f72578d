"""Mass vectors against each other and against sums; consistent answers by three
roads."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from dpbayes import tables
from dpbayes.study.linear_queries import worked_example
from dpbayes.tables.approximations import LARGEST, consistent

EXAMPLE = worked_example()
WEIGHTS = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q).noise_weights
LAW = tables.NoiseLaw(WEIGHTS)
VECTOR = tables.pmf_probability_calculation(WEIGHTS, 0.01)
weight_lists = st.lists(st.floats(0.05, 30.0), min_size=1, max_size=6)


def between(law: tables.NoiseLaw, low: float, high: float) -> float:
    return law.tail(low) - law.tail(high)


def test_worked_example_of_algorithms_2_and_3() -> None:
    assert VECTOR.masses.size == 235
    assert VECTOR.total == pytest.approx(0.9561076339, abs=5e-11)
    assert tables.credible_interval(VECTOR, 0.05).steps == 41
    with pytest.raises(ValueError, match=r"got delta = 0\.01 but only 0\.9561076339"):
        tables.credible_interval(VECTOR, 0.01)


@settings(max_examples=40, deadline=None)
@given(weight_lists, st.floats(1e-6, 0.5))
def test_the_two_ways_to_convolve_agree(weights: list[float], gamma: float) -> None:
    tree = tables.pmf_probability_calculation(weights, gamma)
    other = tables.pmf_probability_calculation(weights, gamma, "shortest-first")
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
        assert vector.masses[vector.half_length + k] == pytest.approx(
            expected, abs=2e-15
        )


@pytest.mark.parametrize(
    "weights", [[0.1] * 1000, [0.01] * 1000, [5.0] * 100, [3.0], [5.0, 2.0]]
)
def test_exact_masses_at_the_extremes(weights: list[float]) -> None:
    law = tables.NoiseLaw(weights)
    vector = tables.exact_masses(law)
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
    found = tables.credible_interval(masses, delta)
    assert found.steps == loop_of_algorithm_3(masses, delta)
    assert found.mass >= 1 - delta - 1e-12


def test_vectors_are_checked_and_not_too_long() -> None:
    for wrong, message in (
        (np.ones(4) / 4, "odd length, got 4"),
        ([-1.0], "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            tables.MassVector(wrong, 0.0)
    with pytest.raises(ValueError, match="wider unit"):
        tables.pmf_probability_calculation([1e12], 0.01)
    assert VECTOR.resized(118).tolist() == [0.0, *VECTOR.masses.tolist(), 0.0]
    assert VECTOR.resized(1).tolist() == VECTOR.masses[116:119].tolist()


def by_active_sets(G, d):
    """Return G x at the minimum over x >= 0 by trying every set of cells that may be
    above 0.
    """
    best, fitted = math.inf, None
    for size in range(G.shape[1] + 1):
        for chosen in itertools.combinations(range(G.shape[1]), size):
            x = np.zeros(G.shape[1])
            if chosen:
                x[list(chosen)] = np.linalg.lstsq(G[:, chosen], d, rcond=None)[0]
            error = float(((G @ x - d) ** 2).sum())
            if (x >= -1e-12).all() and error < best - 1e-14:
                best, fitted = error, G @ x
    return fitted


@st.composite
def histories(draw):
    cells, answers = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    H = rng.integers(-1, 3, (answers, cells)).astype(float)
    H[:, 0] += np.where(H.any(axis=1), 0.0, 1.0)
    x = rng.integers(0, 6, cells)
    b = rng.uniform(0.5, 8.0, answers)
    return H, b, H @ x + rng.laplace(size=answers) * b, x


@given(histories())
def test_it_is_the_minimum_by_three_roads(case):
    H, b, y, _ = case
    fitted = consistent(H, b, y, H)
    G, d = H / b[:, None], y / b
    assert np.allclose(
        fitted / b, by_active_sets(G, d), atol=1e-6 * (1 + np.abs(d).max())
    )
    other = lsq_linear(G, d, (0, np.inf), method="bvls", tol=1e-14).x
    assert np.allclose(fitted / b, G @ other, atol=1e-5 * (1 + np.abs(d).max()))


@given(histories())
def test_over_all_answers_together_it_is_never_further_off_than_the_unbiased_estimate(
    case,
):
    """The theorem of the page, for every draw: weighted squared errors over the
    history.
    """
    H, b, y, x = case
    unbiased = tables.blue(H, b, H).estimate(y)
    truth = H @ x
    ours = (((consistent(H, b, y, H) - truth) / b) ** 2).sum()
    assert ours <= (((unbiased - truth) / b) ** 2).sum() * (1 + 1e-9) + 1e-9


def test_what_it_costs_is_bias_where_counts_are_small():
    """One empty cell: the estimate is max(y, 0), and its mean is half the scale."""
    b, rng = 3.0, np.random.default_rng(3)
    drawn = [consistent([[1.0]], [b], [y], [1.0]) for y in b * rng.laplace(size=2000)]
    assert np.mean(drawn) == pytest.approx(
        b / 2, abs=6 * np.std(drawn) / math.sqrt(2000)
    )


def test_what_is_not_estimable_gets_no_number_nor_what_is_too_large():
    two = consistent([[1.0, 1.0]], [1.0], [4.0], [[1.0, 0.0], [1.0, 1.0]])
    assert np.isnan(two[0])
    assert two[1] == pytest.approx(4.0)
    with pytest.raises(ValueError, match="H must have at most"):
        consistent(np.ones((2, LARGEST)), [1.0, 1.0], [1.0, 1.0], [1.0])


def test_extreme_answers_still_have_a_certified_fit():
    rng = np.random.default_rng(5)
    for size in (1e-6, 1.0, 1e6, 1e12):
        H = tables.random_ranges((12,), 20, rng)
        y = size * rng.standard_normal(20)
        gradient = H.T @ (consistent(H, np.full(20, 2.0), y, H) - y)
        assert gradient.min() >= -1e-8 * size
