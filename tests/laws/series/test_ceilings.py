"""Ceilings of Z(s) against Z(s) itself, and laws that only they make possible."""

import numpy as np
import pytest
from hypothesis import given, settings

import dpbayes as dp
from dpbayes.divergences import affinity_exponent
from dpbayes.laws.series.candidate_sums import AffinitySums
from dpbayes.laws.series.ceilings import _starts, log_ceilings
from dpbayes.laws.series.law import SeriesLaw
from tests.laws.series.test_law import agree, cases


def halving(n, k):
    """Half of n records, half of the rest, and so on: for large k many categories are empty."""
    counts = np.floor(n * 0.5 ** np.minimum(np.arange(1.0, k + 1), k - 1)).astype(np.int64)
    counts[0] += n - counts.sum()
    return counts


POWERS = np.array([0.05, 1.0, 7.5, 300.0])


@given(cases())
@settings(max_examples=20, deadline=None)
def test_no_sum_is_above_its_ceiling(case):
    counts, prior = case
    exact, _ = AffinitySums(prior, counts, POWERS[0]).log_sums(POWERS)
    assert np.all(log_ceilings(prior, counts, POWERS) >= exact - 1e-12)


def test_blocks_cover_every_step_once():
    starts = _starts(10**6)
    assert starts[0] == 1
    assert np.all(np.diff(starts) >= 1)
    assert np.all(starts[1:] <= np.maximum(starts[:-1] + 1, 1.1 * starts[:-1]))


@pytest.mark.parametrize("rate", [1e-3, 0.5, 4.0])
def test_terms_left_out_change_nothing(rate, monkeypatch):
    counts, prior = halving(10**6, 14), np.ones(14)
    short = SeriesLaw(prior, counts, rate)
    left_out = short.terms - int(short._counting(short._powers).sum())
    mean, affinity, work = short.mean_distance(), short.mean_affinity(), short.transformed
    monkeypatch.setattr(SeriesLaw, "_counting", lambda law, powers: np.full(powers.shape, True))
    whole = SeriesLaw(prior, counts, rate)
    assert left_out > 100
    assert work < whole.transformed
    assert short.log_partition == pytest.approx(whole.log_partition, rel=1e-14)
    assert mean == pytest.approx(whole.mean_distance(), abs=1e-14)
    assert affinity == pytest.approx(whole.mean_affinity(), abs=1e-14)


@pytest.mark.parametrize("rate", [1e-6, 0.1, 2.0])
def test_the_short_law_agrees_with_enumeration(rate):
    agree(np.array([30, 8, 2, 0, 0]), np.full(5, 0.7), rate)


@pytest.mark.parametrize(("k", "epsilon"), [(50, 1.0), (50, 10.0), (200, 1.0)])
def test_halving_shares_of_a_thousand_million_records(k, epsilon):
    # A second road: nearly all candidates are far away, as uniform draws and the law's own show.
    counts = halving(10**9, k)
    law = dp.mechanism("expMech-smooth", epsilon).law(counts, np.ones(k))
    uniform = np.random.default_rng(0).dirichlet(np.ones(k), 50)
    drawn = np.vstack((np.floor(uniform * 10**9), law.sample(np.random.default_rng(1), 50)))
    assert dp.hellinger(counts + 1.0, drawn + 1.0).min() == 1.0
    assert law.mean_distance() == pytest.approx(1.0, abs=1e-12)
    assert law.mean_affinity() == pytest.approx(0.0, abs=1e-12)
    assert law.error_bound < 1e-11
    assert law.log_probability(counts)[0] == -law.log_partition


def test_the_other_distance_of_data_that_are_far_from_nearly_all_candidates():
    counts, prior = halving(10**9, 50), np.ones(50)
    law = dp.mechanism("expMech-smooth", 1.0).law(counts, prior)
    mean = law.mean_distance("published")
    drawn = law.sample(np.random.default_rng(3), 50)
    assert mean.error < 1e-9
    assert dp.hellinger_published(counts + 1.0, drawn + 1.0) == pytest.approx(mean, abs=1e-9)
    square = law.affinity_moment(affinity_exponent("published", counts.sum() + 50.0))
    assert square == pytest.approx(0.0, abs=1e-12)
