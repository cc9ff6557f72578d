"""What the pages state in formulas, held against quadrature, high precision or brute force."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta as beta_law
from scipy.stats import laplace

import dpbayes as dp
from dpbayes.divergences import affinity_exponent, one_step_affinity
from tests.strategies import small_cases

POSITIVE = [(0.3, 2.7), (1.0, 1.0), (5.0, 6.0), (20.0, 33.0)]


def psi(s, t):
    return mp.loggamma((s + t) / mp.mpf(2)) - (mp.loggamma(s) + mp.loggamma(t)) / 2


def test_the_misprinted_beta_density_does_not_integrate_to_one():
    area, _ = quad(lambda theta: theta * (1 - theta) / np.exp(betaln(1, 1)), 0, 1)
    assert area == pytest.approx(1 / 6, rel=1e-12)


@pytest.mark.slow
@settings(deadline=None)
@given(small_cases())
def test_conjugacy_marginal_probability_is_a_ratio_of_beta_functions(case):
    counts, prior = case
    parameters, expected = prior.copy(), 0.0
    for i in np.repeat(np.arange(counts.size), counts):
        expected += np.log(parameters[i] / parameters.sum())
        parameters[i] += 1
    found = _log_beta(prior + counts) - _log_beta(prior)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(parameters, dp.posterior(counts, prior).concentration, rtol=1e-12)


def _log_beta(a):
    return float(sum(mp.loggamma(v) for v in a) - mp.loggamma(mp.fsum(a)))


@pytest.mark.slow
@settings(deadline=None)
@given(small_cases(largest=(12, 7, 5)))
def test_histogram_distance_counts_replacements(case):
    counts, _ = case
    reached, frontier = {tuple(counts): 0}, [tuple(counts)]
    while frontier:
        fresh = {tuple(y) for x in frontier for y in dp.neighbours(np.array(x))} - set(reached)
        reached |= dict.fromkeys(fresh, reached[frontier[0]] + 1)
        frontier = sorted(fresh)
    every = dp.compositions(int(counts.sum()), counts.size)
    assert len(reached) == len(every)
    for y in every:
        assert reached[tuple(y)] == np.abs(y - counts).sum() / 2


@pytest.mark.parametrize(("s", "t"), POSITIVE)
def test_integral_for_psi(s, t):
    def integrand(v):
        return (mp.exp(-s * v / 2) - mp.exp(-t * v / 2)) ** 2 / (2 * v * (1 - mp.exp(-v)))

    found = -mp.quad(integrand, [0, 0.1, 1, 5, 20, 100, mp.inf])
    assert float(found) == pytest.approx(float(psi(s, t)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("z", [0.05, 0.3, 1.0, 7.0, 300.0])
def test_one_step_integral_and_bounds(z):
    found = mp.quad(
        lambda v: -mp.exp(-z * v) * mp.tanh(v / 4) / (2 * v), [0, 0.1, 1, 5, 20, 100, mp.inf]
    )
    with mp.workdps(40):
        precise = psi(mp.mpf(z), mp.mpf(z) + 1)
        assert 1 / (8 * mp.mpf(z)) - 1 / (192 * mp.mpf(z) ** 3) < -precise < 1 / (8 * mp.mpf(z))
    exact = float(precise)
    assert float(found) == pytest.approx(exact, rel=1e-12)
    assert float(one_step_affinity(z)) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(("s", "t"), [*POSITIVE, (1e-4, 5.0)])
def test_recurrence(s, t):
    m = (s + t) / 2
    right = psi(s + 1, t + 1) + mp.log(s * t / m**2) / 2
    assert float(right) == pytest.approx(float(psi(s, t)), rel=1e-13, abs=1e-15)


def _six_terms(z):
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
    exact = [mp.mpf(1) / 12, -mp.mpf(1) / 360, mp.mpf(1) / 1260, -mp.mpf(1) / 1680]
    exact += [mp.mpf(1) / 1188, -mp.mpf(691) / 360360]
    np.testing.assert_allclose([float(c) for c in exact], terms)
    return mp.fsum(c / mp.mpf(z) ** (2 * j + 1) for j, c in enumerate(exact))


@pytest.mark.parametrize(("s", "t"), [(16, 17), (16, 100), (40.5, 41.5), (10**6, 10**6 + 1)])
def test_stable_form_with_six_terms_is_off_by_less_than_a_rounding(s, t):
    with mp.workdps(50):
        m, d = (s + t) / mp.mpf(2), (t - s) / mp.mpf(2)
        u = d / m
        bracket = (m - mp.mpf(1) / 2) * mp.log(1 - u**2) + 2 * d * mp.atanh(u)
        rest = _six_terms(m) - (_six_terms(m - d) + _six_terms(m + d)) / 2
        assert abs((-bracket / 2 + rest) / psi(s, t) - 1) < 1e-16


@pytest.mark.parametrize(("a", "b"), [((2.0, 3.0), (3.0, 2.0)), ((5.5, 1.5), (4.0, 3.0))])
def test_total_variation_lies_between_its_bounds(a, b):
    p, q = beta_law(*a).pdf, beta_law(*b).pdf
    variation = quad(lambda v: abs(p(v) - q(v)) / 2, 0, 1, limit=200)[0]
    h = float(dp.hellinger(a, b))
    assert h**2 < variation < h * np.sqrt(2 - h**2)


@pytest.mark.slow
def test_the_inequality_behind_the_corners():
    ratios = []
    with mp.workdps(40):
        for z in np.concatenate((np.logspace(-6, 5, 150), np.linspace(0.2, 0.35, 30))):
            z = mp.mpf(float(z))
            f = -psi(z, z + 1)
            first, second = (
                (mp.psi(m, z) + mp.psi(m, z + 1)) / 2 - mp.psi(m, z + mp.mpf(1) / 2) for m in (0, 1)
            )
            ratios.append(second / (first**2 * (1 + mp.mpf("1.5") / mp.expm1(f))))
    assert min(ratios) > mp.mpf("1.23")
    assert float(ratios[0]) == pytest.approx(2, rel=0.02)
    assert float(ratios[149]) == pytest.approx(4 / 3, rel=1e-4)


def _inverse_smooth(counts, prior, radius):
    table = dp.compositions(int(counts.sum()), counts.size)
    away = np.abs(table - counts).sum(axis=1) / 2
    near = table[away <= radius]
    local = np.array([dp.local_sensitivity(row, prior).value for row in near])
    return float(np.min(1 / local + away[away <= radius]))


@pytest.mark.slow
def test_smooth_sensitivity_over_neighbours_only_is_not_smooth():
    prior = np.full(3, 0.1)
    x, neighbour = np.array([10, 8, 2]), np.array([9, 8, 3])
    truncated = [_inverse_smooth(row, prior, 1) for row in (x, neighbour)]
    assert abs(truncated[0] - truncated[1]) > 1.3
    complete = [1 / dp.smooth_sensitivity(row, prior).value for row in (x, neighbour)]
    assert complete[0] == pytest.approx(_inverse_smooth(x, prior, 20), rel=1e-12)
    assert abs(complete[0] - complete[1]) <= 1 + 1e-12


@pytest.mark.parametrize("prior", [0.01, 0.1, 1.0])
def test_local_calibration_is_private_for_a_larger_epsilon(prior):
    n, alpha, epsilon = 12, np.full(2, prior), 1.0
    inverse = 1 / np.array([dp.local_sensitivity([x, n - x], alpha).value for x in range(n + 1)])
    allowed = (1 + np.max(np.abs(np.diff(inverse)))) * epsilon
    laws = [dp.mechanism("expMech-local", epsilon).law([x, n - x], alpha) for x in range(n + 1)]
    logs = np.array([law.log_probabilities for law in laws])
    assert np.max(np.abs(np.diff(logs, axis=0))) <= allowed + 1e-12


def test_whole_parts_are_half_a_record_too_small_on_average():
    steps = np.arange(-400, 400)
    for sensitivity in (1.0, 2.0):
        masses = dp.laplace_step_probability(steps, 1.0, sensitivity)
        cells = laplace.cdf(steps + 1, scale=sensitivity) - laplace.cdf(steps, scale=sensitivity)
        np.testing.assert_allclose(masses, cells, rtol=1e-9, atol=1e-15)
        assert float(masses @ steps) == pytest.approx(-0.5, rel=1e-12)


def test_published_exponent_shrinks_distances_as_the_page_says():
    for n, factor in ((100, 2.15), (15_000, 3.1)):
        assert affinity_exponent("published", n) ** -0.5 == pytest.approx(factor, abs=0.01)


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


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 3), (3, 4)])
def test_number_of_unordered_neighbouring_pairs(n, k):
    rows = dp.compositions(n, k)
    pairs = {frozenset((tuple(x), tuple(y))) for x in rows for y in dp.neighbours(x)}
    assert len(pairs) == k * (k - 1) // 2 * int(mp.binomial(n + k - 2, k - 1))


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
