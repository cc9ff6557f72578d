"""One test a claim of document E, in the order of its text, with the verdict the book gives."""

import math

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.study.query_experiments import squared_error

EXAMPLE = queries.worked_example()
BEST = queries.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q)
LAW = queries.NoiseLaw(BEST.noise_weights)


def test_lemma_2_1_holds_for_added_records_and_not_for_replaced_ones() -> None:
    q = np.array([[1.0, -1.0, 0.0]])
    x = np.array([5, 5, 5])
    added = max(abs(float((q @ (x + e) - q @ x)[0])) for e in np.eye(3))
    moved = max(abs(float((q @ (x + e - f) - q @ x)[0])) for e in np.eye(3) for f in np.eye(3))
    assert queries.sensitivity(q)[0] == added == 1.0
    assert queries.sensitivity(q, "replace-one")[0] == moved == 2.0


def test_theorem_2_1_the_laplace_answer_spends_alpha_exactly() -> None:
    scale = queries.laplace_scales([[0.0, 2.0]], [0.3])[0]
    law = queries.NoiseLaw([scale])
    ratio = math.log(law.tail(50.0 - 2.0) / law.tail(50.0))
    assert ratio == pytest.approx(0.3, rel=1e-12)


def test_corollary_3_1_the_estimate_is_unbiased() -> None:
    np.testing.assert_allclose(BEST.weights @ EXAMPLE.H, EXAMPLE.q, atol=1e-14)
    assert float(BEST.estimate(EXAMPLE.H @ EXAMPLE.x)) == pytest.approx(73.0)


def test_corollary_3_2_the_mean_squared_error_is_the_variance() -> None:
    noise = np.random.default_rng(0).laplace(size=(40_000, 6)) * EXAMPLE.scales
    squares = (noise @ BEST.weights) ** 2
    spread = squares.std() / math.sqrt(squares.size)
    assert abs(squares.mean() - float(BEST.variance)) < 6 * spread
    assert abs(squares.mean() - 1.1 * float(BEST.variance)) > 6 * spread


def test_theorem_3_1_works_without_full_rank() -> None:
    assert np.linalg.matrix_rank(EXAMPLE.H) < EXAMPLE.H.shape[1]
    assert BEST.estimable


def test_theorem_3_2_is_a_bound_and_a_loose_one() -> None:
    for delta in (0.5, 0.1, 0.01):
        chebyshev = queries.chebyshev_half_width(LAW.variance, delta)
        assert 2 * LAW.tail(chebyshev) < 0.5 * delta


def test_equations_20_to_22_give_the_law() -> None:
    t = np.linspace(-3, 3, 7) / 10
    vector = queries.exact_masses(LAW, step=0.25)
    points = 0.25 * vector.cells
    seen = np.array([float(vector.masses @ np.cos(s * points)) for s in t])
    expected = np.prod(1 / (1 + np.outer(t, LAW.weights) ** 2), axis=1)
    np.testing.assert_allclose(seen, expected * np.sinc(0.25 * t / (2 * np.pi)), atol=1e-8)


def test_the_law_is_not_out_of_reach_for_long_histories() -> None:
    law = queries.NoiseLaw(np.random.default_rng(1).uniform(0.1, 3.0, 1000))
    assert law.probability(-5 * law.standard_deviation, 5 * law.standard_deviation) < 1
    assert 2 * law.tail(law.half_width(1e-9)) == pytest.approx(1e-9, rel=1e-10)


def test_theorem_4_2_the_histogram_converges() -> None:
    rng = np.random.default_rng(2)
    few, many = (queries.pmf_monte_carlo(LAW.weights, size, rng) for size in (200, 200_000))
    assert squared_error(many, LAW) < 0.01 * squared_error(few, LAW)


def test_theorem_4_3_is_looser_than_corollary_4_1() -> None:
    p = queries.exact_masses(LAW).masses
    # The theorem multiplies the largest variance by the number of cells, as if all had it.
    bound = p.size * float((p * (1 - p)).max()) / 1000
    assert bound > 3 * queries.expected_squared_error(p, 1000)


def test_lemmas_4_2_and_4_3_lost_mass_combines() -> None:
    parts = [queries.laplace_masses(w, 0.05) for w in (2.0, 5.0, 7.0)]
    whole = queries.pmf_probability_calculation([2.0, 5.0, 7.0], 0.05)
    assert 1 - whole.total == pytest.approx(queries.combined_loss([v.lost for v in parts]))
    assert all(v.lost < 0.05 for v in parts)


def test_theorem_4_5_bounds_lost_mass_but_the_error_cannot_be_ignored() -> None:
    weights = np.full(1000, 0.1)
    vector = queries.pmf_probability_calculation(weights, 1e-9)
    assert vector.lost < 1e-6
    law = queries.NoiseLaw(weights)
    assert squared_error(vector, law) > 0.01
    claimed = queries.credible_interval(vector, 0.05)
    assert 1 - 2 * law.tail(claimed.half_width) < 0.8


def test_the_convolution_order_hardly_matters() -> None:
    halves = np.ceil(np.random.default_rng(4600).uniform(1, 10, 1000) * math.log(100)).astype(int)
    saved = 1 - queries.convolution_work(np.sort(halves)) / queries.convolution_work(halves)
    assert 0 < saved < 0.01


def test_theorems_5_1_and_5_2_are_cases_of_the_overall_cost() -> None:
    assert queries.privacy_cost(np.ones((3, 4)), [0.1, 0.2, 0.3]) == pytest.approx(0.6)
    assert queries.privacy_cost(np.eye(3), [0.1, 0.2, 0.3]) == pytest.approx(0.3)
    total = queries.privacy_cost(EXAMPLE.H, EXAMPLE.alpha)
    assert max(EXAMPLE.alpha) < total < sum(EXAMPLE.alpha)


def test_section_5_2_the_law_is_even_but_a_histogram_is_not() -> None:
    exact = queries.exact_masses(LAW, 40).masses
    np.testing.assert_allclose(exact, exact[::-1], atol=1e-17)
    drawn = queries.pmf_monte_carlo(LAW.weights, 1000, np.random.default_rng(3)).masses
    assert np.abs(drawn - drawn[::-1]).max() > 0


def test_algorithm_3_can_fail_to_end() -> None:
    vector = queries.pmf_probability_calculation(LAW.weights, 0.01)
    assert vector.lost > 0.01
    with pytest.raises(ValueError, match="mass missing"):
        queries.credible_interval(vector, 0.01)
