"""What the pages state in formulas, held against quadrature, high precision or brute
force.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings

import dpbayes as dp
from dpbayes.divergences import affinity_exponent, one_step_affinity
from tests.strategies import small_cases

POSITIVE = [(0.3, 2.7), (1.0, 1.0), (5.0, 6.0), (20.0, 33.0)]


def psi(s, t):
    return mp.loggamma((s + t) / mp.mpf(2)) - (mp.loggamma(s) + mp.loggamma(t)) / 2


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
    np.testing.assert_allclose(
        parameters, dp.posterior(counts, prior).concentration, rtol=1e-12
    )


def _log_beta(a):
    return float(sum(mp.loggamma(v) for v in a) - mp.loggamma(mp.fsum(a)))


@pytest.mark.slow
@settings(deadline=None)
@given(small_cases(largest=(12, 7, 5)))
def test_histogram_distance_counts_replacements(case):
    counts, _ = case
    reached, frontier = {tuple(counts): 0}, [tuple(counts)]
    while frontier:
        fresh = {tuple(y) for x in frontier for y in dp.neighbours(np.array(x))} - set(
            reached
        )
        reached |= dict.fromkeys(fresh, reached[frontier[0]] + 1)
        frontier = sorted(fresh)
    every = dp.compositions(int(counts.sum()), counts.size)
    assert len(reached) == len(every)
    for y in every:
        assert reached[tuple(y)] == np.abs(y - counts).sum() / 2


@pytest.mark.parametrize(("s", "t"), POSITIVE)
def test_integral_for_psi(s, t):
    def integrand(v):
        return (mp.exp(-s * v / 2) - mp.exp(-t * v / 2)) ** 2 / (
            2 * v * (1 - mp.exp(-v))
        )

    found = -mp.quad(integrand, [0, 0.1, 1, 5, 20, 100, mp.inf])
    assert float(found) == pytest.approx(float(psi(s, t)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("z", [0.05, 0.3, 1.0, 7.0, 300.0])
def test_one_step_integral_and_bounds(z):
    found = mp.quad(
        lambda v: -mp.exp(-z * v) * mp.tanh(v / 4) / (2 * v),
        [0, 0.1, 1, 5, 20, 100, mp.inf],
    )
    with mp.workdps(40):
        precise = psi(mp.mpf(z), mp.mpf(z) + 1)
        assert (
            1 / (8 * mp.mpf(z)) - 1 / (192 * mp.mpf(z) ** 3)
            < -precise
            < 1 / (8 * mp.mpf(z))
        )
    exact = float(precise)
    assert float(found) == pytest.approx(exact, rel=1e-12)
    assert float(one_step_affinity(z)) == pytest.approx(exact, rel=1e-13)


def _six_terms(z):
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
    exact = [mp.mpf(1) / 12, -mp.mpf(1) / 360, mp.mpf(1) / 1260, -mp.mpf(1) / 1680]
    exact += [mp.mpf(1) / 1188, -mp.mpf(691) / 360360]
    np.testing.assert_allclose([float(c) for c in exact], terms)
    return mp.fsum(c / mp.mpf(z) ** (2 * j + 1) for j, c in enumerate(exact))


@pytest.mark.parametrize(
    ("s", "t"), [(16, 17), (16, 100), (40.5, 41.5), (10**6, 10**6 + 1)]
)
def test_stable_form_with_six_terms_is_off_by_less_than_a_rounding(s, t):
    with mp.workdps(50):
        m, d = (s + t) / mp.mpf(2), (t - s) / mp.mpf(2)
        u = d / m
        bracket = (m - mp.mpf(1) / 2) * mp.log(1 - u**2) + 2 * d * mp.atanh(u)
        rest = _six_terms(m) - (_six_terms(m - d) + _six_terms(m + d)) / 2
        assert abs((-bracket / 2 + rest) / psi(s, t) - 1) < 2e-17


def test_six_terms_of_the_series_at_sixteen():
    with mp.workdps(50):
        z = mp.mpf(16)
        exact = mp.loggamma(z) - (z - mp.mpf(1) / 2) * mp.log(z) + z
        exact -= mp.log(2 * mp.pi) / 2
        apart = float(abs(_six_terms(z) / exact - 1))
    assert apart == pytest.approx(2.7e-16, rel=0.02)


@pytest.mark.slow
def test_the_inequality_behind_the_corners():
    ratios = []
    with mp.workdps(40):
        for z in np.concatenate((np.logspace(-6, 5, 150), np.linspace(0.2, 0.35, 30))):
            z = mp.mpf(float(z))
            f = -psi(z, z + 1)
            first, second = (
                (mp.psi(m, z) + mp.psi(m, z + 1)) / 2 - mp.psi(m, z + mp.mpf(1) / 2)
                for m in (0, 1)
            )
            ratios.append(second / (first**2 * (1 + mp.mpf("1.5") / mp.expm1(f))))
    assert min(ratios) > mp.mpf("1.23")
    assert float(ratios[0]) == pytest.approx(2, rel=0.02)
    assert float(ratios[149]) == pytest.approx(4 / 3, rel=1e-4)


def test_published_exponent_shrinks_distances_as_the_page_says():
    for n, factor in ((100, 2.15), (15_000, 3.1)):
        assert affinity_exponent("published", n) ** -0.5 == pytest.approx(
            factor, abs=0.01
        )


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
