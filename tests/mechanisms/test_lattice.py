"""Sum-zero lattice noise: counting, law, privacy, projection, sampler, mean at scale."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.law import LatticeLaw, listed_law
from dpbayes.laws.lattice.projection import project
from dpbayes.laws.square_root import square_root_series
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.lattice import SumZeroLattice
from tests.strategies import histograms, small_cases


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_number_of_vectors_by_listing(k):
    listed = noise.points(k, 6)
    assert np.all(listed.sum(axis=1) == 0)
    assert len(np.unique(listed, axis=0)) == len(listed)
    positive = np.maximum(listed, 0)
    sizes, parts = positive.sum(axis=1), (positive > 0).sum(axis=1)
    counted = np.exp(noise.log_numbers(k, np.arange(1, 7)))
    for m, j in itertools.product(range(1, 7), range(1, k)):
        assert counted[m - 1, j - 1] == pytest.approx(np.sum((sizes == m) & (parts == j)))
    assert noise.number_of_points(k, 6) == pytest.approx(len(listed))


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.5), (4, 2.0), (7, 1.0)])
def test_normaliser_against_characteristic_function(k, epsilon):
    # sum over z of q^|z| with sum z = 0 is the mean over the circle of the k-th power of
    # sum_t q^|t| e^(i t w) = (1 - q^2) / (1 - 2 q cos w + q^2).
    q = mpmath.exp(-mpmath.mpf(epsilon) / 2)
    with mpmath.workdps(30):
        mean = (
            mpmath.quad(
                lambda w: ((1 - q**2) / (1 - 2 * q * mpmath.cos(w) + q**2)) ** k,
                [0, 0.1, 1, mpmath.pi],
            )
            / mpmath.pi
        )
    assert math.exp(noise.log_normaliser(k, epsilon)) == pytest.approx(float(mean), rel=1e-12)


@given(
    st.sampled_from([2, 3, 4]).flatmap(
        lambda k: st.lists(st.integers(-4, 6), min_size=k, max_size=k)
    ),
    st.sampled_from(["l1", "l2"]),
)
def test_projection_is_a_nearest_histogram(row, how):
    noisy = np.array([row])
    if noisy.sum() < 0:
        noisy[0, 0] -= noisy.sum()
    n, k = int(noisy.sum()), noisy.shape[1]
    found = project(noisy, how)[0]
    assert found.sum() == n
    assert found.min() >= 0
    steps = dp.compositions(n, k) - noisy
    assert np.abs(found - noisy[0]).sum() == np.abs(steps).sum(axis=1).min()
    if how == "l2":
        assert ((found - noisy[0]) ** 2).sum() == (steps**2).sum(axis=1).min()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("counts", [(0, 7), (3, 9), (6, 6)])
def test_two_categories_give_the_truncated_geometric(epsilon, counts):
    ours = listed_law(np.array([1.0, 2.0]), np.array(counts), epsilon, "l2")
    other = TruncatedGeometric(epsilon).law(counts, [1, 2])
    np.testing.assert_allclose(ours.probabilities, other.probabilities, rtol=1e-12)
    assert SumZeroLattice(epsilon).law(counts, [1, 2]).mass_outside == 0.0


def brute_force(counts, epsilon, how):
    """Probabilities of all histograms, one noise vector at a time."""
    k, n = len(counts), sum(counts)
    outputs = [tuple(row) for row in dp.compositions(n, k).tolist()]
    masses = dict.fromkeys(outputs, 0.0)
    total = 0.0
    for z in itertools.product(range(-40, 41), repeat=k - 1):
        full = (*z, -sum(z))
        weight = math.exp(-epsilon * sum(map(abs, full)) / 2)
        total += weight
        noisy = np.array([counts]) + np.array([full])
        masses[tuple(project(noisy, how)[0].tolist())] += weight
    return np.array([masses[row] / total for row in outputs])


@pytest.mark.parametrize("how", ["l2", "l1"])
def test_law_against_one_vector_at_a_time(how):
    law = SumZeroLattice(1.5, projection=how).law((1, 4, 0), [1, 1, 1])
    np.testing.assert_allclose(law.probabilities, brute_force((1, 4, 0), 1.5, how), atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(small_cases((2, 3), (20, 8)), st.floats(0.5, 5.0), st.sampled_from(["l1", "l2"]))
@example((np.array([2, 0, 1, 0]), np.ones(4)), 2.0, "l2")
def test_exact_audit_keeps_the_promised_epsilon(case, epsilon, how):
    counts, prior = case
    mechanism = SumZeroLattice(epsilon, projection=how)
    here = mechanism.law(counts, prior)
    assert here.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    for other in dp.neighbours(counts):
        there = mechanism.law(other, prior)
        loss = np.abs(here.log_probabilities - there.log_probabilities).max()
        assert loss <= epsilon + 1e-10


def test_balanced_three_categories_match_the_expected_order():
    means = {
        name: dp.mechanism(name, 1.0).law([100] * 3, [1] * 3).mean_distance()
        for name in ("lattice", "ilapMech", "lapMech", "expMech-smooth")
    }
    assert means["lattice"] == pytest.approx(0.085, abs=5e-4)
    assert means["ilapMech"] == pytest.approx(0.162, abs=5e-4)
    assert means["lapMech"] == pytest.approx(0.233, abs=5e-4)
    assert means["expMech-smooth"] == pytest.approx(0.807, abs=5e-4)


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [
        ((60, 80, 100), (1.0, 1.0, 1.0), 1.0),
        ((150, 150), (1.0, 1.0), 0.5),
        ((40, 40, 40, 40), (0.5, 1.0, 2.0, 3.0), 2.0),
        ((10**6, 10**6, 10**6), (1.0, 1.0, 1.0), 1.0),
        ((11019, 7309, 1560, 302), (1.0, 1.0, 1.0, 1.0), 1.0),
    ],
)
@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_mean_by_series_against_listing(counts, prior, epsilon, metric):
    x, alpha = np.array(counts), np.array(prior)
    listed = listed_law(alpha, x, epsilon, "l2")
    estimate = LatticeLaw(alpha, x, epsilon, "l2").mean_distance(metric)
    assert estimate.how == "series"
    assert estimate.error < 1e-9
    assert estimate.value == pytest.approx(listed.mean_distance(metric), abs=2 * estimate.error)


def test_clamped_mass_is_exact_and_covers_the_error():
    x, alpha = np.array([6, 40, 40]), np.ones(3)
    law = LatticeLaw(alpha, x, 2.0, "l2")
    shifts = noise.points(3, 60)
    weights = np.exp(-np.abs(shifts).sum(axis=1))
    negative = (x + shifts < 0).any(axis=1)
    assert law.clamped == pytest.approx(weights[negative].sum() / weights.sum(), rel=1e-8)
    estimate = law.mean_distance()
    exact = listed_law(alpha, x, 2.0, "l2").mean_distance()
    assert estimate.how == "series"
    assert abs(estimate.value - exact) <= estimate.error


def test_drawn_mean_keeps_its_stated_error():
    x, alpha = np.array([0, 1, 2]), np.ones(3)
    estimate = LatticeLaw(alpha, x, 0.5, "l1").mean_distance()
    assert estimate.how == "draws"
    exact = listed_law(alpha, x, 0.5, "l1")
    assert abs(estimate.value - exact.mean_distance()) <= estimate.error
    q = LatticeLaw(alpha, x, 0.5, "l1").quantile(0.5)
    assert exact.quantile(0.494) <= q <= exact.quantile(0.506)


@pytest.mark.parametrize("largest", [1.0, 1e4, 1e8])
def test_square_root_series(largest):
    series = square_root_series(40 * largest)
    assert series.weights.sum() + series.rest == pytest.approx(1.0, abs=1e-14)
    for log_z in (-1.0 / largest, -3.7 / largest, -2.0):
        value = series.mean_root(-np.expm1(series.powers * log_z), 1.0)
        assert value == pytest.approx(float(mpmath.sqrt(-mpmath.expm1(log_z))), rel=1e-12)


def pearson(draws, law):
    keys, observed = np.unique(draws, axis=0, return_counts=True)
    expected = np.array([law.probability(row) for row in keys]) * len(draws)
    kept = expected >= 5
    rest_observed = len(draws) - observed[kept].sum()
    rest_expected = len(draws) - expected[kept].sum()
    statistic = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    return statistic + (rest_observed - rest_expected) ** 2 / max(rest_expected, 5.0), kept.sum()


@pytest.mark.parametrize("counts", [(9, 12, 10), (5, 6, 5, 7)])
def test_sampler_follows_the_law_and_the_test_sees_ten_percent(counts):
    # Chi-square with d degrees of freedom: mean d, deviation sqrt(2 d); six deviations allowed.
    prior = np.ones(len(counts))
    law = SumZeroLattice(1.0).law(counts, prior)
    rng = np.random.default_rng(5)
    drawn = LatticeLaw(prior, np.array(counts), 1.0, "l2").sample(rng, 60_000)
    statistic, cells = pearson(drawn, law)
    assert statistic <= cells + 6 * math.sqrt(2 * cells)
    wrong = LatticeLaw(prior, np.array(counts), 1.0 / 1.1, "l2").sample(rng, 60_000)
    statistic, cells = pearson(wrong, law)
    assert statistic > cells + 6 * math.sqrt(2 * cells)


@settings(max_examples=20, deadline=None)
@given(histograms(5, 200), st.integers(0, 10**6))
def test_samples_are_histograms_of_the_same_size(counts, seed):
    law = LatticeLaw(np.ones(5), counts, 0.3, "l1")
    draws = law.sample(np.random.default_rng(seed), 50)
    assert np.all(draws >= 0)
    assert np.all(draws.sum(axis=1) == counts.sum())


def test_large_data_switch_to_the_series():
    law = dp.mechanism("lattice", 0.1).law([11019, 7309, 1560, 302], [1] * 4)
    assert isinstance(law, LatticeLaw)
    assert law.mean_distance() == pytest.approx(0.343526, abs=1e-6)
    exact = law.probability([11020, 7308, 1560, 302])
    assert law.probability([11019, 7309, 1560, 302]) / exact == pytest.approx(math.exp(0.1))
    assert law.probability([11020, 7309, 1560, 302]) == 0.0
    assert isinstance(dp.mechanism("lattice", 1.0).law([10**6] * 3, [1] * 3), FiniteLaw)


def test_bad_input():
    for epsilon, error in [(0.0, ValueError), (float("nan"), ValueError), (True, TypeError)]:
        with pytest.raises(error, match="epsilon"):
            SumZeroLattice(epsilon)
    with pytest.raises(ValueError, match="projection must be one of"):
        SumZeroLattice(1.0, projection="l3")
    with pytest.raises(ValueError, match="counts must be at least 0"):
        SumZeroLattice(1.0).law([-1, 2], [1, 1])
    with pytest.raises(ValueError, match="at most 20000000 fit"):
        SumZeroLattice(1e-7).law([5, 5, 5], [1, 1, 1])
    law = LatticeLaw(np.ones(3), np.array([5, 5, 5]), 1.0, "l1")
    with pytest.raises(ValueError, match="must be positive at this size"):
        law.probability([0, 5, 10])
    with pytest.raises(ValueError, match="3 entries"):
        law.probability([7, 8])
    with pytest.raises(TypeError, match="Generator"):
        law.sample(7, 2)
