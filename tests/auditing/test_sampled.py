from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dpbayes as dp
from dpbayes.auditing.sampled import _best_event, audit_by_sampling, clopper_pearson


@pytest.mark.slow
@given(runs=st.integers(1, 400), share=st.floats(0, 1), confidence=st.floats(0.6, 0.999))
def test_clopper_pearson_inverts_the_binomial_distribution(runs, share, confidence):
    hits = round(share * runs)
    low, high = clopper_pearson(hits, runs, confidence)
    assert 0.0 <= low <= hits / runs <= high <= 1.0
    if hits > 0:
        assert binom.sf(hits - 1, runs, low) == pytest.approx(1 - confidence, rel=1e-6)
    if hits < runs:
        assert binom.cdf(hits, runs, high) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geometric", "ilapMech", "expMech-smooth"])
def test_the_certificate_stays_below_the_truth_and_comes_close(name):
    mechanism, prior = dp.mechanism(name, 1.0), [1, 1]
    witness = dp.audit(mechanism, 20, prior).witness
    truth = dp.audit_pair(mechanism, witness.counts, witness.neighbour, prior).epsilon
    rng = np.random.default_rng(11)
    found = [
        audit_by_sampling(mechanism, witness.counts, witness.neighbour, prior, rng, 100_000).epsilon
        for _ in range(12)
    ]
    # One in a hundred may lie above; three of twelve doing so has probability 2e-4.
    assert sum(value > truth for value in found) <= 2
    assert np.median(found) > 0.5 * truth


@pytest.mark.slow
def test_choosing_and_certifying_on_the_same_half_would_overstate():
    mechanism, prior = dp.mechanism("geometric", 0.01), [1, 1]
    rng = np.random.default_rng(2)
    runs = [audit_by_sampling(mechanism, [10, 10], [11, 9], prior, rng, 2000) for _ in range(100)]
    truth = dp.audit_pair(mechanism, [10, 10], [11, 9], prior).epsilon
    assert np.mean([run.epsilon > truth for run in runs]) <= 0.05


def test_the_event_is_what_was_counted():
    mechanism = dp.mechanism("geometric", 1.0)
    found = audit_by_sampling(
        mechanism, [3, 5], [4, 4], [1, 1], np.random.default_rng(0), 10_000, 0.9
    )
    law = mechanism.law([3, 5], [1, 1]), mechanism.law([4, 4], [1, 1])
    chances = sorted(sum(one.probability(r) for r in found.event) for one in law)
    assert found.runs == 5000
    # One side of the middle is e times as likely under one of the two, each with half of the risk.
    assert {r <= 3 for r, _ in found.event.tolist()} in ({True}, {False})
    counts = np.array([5, 400, 300]), np.array([50, 390, 30])
    assert _best_event(*counts, 1000, 0.95)[1].tolist() == [2]
    low, high = (clopper_pearson(hit, 5000, 0.95)[i] for i, hit in enumerate(found.hits))
    assert found.epsilon == pytest.approx(np.log(low / high), rel=1e-12)
    assert sorted(hit / found.runs for hit in found.hits) == pytest.approx(chances, abs=0.04)


def test_bad_input():
    geometric, rng = dp.mechanism("geometric", 1.0), np.random.default_rng(0)
    with pytest.raises(ValueError, match="hits must be at most runs = 3"):
        clopper_pearson(4, 3, 0.9)
    with pytest.raises(ValueError, match="runs must be an integer of at least 4"):
        audit_by_sampling(geometric, [3, 5], [4, 4], [1, 1], rng, 2)
    with pytest.raises(ValueError, match="neighbour must differ from counts by one replaced"):
        audit_by_sampling(geometric, [3, 5], [5, 3], [1, 1], rng)
