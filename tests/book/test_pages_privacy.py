"""What the pages on mechanisms, proofs and audits state, held against exact laws."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace

import dpbayes as dp
from dpbayes.divergences import affinity_exponent
from tests.strategies import small_cases


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(small_cases(largest=(15, 7, 4)), st.floats(0.05, 3.0))
def test_the_rescaled_score_changes_by_at_most_one_plus_gamma(case, gamma):
    counts, prior = case
    candidates = prior + dp.compositions(int(counts.sum()), counts.size)

    def score(x):
        smooth = dp.smooth_sensitivity(x, prior, gamma).value
        return dp.hellinger(prior + x, candidates) / smooth

    here = score(counts)
    for neighbour in dp.neighbours(counts):
        assert np.max(np.abs(here - score(neighbour))) <= 1 + gamma + 1e-9


@pytest.mark.parametrize("prior", [0.01, 0.1, 1.0])
def test_local_calibration_is_private_for_a_larger_epsilon(prior):
    n, alpha, epsilon = 12, np.full(2, prior), 1.0
    inverse = 1 / np.array([dp.local_sensitivity([x, n - x], alpha).value for x in range(n + 1)])
    allowed = (1 + np.max(np.abs(np.diff(inverse)))) * epsilon
    laws = [dp.mechanism("expMech-local", epsilon).law([x, n - x], alpha) for x in range(n + 1)]
    logs = np.array([law.log_probabilities for law in laws])
    assert np.max(np.abs(np.diff(logs, axis=0))) <= allowed + 1e-12


def _largest_loss(name, epsilon, n, k):
    prior = np.ones(k)
    losses = []
    for x in dp.compositions(n, k):
        law = dp.mechanism(name, epsilon).law(x, prior)
        for y in dp.neighbours(x):
            other = dp.mechanism(name, epsilon).law(y, prior)
            losses.append(np.max(law.log_probabilities - other.log_probabilities))
    return float(max(losses))


@pytest.mark.parametrize(
    ("name", "n", "k", "share"),
    [
        ("lapMech", 6, 2, 1 / 2),
        ("ilapMech", 6, 2, 1),
        ("geometric", 6, 2, 1),
        ("lapMech", 4, 3, 2 / 3),
        ("ilapMech", 4, 3, 1),
        ("lapMech", 2, 4, 1 / 2),
    ],
)
def test_the_laplace_family_spends_what_the_theorem_says(name, n, k, share):
    assert _largest_loss(name, 1.2, n, k) == pytest.approx(1.2 * share, rel=1e-9)


def test_whole_parts_are_half_a_record_too_small_on_average():
    steps = np.arange(-400, 400)
    for sensitivity in (1.0, 2.0):
        masses = dp.laplace_step_probability(steps, 1.0, sensitivity)
        cells = laplace.cdf(steps + 1, scale=sensitivity) - laplace.cdf(steps, scale=sensitivity)
        np.testing.assert_allclose(masses, cells, rtol=1e-9, atol=1e-15)
        assert float(masses @ steps) == pytest.approx(-0.5, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_limit_of_the_smooth_mechanism(gamma):
    rate = 1.0 / (2 * (1 + gamma))
    errors = []
    for half in (500, 5000):
        law = dp.mechanism("expMech-smooth", 1.0, gamma=gamma).law([half, half], [1, 1])
        found = law.probabilities[half : half + 4]
        limit = np.tanh(rate / 2) * np.exp(-rate * np.arange(4))
        errors.append(float(np.max(np.abs(found / limit - 1))))
    assert errors[1] < errors[0] / 5 < 0.01


def test_published_exponent_shrinks_distances_as_the_page_says():
    for n, factor in ((100, 2.15), (15_000, 3.1)):
        assert affinity_exponent("published", n) ** -0.5 == pytest.approx(factor, abs=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_ceiling_of_the_guesser_holds_for_every_output(epsilon):
    for x, y in itertools.pairwise(dp.compositions(8, 2)):
        laws = [dp.mechanism("geometric", epsilon).law(row, [1, 1]) for row in (x, y)]
        odds = np.exp(laws[0].log_probabilities - laws[1].log_probabilities)
        ceiling = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert np.max(odds / (1 + odds)) <= ceiling + 1e-12


def test_the_lemmas_hold_for_the_function_and_not_for_probabilities_of_scores():
    mechanism = dp.mechanism("expMech-delta", 1.0, delta=1e-6)
    counts, prior = np.array([12, 12]), np.ones(2)
    law = mechanism.law(counts, prior)
    rate = mechanism.rate(counts, prior)
    sensitivity, epsilon, delta = mechanism.sensitivity(counts, prior).value, 1.0, 1e-6
    normaliser = float(np.exp(-rate * law.distances).sum())

    def h(u):
        return np.exp(rate * u) / normaliser

    scores = -law.distances
    for shift in np.linspace(-sensitivity, sensitivity, 9):
        assert np.all(h(scores) <= np.exp(epsilon / 2) * h(scores + shift) * (1 + 1e-12))
    gamma = mechanism.calibration.gamma(24, epsilon)
    for stretch in np.linspace(-gamma, gamma, 9):
        bound = np.exp(epsilon / 2) * h(np.exp(stretch) * scores) + delta / 2
        assert np.all(h(scores) <= bound * (1 + 1e-12))
    # A score between two attained ones has probability zero; the left side has not.
    assert not np.any(np.isclose(scores, scores[12] - sensitivity / 2, atol=1e-6))
    assert law.probabilities[12] > delta / 2


@pytest.mark.parametrize("distance", ["hamming", "l1"])
@pytest.mark.parametrize(("epsilon", "prior"), [(0.5, 1.0), (5.0, 0.1), (20.0, 1e-6)])
def test_what_is_proved_for_the_mechanism_with_a_delta_holds(epsilon, prior, distance):
    mechanism = dp.mechanism("expMech-delta", epsilon, delta=1e-3, distance=distance)
    change = mechanism.calibration.gamma(30, epsilon) * (2 if distance == "l1" else 1)
    failure = 31 * np.exp(-epsilon / (2 * np.expm1(change)))
    if failure >= 1:
        return
    assert distance == "l1" or failure == pytest.approx(1e-3 / 2, rel=1e-9)
    allowed = 2 * epsilon - np.log1p(-failure)
    laws = [mechanism.law([x, 30 - x], [prior, prior]).probabilities for x in range(31)]
    for p, q in itertools.pairwise(laws):
        for first, second in ((p, q), (q, p)):
            assert np.sum(np.maximum(first - np.exp(allowed) * second, 0)) <= failure


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4))
def test_law_of_permute_and_flip_is_the_walk(others):
    weights = np.array([1.0, *others])
    walk = np.zeros(weights.size)
    for order in itertools.permutations(range(weights.size)):
        reached = 1.0
        for r in order:
            walk[r] += reached * weights[r]
            reached *= 1 - weights[r]
    walk /= float(mp.factorial(weights.size))
    for r in range(weights.size):
        rest = np.delete(weights, r)
        inside = quad(lambda t, rest=rest: float(np.prod(1 - rest * t)), 0, 1)[0]
        assert weights[r] * inside == pytest.approx(walk[r], rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 3), (3, 4)])
def test_number_of_unordered_neighbouring_pairs(n, k):
    rows = dp.compositions(n, k)
    pairs = {frozenset((tuple(x), tuple(y))) for x in rows for y in dp.neighbours(x)}
    assert len(pairs) == k * (k - 1) // 2 * int(mp.binomial(n + k - 2, k - 1))


def test_the_dominating_pair_of_the_page_reproduces_a_convex_curve():
    points = np.exp(np.linspace(-1.0, 1.0, 21))
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.5 / np.e, 0.3, 0.7 - 0.5 / np.e])
    inside = np.array([np.maximum(p - s * q, 0).sum() for s in points])
    points = np.concatenate(([0.0], points))
    heights = np.concatenate(([1.0], inside))
    slopes = np.concatenate((np.diff(heights) / np.diff(points), [0.0]))
    mass = np.diff(slopes)
    assert mass.min() > -1e-12
    assert mass.sum() == pytest.approx(1.0, rel=1e-9)
    assert (mass * points[1:]).sum() == pytest.approx(1.0, rel=1e-9)
    for s in np.linspace(0.1, 3.5, 30):
        line = np.interp(s, points, heights, right=0.0)
        assert np.maximum(mass * (points[1:] - s), 0).sum() == pytest.approx(line, abs=1e-9)
        assert line >= np.maximum(p - s * q, 0).sum() - 1e-12


@pytest.mark.parametrize(("k", "m"), [(2, 3), (3, 1), (3, 4), (4, 3), (5, 2)])
def test_number_of_vectors_that_sum_to_zero(k, m):
    vectors = itertools.product(range(-m, m + 1), repeat=k)
    found = sum(1 for z in vectors if sum(z) == 0 and sum(max(v, 0) for v in z) == m)
    binomial = [
        mp.binomial(k, j) * mp.binomial(m - 1, j - 1) * mp.binomial(m + k - j - 1, k - j - 1)
        for j in range(1, k)
    ]
    assert found == int(sum(binomial))


@pytest.mark.parametrize("v", [0.0, 0.3, 0.9])
def test_series_of_the_square_root(v):
    terms = [mp.binomial(2 * j, j) / ((2 * j - 1) * mp.mpf(4) ** j) for j in range(1, 400)]
    total = mp.fsum(c * mp.mpf(v) ** (j + 1) for j, c in enumerate(terms))
    assert float(1 - total) == pytest.approx(float(np.sqrt(1 - v)), rel=1e-9)
    assert min(terms) > 0


def test_smooth_calibration_needs_the_largest_value_of_the_score():
    # -2 ln BC, the Renyi divergence of order 1/2, exceeds one by far.
    n, prior, gamma, epsilon = 40, np.full(2, 0.01), 0.1, 1.0
    every = dp.compositions(n, 2)
    table = np.array([-2 * dp.log_affinity(prior + x, prior + every) for x in every])
    steps = np.abs(np.diff(table, axis=0)).max(axis=1)
    local = np.maximum(np.concatenate(([0.0], steps)), np.concatenate((steps, [0.0])))
    away = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    scores = table * (1 / local[None, :] + gamma * away).min(axis=1)[:, None]
    largest = float(table.max())
    assert 1 + gamma < np.max(np.abs(np.diff(scores, axis=0))) <= 1 + gamma * largest
    losses = []
    for factor in (2 * (1 + gamma), 2 * (1 + gamma * largest)):
        logs = -epsilon * scores / factor
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        losses.append(float(np.max(np.abs(np.diff(logs, axis=0)))))
    assert losses[0] > epsilon >= losses[1]
