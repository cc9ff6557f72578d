"""Folded noise as a mechanism: its law by other roads, its stated error, releases and refusals."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import folded as tested
from dpbayes.mechanisms.folded import FoldedNoise
from dpbayes.mechanisms.guarantees import absence
from dpbayes.releasing.noise_aware import noise_aware
from dpbayes.samplers.folded import classes, decided_weights
from dpbayes.study.all_data import everywhere
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_folded import folded
from tests.mechanisms.conformance import misfit
from tests.samplers.dense_folded import dense
from tests.samplers.sources import SeededBits

CASES = [([3, 1, 2], 0.7), ([0, 0, 40], 0.5), ([1, 9, 2, 0], 1.0), ([2, 2, 2, 2, 2], 2.0)]


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([4, 3], "1/3"), ([3, 0, 1], "7/10"), ([1, 1, 0, 1], "2"), ([0, 2, 0, 0, 0], "1/100")],
)
def test_the_law_is_the_row_of_the_whole_system_in_fifty_digits(counts, epsilon):
    n, k, budget = sum(counts), len(counts), Fraction(epsilon)
    rows, table, weights = dense(n, k, budget)
    at = int(np.flatnonzero((rows == counts).all(axis=1))[0])
    with mpmath.workdps(50):
        exact = np.array([float(w * table[at, r]) for r, w in enumerate(weights)])
    law = FoldedNoise(epsilon).law(counts, [0.5] * k)
    np.testing.assert_array_equal(law.outputs, rows)
    np.testing.assert_allclose(law.probabilities, exact, rtol=min(law.rounding, 1e-11))


@pytest.mark.parametrize(("counts", "epsilon"), CASES)
def test_the_law_has_the_weights_that_fourier_transforms_find(counts, epsilon):
    space = simplex(sum(counts), len(counts))
    found, law = folded(space, epsilon), FoldedNoise(epsilon).law(counts, np.ones(len(counts)))
    number = space.place[tuple(law.outputs[:, :-1].T)]
    apart = np.abs(law.outputs - counts).sum(axis=1) // 2
    expected = found.weights[number] * np.exp(-epsilon * apart)
    np.testing.assert_allclose(law.probabilities, expected, rtol=1e-9)
    at = space.place[tuple(counts[:-1])]
    assert float(law.mean_distance()) == pytest.approx(found.distances[at], abs=1e-9)


@pytest.mark.parametrize(("counts", "epsilon"), [*CASES, ([30, 20, 10], 0.2), ([1, 5, 6], 30.0)])
def test_no_weight_is_off_by_more_than_is_said(counts, epsilon):
    n, k = sum(counts), len(counts)
    logs, error = tested._weights(n, k, Fraction(epsilon))
    balls = decided_weights(n, k, Fraction(epsilon), 256)
    off = [abs(float((ball.log() - log).mid())) for ball, log in zip(balls, logs, strict=True)]
    assert max(off) <= error < 1.1e-7
    law = FoldedNoise(epsilon).law(counts, np.ones(k))
    exact = np.array([float(balls[i].mid()) for i in classes(n, k).number])
    apart = np.abs(law.outputs - counts).sum(axis=1) // 2
    mean = float((exact * np.exp(-epsilon * apart)) @ law.distances)
    assert abs(law.mean_distance() - mean) <= law.error_bound < 1e-6


def test_an_inverse_that_is_of_no_use_bounds_nothing():
    assert tested._solved(np.ones((2, 2)), 1e-13)[1] == np.inf
    nearly = np.ones((2, 2)) + np.diag([1e-15, 0.0])
    assert tested._solved(nearly, 1e-13)[1] == np.inf
    weights, error = tested._solved(np.array([[2.0, 1.0], [1.0, 3.0]]), 1e-13)
    assert np.abs(weights - [0.4, 0.2]).max() <= error < 1e-11


@pytest.mark.parametrize(("n", "epsilon"), [(1, 0.01), (30, 0.2), (300, 1.0), (40, 6.0)])
def test_the_weights_of_two_categories_are_those_of_the_truncated_geometric_mechanism(n, epsilon):
    logs, error = tested._weights(n, 2, Fraction(epsilon))
    space, x = classes(n, 2), np.array([n // 3, n - n // 3])
    ours = logs[space.number] - epsilon * space.apart(x)
    theirs = dp.mechanism("geometric", epsilon).law(x, [1, 1]).log_probabilities
    np.testing.assert_allclose(ours, theirs, atol=error + 1e-12, rtol=1e-14)


@pytest.mark.parametrize("counts", [[0, 9], [300, 500], [10**9, 10**9]])
def test_at_two_categories_it_is_the_truncated_geometric_mechanism_at_any_size(counts):
    ours, theirs = (dp.mechanism(name, "0.3") for name in ("folded", "geometric"))
    prior = np.array([1.0, 2.0])
    one, other = (m.law(counts, prior) for m in (ours, theirs))
    np.testing.assert_array_equal(one.log_probabilities, other.log_probabilities)
    np.testing.assert_array_equal(one.outputs, other.outputs)
    assert one.why.startswith("geometric, because")
    x = np.array(counts)
    drawn = [m.draw(x, prior, SeededBits(4))[1].tolist() for m in (ours, theirs)]
    assert drawn[0] == drawn[1]
    assert ours.absence(sum(counts), 2) is None


@pytest.mark.parametrize(("n", "k", "epsilon"), [(9, 2, 0.3), (6, 3, 1.0), (4, 4, 2.5)])
def test_the_audit_finds_the_whole_promise_and_not_more(n, k, epsilon):
    mechanism = dp.mechanism("folded", epsilon)
    audit = dp.audit(mechanism, n, [0.5] * k)
    assert audit.epsilon == pytest.approx(epsilon, rel=1e-12)
    bounds = audit.enclosure.epsilon
    assert bounds.low <= epsilon <= bounds.high
    assert bounds.width < 1e-12
    inside = audit.enclosure.delta(epsilon / 2)
    assert inside.low - 1e-12 <= audit.delta(epsilon / 2) <= inside.high + 1e-12


def test_calibration_finds_nothing_to_gain():
    found = dp.calibrate(dp.mechanism("folded", 1.0), 6, [1, 1, 1], 1.5)
    assert found.epsilon == pytest.approx(1.5, rel=1e-9)
    assert found.epsilon <= 1.5


@pytest.mark.parametrize(("n", "epsilon"), [(7, "0.05"), (10, "0.1"), (20, "0.09")])
def test_where_a_weight_is_negative_it_is_refused_by_law_draw_and_release(n, epsilon):
    mechanism, counts = dp.mechanism("folded", epsilon), np.array([n - 2, 1, 1])
    weights = folded(simplex(n), float(epsilon)).weights
    assert weights.min() < -1e-6
    words = (
        rf"epsilon must be larger .* n = {n} records over k = 3 categories, got {epsilon}, where"
    )
    for call in (
        lambda: mechanism.law(counts, [1, 1, 1]),
        lambda: mechanism.draw(counts, np.ones(3), SeededBits(1)),
        lambda: dp.release(mechanism, counts, [1, 1, 1]),
        lambda: dp.audit(mechanism, n, [1, 1, 1]),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert absence(mechanism, n, 3).startswith("epsilon must be larger")
    assert absence(dp.mechanism("lattice", epsilon), n, 3) is None


@pytest.mark.parametrize(
    ("n", "k", "none", "some"),
    [(3, 3, 0.33, 0.37), (12, 3, 0.13, 0.14), (20, 3, 0.1, 0.12), (4, 4, 0.23, 0.26),
     (12, 4, 0.23, 0.26), (6, 5, 0.74, 0.8), (12, 5, 0.74, 0.8), (8, 6, 0.7, 0.75)],
)  # fmt: skip
def test_how_small_a_budget_may_be_hangs_on_records_and_categories(n, k, none, some):
    # foundations/mechanisms: for three or more categories, but for very few records.
    assert FoldedNoise(none).absence(n, k) is not None
    assert FoldedNoise(some).absence(n, k) is None


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 3), (2, 3), (2, 9), (1, 40), (3, 4), (3, 9)])
@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.3, 50.0])
def test_very_few_records_have_folded_noise_at_every_budget_tried(n, k, epsilon):
    assert FoldedNoise(epsilon).absence(n, k) is None


def test_sizes_are_refused_in_words_and_a_law_goes_further_than_a_release():
    mechanism, prior = FoldedNoise(1.0), [1, 1, 1]
    law = mechanism.law([50, 25, 25], prior)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ValueError, match=r"at most 400 classes .* in ball arithmetic, got 884"):
        dp.release(mechanism, [50, 25, 25], prior)
    with pytest.raises(ValueError, match="at most 400 classes"):
        FoldedNoise(1e-9).law([66, 30, 4], prior)
    with pytest.raises(ValueError, match="at most 1000 classes"):
        mechanism.law([80, 25, 25], prior)
    for counts in ([100] * 10, [10**9] * 3000):
        with pytest.raises(ValueError, match=r"counts must have a list of .* lattice takes them"):
            mechanism.law(counts, [1] * len(counts))


def test_a_sign_that_rounding_leaves_open_is_decided_in_balls(monkeypatch):
    counts, prior = [2, 5, 1], [1, 1, 1]
    sure = FoldedNoise(0.9).law(counts, prior)
    monkeypatch.setattr(tested, "_UNIT", 1e-3)
    tested._weights.cache_clear()
    open_sign = FoldedNoise(0.9).law(counts, prior)
    with pytest.raises(ValueError, match="where a weight is negative"):
        FoldedNoise(0.05).law(counts, prior)
    tested._weights.cache_clear()
    np.testing.assert_allclose(open_sign.log_probabilities, sure.log_probabilities, rtol=1e-12)
    assert open_sign.error_bound < sure.error_bound


def test_an_epsilon_is_taken_exactly_as_it_is_written():
    counts = np.array([1, 2, 1])
    tested._weights.cache_clear()
    FoldedNoise("1/3").law(counts, [1, 1, 1])
    assert FoldedNoise("1/3").guarantee(3).bound == Fraction(1, 3)
    assert tested._weights.cache_info().currsize == 1
    FoldedNoise(Fraction(1, 3)).law(counts, [1, 1, 1])
    assert tested._weights.cache_info().currsize == 1


def test_a_release_is_a_table_of_the_same_records_and_is_read_with_the_noise_in_mind():
    mechanism, counts = dp.mechanism("folded", 1.5), np.array([5, 9, 4])
    released = dp.release(mechanism, counts, [1, 1, 1])
    assert sum(released.counts) == 18
    assert released.noisy.tolist() == released.counts.tolist()
    assert "<= e^1.5 P[M(x') in S]; n itself is public" in released.guarantee.sentence


@pytest.mark.parametrize("noisy", [[0, 2, 4], [6, 0, 0]])
def test_the_noise_aware_reading_weighs_every_table_by_the_law(noisy):
    # Nothing is clamped, so that the reading is right at the edges as well.
    mechanism, prior = FoldedNoise(0.8), np.array([1.0, 0.5, 2.0])
    tables = dp.compositions(6, 3)
    weights = np.array([
        mechanism.law(x, prior).probability(noisy) * dirichlet_multinomial(x, prior) for x in tables
    ])  # fmt: skip
    posterior = (weights[:, None] * (tables + prior)).sum(axis=0) / weights.sum() / 9.5
    found = noise_aware(mechanism, np.array(noisy), 6, prior)
    np.testing.assert_allclose(found.mean, posterior, rtol=1e-12)


def dirichlet_multinomial(x, prior):
    gammas = [
        mpmath.gamma(a + c) / mpmath.gamma(a) / mpmath.factorial(c)
        for a, c in zip(prior.tolist(), x.tolist(), strict=True)
    ]
    return float(mpmath.fprod(gammas))


def test_draws_have_the_law_and_not_that_of_another_budget():
    mechanism, x, prior = FoldedNoise(1.0), np.array([1, 4, 0, 1]), np.ones(4)
    bits = SeededBits(17)
    drawn = np.array([mechanism.draw(x, prior, bits)[1] for _ in range(20_000)])
    value, limit = misfit(drawn, mechanism.law(x, prior))
    assert value <= limit
    value, limit = misfit(drawn, FoldedNoise(1.1).law(x, prior))
    assert value > limit


@pytest.mark.parametrize(
    ("n", "k", "epsilon"), [(8, 3, 1.0), (8, 3, 5.0), (4, 4, 1.0), (4, 3, 0.8)]
)
def test_at_the_larger_budgets_the_linear_program_finds_no_smaller_mean(n, k, epsilon):
    prior = [1.0] * k
    ours, best = (
        everywhere(dp.mechanism(m, epsilon), n, prior).mean for m in ("folded", "optimal")
    )
    # The program is solved for an epsilon smaller by 1e-7 and may have a mean as much larger.
    assert best * (1.0 - 2e-6) <= ours <= best
    assert ours < everywhere(dp.mechanism("lattice", epsilon), n, prior).mean


@pytest.mark.parametrize(("n", "k", "epsilon"), [(8, 3, 0.3), (4, 4, 0.3)])
def test_at_a_small_budget_it_is_not_optimal(n, k, epsilon):
    ours, best = (
        everywhere(dp.mechanism(m, epsilon), n, [1.0] * k).mean for m in ("folded", "optimal")
    )
    assert ours > 1.08 * best
