"""Sum-zero lattice noise: counting, law, privacy, projection, sampler, mean at scale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import SumZeroLaw, listed_law
from dpbayes.laws.sum_zero import LatticeNoise, project
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.lattice import SumZeroLattice
from tests.strategies import histograms, small_cases


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("counts", [(0, 7), (3, 9), (6, 6)])
def test_two_categories_give_the_truncated_geometric(epsilon, counts):
    ours = listed_law(np.array([1.0, 2.0]), np.array(counts), LatticeNoise(2, epsilon), "l2")
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


@pytest.mark.slow
@pytest.mark.parametrize("how", ["l2", "l1"])
def test_law_against_one_vector_at_a_time(how):
    law = SumZeroLattice(1.5, projection=how).law((1, 4, 0), [1, 1, 1])
    np.testing.assert_allclose(law.probabilities, brute_force((1, 4, 0), 1.5, how), atol=1e-13)


@pytest.mark.slow
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


@pytest.mark.slow
def test_balanced_three_categories_match_the_expected_order():
    means = {
        name: dp.mechanism(name, 1.0).law([100] * 3, [1] * 3).mean_distance()
        for name in ("lattice", "ilapMech", "lapMech", "expMech-smooth")
    }
    assert means["lattice"] == pytest.approx(0.085, abs=5e-4)
    assert means["ilapMech"] == pytest.approx(0.162, abs=5e-4)
    assert means["lapMech"] == pytest.approx(0.233, abs=5e-4)
    assert means["expMech-smooth"] == pytest.approx(0.807, abs=5e-4)


def pearson(draws, law):
    keys, observed = np.unique(draws, axis=0, return_counts=True)
    expected = np.array([law.probability(row) for row in keys]) * len(draws)
    kept = expected >= 5
    rest_observed = len(draws) - observed[kept].sum()
    rest_expected = len(draws) - expected[kept].sum()
    statistic = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    return statistic + (rest_observed - rest_expected) ** 2 / max(rest_expected, 5.0), kept.sum()


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(9, 12, 10), (5, 6, 5, 7)])
def test_sampler_follows_the_law_and_the_test_sees_ten_percent(counts):
    # Chi-square with d degrees of freedom: mean d, deviation sqrt(2 d); six deviations allowed.
    prior = np.ones(len(counts))
    law = SumZeroLattice(1.0).law(counts, prior)
    rng = np.random.default_rng(5)
    described = prior, np.array(counts)
    drawn = SumZeroLaw(*described, LatticeNoise(len(counts), 1.0), "l2").sample(rng, 60_000)
    statistic, cells = pearson(drawn, law)
    assert statistic <= cells + 6 * math.sqrt(2 * cells)
    wide = LatticeNoise(len(counts), 1.0 / 1.1)
    wrong = SumZeroLaw(*described, wide, "l2").sample(rng, 60_000)
    statistic, cells = pearson(wrong, law)
    assert statistic > cells + 6 * math.sqrt(2 * cells)


@settings(max_examples=20, deadline=None)
@given(histograms(5, 200), st.integers(0, 10**6))
def test_samples_are_histograms_of_the_same_size(counts, seed):
    law = SumZeroLaw(np.ones(5), counts, LatticeNoise(5, 0.3), "l1")
    draws = law.sample(np.random.default_rng(seed), 50)
    assert np.all(draws >= 0)
    assert np.all(draws.sum(axis=1) == counts.sum())


def test_large_data_switch_to_the_series():
    law = dp.mechanism("lattice", 0.1).law([11019, 7309, 1560, 302], [1] * 4)
    assert isinstance(law, SumZeroLaw)
    mean = law.mean_distance()
    assert abs(mean - 0.343526) <= 1e-6 + (4.5 if mean.how == "drawn" else 1.0) * mean.error
    assert isinstance(dp.mechanism("lattice", 1.0).law([10**6] * 3, [1] * 3), FiniteLaw)


def test_bad_input():
    for epsilon, error in [(0.0, ValueError), (float("nan"), ValueError), (True, TypeError)]:
        with pytest.raises(error, match="epsilon"):
            SumZeroLattice(epsilon)
    with pytest.raises(ValueError, match="projection must be one of"):
        SumZeroLattice(1.0, projection="l3")
    with pytest.raises(ValueError, match="counts must be at least 0"):
        SumZeroLattice(1.0).law([-1, 2], [1, 1])
