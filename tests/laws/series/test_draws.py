"""Exact draws against the exact law, and what the tests can see."""

import numpy as np
import pytest
from scipy.stats import chi2

import dpbayes as dp
from dpbayes.laws.series.draws import uniform_histograms
from dpbayes.laws.series.law import SeriesLaw

ALPHA = 1e-6


def misfit(observed, probabilities):
    """p-value of Pearson's statistic with cells pooled at an expected count of 5."""
    order = np.argsort(probabilities)
    expected = probabilities[order] * observed.sum()
    pools = np.minimum((np.cumsum(expected) // 5).astype(int), int(expected.sum() // 5) - 1)
    pooled = np.bincount(pools, expected)
    hits = np.bincount(pools, observed[order])
    kept = pooled > 0
    statistic = ((hits[kept] - pooled[kept]) ** 2 / pooled[kept]).sum()
    return chi2.sf(statistic, kept.sum() - 1)


def rows_of(draws, outputs):
    places = {tuple(output): i for i, output in enumerate(outputs.tolist())}
    return np.bincount([places[tuple(draw)] for draw in draws.tolist()], minlength=len(outputs))


CASES = [
    ([4, 3, 5], [1.0, 1.0, 1.0], 2.0),
    ([0, 0, 9], [0.3, 1e-3, 2.0], 6.0),
    ([2, 0, 1, 3], [1.0, 0.5, 4.0, 1.0], 0.1),
    ([10, 0], [1.0, 1e-6], 3.0),
]


@pytest.mark.parametrize(("counts", "prior", "rate"), CASES)
def test_draws_follow_the_law_and_not_another(counts, prior, rate):
    law = SeriesLaw(np.array(prior), np.array(counts), rate)
    outputs = dp.compositions(int(law.counts.sum()), law.counts.size)
    observed = rows_of(law.sample(np.random.default_rng(7), 30_000), outputs)
    assert misfit(observed, np.exp(law.log_probability(outputs))) > ALPHA


def test_a_rate_wrong_by_a_fifth_is_seen():
    law = SeriesLaw(np.ones(3), np.array([4, 3, 5]), 5.0)
    wrong = SeriesLaw(np.ones(3), np.array([4, 3, 5]), 6.0)
    outputs = dp.compositions(12, 3)
    observed = rows_of(wrong.sample(np.random.default_rng(7), 30_000), outputs)
    assert misfit(observed, np.exp(law.log_probability(outputs))) < ALPHA


def test_uniform_histograms_are_uniform():
    outputs = dp.compositions(5, 3)
    observed = rows_of(uniform_histograms(np.random.default_rng(3), 5, 3, 30_000), outputs)
    assert misfit(observed, np.full(len(outputs), 1 / len(outputs))) > ALPHA


def test_same_generator_same_draws_and_no_order_by_term():
    law = SeriesLaw(np.ones(3), np.array([40, 30, 50]), 5.0)
    first, second = (law.sample(np.random.default_rng(5), 4000) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    distances = dp.hellinger(law.prior + law.counts, law.prior + first)
    halves = distances[:2000], distances[2000:]
    spread = 6.0 * distances.std() / np.sqrt(1000)
    assert halves[0].mean() == pytest.approx(halves[1].mean(), abs=spread)
    assert law.sample(np.random.default_rng(5), 0).shape == (0, 3)


def test_quantile_interval_and_tail_hold_the_exact_values():
    counts, prior = np.array([12, 20, 3]), np.ones(3)
    law = SeriesLaw(prior, counts, 4.0)
    outputs = dp.compositions(35, 3)
    probabilities = np.exp(law.log_probability(outputs))
    distances = dp.hellinger(prior + counts, prior + outputs)
    order = np.argsort(distances)
    simulated = law.simulated()
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        place = min(np.searchsorted(np.cumsum(probabilities[order]), q), len(order) - 1)
        low, high = simulated.quantile_interval(q)
        assert low - 1e-9 <= distances[order][place] <= high + 1e-9
        assert low <= law.quantile(q) <= high
    for distance in (0.0, 0.2, 0.5, 0.99):
        tail = simulated.tail(distance)
        exact = probabilities[distances > distance + 1e-9].sum()
        assert tail.low <= exact <= tail.high
        assert tail.low <= tail.value <= tail.high
