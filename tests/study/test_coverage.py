"""Exact coverage and errors: against simulation, quadrature and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import dpbayes as dp
from dpbayes.study.coverage import BinaryRelease
from dpbayes.tables import noise_aware


@pytest.fixture(scope="module")
def geometric():
    return BinaryRelease(dp.mechanism("geometric", 0.5), 30, np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "name", ["geometric", "ilapMech", "expMech-smooth", "permute-and-flip"]
)
def test_noise_aware_intervals_cover_what_they_say(name):
    release = BinaryRelease(dp.mechanism(name, 0.6), 25, np.ones(2))
    for level in (0.5, 0.9):
        covered = release.coverage(level)
        assert covered.noise_aware == pytest.approx(level, abs=1e-10)
        assert covered.plug_in < level - 0.02


def test_coverage_against_simulation(geometric):
    rng = np.random.default_rng(4)
    theta = rng.beta(1.0, 2.0, 60_000)
    x = rng.binomial(30, theta)
    noise = rng.geometric(-np.expm1(-0.5), 60_000) - rng.geometric(
        -np.expm1(-0.5), 60_000
    )
    r = np.clip(x + noise, 0, 30)
    low, high = beta(1 + r, 2 + 30 - r).ppf([[0.05], [0.95]])
    drawn = np.mean((low <= theta) & (theta <= high))
    exact = geometric.coverage(0.9).plug_in
    assert drawn == pytest.approx(exact, abs=6 * np.sqrt(exact * (1 - exact) / 60_000))


@pytest.mark.slow
def test_intervals_agree_with_the_noise_aware_posterior():
    mechanism = dp.mechanism("expMech", 1.0)
    release = BinaryRelease(mechanism, 12, np.ones(2))
    for r in (0, 4, 12):
        single = noise_aware(mechanism, np.array([r, 12 - r]), 12, np.ones(2))
        found = release.noise_aware_intervals(0.8)[r]
        assert found == pytest.approx(single.credible_interval(0, 0.8), abs=1e-9)


@pytest.mark.slow
def test_errors_against_quadrature():
    release = BinaryRelease(dp.mechanism("geometric", 0.5), 8, np.array([1.0, 2.0]))
    parts = [beta(1.0 + y, 2.0 + 8 - y) for y in range(9)]
    plug, aware = 0.0, 0.0
    for x, row in enumerate(release.likelihood):
        for r, mass in enumerate(release.prior_masses[x] * row):

            def root(t, x=x, w=release.weights[r]):
                return np.sqrt(
                    parts[x].pdf(t)
                    * sum(p.pdf(t) * v for p, v in zip(parts, w, strict=True))
                )

            aware += mass * (1.0 - quad(root, 0, 1, limit=200)[0])
            plug += mass * float(dp.hellinger([1 + x, 10 - x], [1 + r, 10 - r])) ** 2
    found = release.mean_error(2)
    assert (found.plug_in, found.noise_aware) == pytest.approx((plug, aware), abs=1e-8)


def test_plug_in_wins_on_the_distance_and_loses_on_its_square_at_a_small_epsilon():
    for epsilon in (0.8, 1.0, 3.0):
        release = BinaryRelease(dp.mechanism("geometric", epsilon), 100, np.ones(2))
        first, second = release.mean_error(1), release.mean_error(2)
        assert first.plug_in < first.noise_aware
        assert (second.noise_aware < second.plug_in) == (epsilon < 3.0)
