"""Exact coverage and errors: against simulation, quadrature and what must hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binom

import dpbayes as dp
from dpbayes.study.coverage import BinaryRelease, BinaryReport, simulated
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


@pytest.mark.parametrize("name", ["geometric", "ilapMech", "lapMech"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_report_covers_on_average_what_it_says_and_each_share_nearly(name, epsilon):
    report = BinaryReport.of(dp.mechanism(name, epsilon), 60, 0.9)
    drowned = epsilon == 0.1 and name == "lapMech"  # some intervals are [0, 1]
    assert report.coverage() >= 0.9 - 1e-9
    assert (report.coverage() < 0.9 + 1e-9) == (not drowned)
    assert min(report.coverage_at(s) for s in np.linspace(0.0, 1.0, 101)) > 0.8
    assert report.coverage_at(0.0) > 0.9
    assert report.table_coverage().min() > 0.8


def test_the_coverage_of_a_report_against_simulation():
    chosen, n, share, runs = dp.mechanism("geometric", 0.3), 40, 0.2, 3000
    report, rng = BinaryReport.of(chosen, n), np.random.default_rng(12)
    drawn = simulated(chosen, [share, 1 - share], n, [0], rng, runs)
    error = 5 * (0.95 * 0.05 / runs) ** 0.5
    assert abs(drawn.population[0] - report.coverage_at(share)) < error
    chances = binom(n, share).pmf(np.arange(n + 1))
    assert abs(drawn.table[0] - chances @ report.table_coverage()) < error


def falling(name, k):
    """Return shares of k categories; in "gaps" the last third are empty."""
    i = np.arange(1.0, k + 1.0)
    shares = {"balanced": i**0.0, "zipf": 1 / i, "steep": i**-1.5, "gaps": 1 / i}[name]
    if name == "gaps":
        shares[k - max(1, k // 3) :] = 0.0
    return shares / shares.sum()


GRID = list(
    itertools.product(
        (2, 5, 12, 30, 50), (200, 5000), (0.05, 0.3, 5.0),
        ("balanced", "zipf", "steep", "gaps"),
    )
)  # fmt: skip


@pytest.mark.slow
def test_no_share_is_covered_too_seldom_without_a_mark():
    """The largest, a middle and the last share, which may be empty; 0.95 is aimed at.

    One hundred releases of each table: an interval of .95 has fewer than 85 hits with
    probability below 1e-4.
    """
    rng, found = np.random.default_rng(20), {}
    for k, n, epsilon, name in GRID:
        middle = (k - max(1, k // 3)) // 2 if name == "gaps" else k // 2
        asked = (dp.mechanism("lattice", epsilon), falling(name, k), n)
        one = simulated(*asked, [0, middle, k - 1], rng, 100)
        found[k, n, epsilon, name] = one
        assert one.missed.max() <= 0.15, (k, n, epsilon, name, one)
    covered = np.concatenate([one.population for one in found.values()])
    assert 0.94 <= covered.mean() <= 0.97
    assert min(one.table.min() for one in found.values()) >= 0.85


@pytest.mark.slow
def test_a_stated_flat_prior_that_covers_too_seldom_is_marked():
    """What the report did by default before: intervals that miss nearly always."""
    rng, hits = np.random.default_rng(21), []
    for k, n, epsilon, name in [
        (50, 1000, 0.1, "steep"), (12, 200, 0.05, "steep"), (30, 200, 0.3, "steep"),
        (30, 200, 0.1, "zipf"), (12, 200, 0.1, "gaps"), (50, 1000, 1.0, "balanced"),
    ]:  # fmt: skip
        asked = (dp.mechanism("lattice", epsilon), falling(name, k), n)
        one = simulated(*asked, [0, k // 2], rng, 100, np.ones(k))
        assert one.missed.max() <= 0.15, (k, n, epsilon, name, one)
        hits.append(one.population[0])
    assert min(hits[:3]) < 0.1
    assert one.marked.max() <= 0.05  # where the data are enough nothing is marked
