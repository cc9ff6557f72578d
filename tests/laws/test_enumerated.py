"""The law over all candidates without a list, against the list it makes when one is asked."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws import affinities
from dpbayes.laws.affinities import CandidateAffinities, log_affinity_of_outputs
from dpbayes.laws.enumerated import EnumeratedLaw, Weights
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.sums import AT_ONCE
from tests.strategies import small_cases

NAMED = ("hellinger", "published")


@settings(max_examples=40, deadline=None)
@given(small_cases((2, 3, 4), (12, 5, 4)), st.sampled_from(NAMED), st.floats(0.1, 50.0))
def test_answers_without_a_list_are_those_of_the_list(case, scored, rate):
    counts, prior = case
    total = float(prior.sum() + counts.sum())
    if total <= 1.0:
        return
    exponent = 1.0 if scored == "hellinger" else float(1.0 / np.log(total))
    law = EnumeratedLaw.of(Weights(prior, counts, rate, exponent))
    answers = [law.probability(law.counts), law.error_bound]
    answers += [moment(metric) for metric in NAMED for moment in (law.mean_distance, law.variance)]
    assert "outputs" not in vars(law)
    listed = replace(law, conserved=False)
    assert type(listed) is FiniteLaw
    theirs = [listed.probability(law.counts), listed.error_bound]
    theirs += [
        moment(metric) for metric in NAMED for moment in (listed.mean_distance, listed.variance)
    ]
    np.testing.assert_allclose(answers, theirs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(law.probabilities.sum(), 1.0, rtol=1e-14)
    rows = np.concatenate((law.outputs, law.outputs + 1))
    np.testing.assert_allclose(law.probability(rows), listed.probability(rows), rtol=1e-13)
    for metric in (*NAMED, dp.hellinger):
        assert law.quantile(0.7, metric) == pytest.approx(listed.quantile(0.7, metric), abs=1e-12)


def test_the_mean_of_a_million_candidates_keeps_its_digits():
    law = dp.mechanism("expMech-smooth", 1.0).enumerated([329, 471, 612], np.ones(3))
    distances = law.distances.astype(np.longdouble)
    weights = np.exp(-law._weights.rate * distances)
    for power, found in ((1, law.mean_distance()), (2, law.mean_square())):
        mean = (weights * distances**power).sum() / weights.sum()
        assert abs(float(found - mean)) < 1e-15
    assert law.log_probabilities.max() == pytest.approx(-float(np.log(weights.sum())), rel=1e-15)


def test_the_largest_probability_keeps_its_digits_where_it_is_almost_one():
    law = EnumeratedLaw.of(Weights(np.ones(2), np.array([3, 1]), 200.0, 1.0))
    others = np.exp(-200.0 * np.delete(law.distances, 3)).sum()
    assert law.log_probabilities[3] == pytest.approx(-others, rel=1e-14)
    assert -1e-12 < law.log_probabilities[3] < 0.0


@pytest.mark.parametrize("counts", [[9, 4], [30, 4, 17], [5, 0, 3, 9], [1, 0, 2, 0, 1, 1]])
@pytest.mark.parametrize("long_runs", [0, 10**9])
def test_pieces_are_cut_anywhere(monkeypatch, counts, long_runs):
    monkeypatch.setattr(affinities, "_LONG_RUNS", long_runs)
    x, prior = np.array(counts), np.linspace(0.3, 2.0, len(counts))
    every = CandidateAffinities(prior, x)
    expected = log_affinity_of_outputs(prior, x, dp.compositions(int(x.sum()), x.size))
    assert every.size == expected.size
    cuts = [0, 1, 2, every.size // 3, every.size // 3, every.size - 1, every.size]
    found = [every.piece(first, last) for first, last in pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=4e-15, atol=1e-15)


def test_a_run_may_be_longer_than_a_piece():
    counts = np.array([2 * AT_ONCE, AT_ONCE + 5])
    law = EnumeratedLaw.of(Weights(np.ones(2), counts, 40.0, 1.0))
    assert law.mean_distance() == pytest.approx(law.expectation(law.distances), rel=1e-14)


def test_a_law_without_a_list_is_sent_without_one():
    law = dp.mechanism("expMech", 1.0).law([4, 0, 9], [1.0, 0.2, 3.0])
    sent = pickle.loads(pickle.dumps(law))
    assert type(sent) is EnumeratedLaw
    assert "outputs" not in vars(sent)
    assert sent.mean_distance() == law.mean_distance()
    np.testing.assert_array_equal(sent.outputs, dp.compositions(13, 3))


def test_too_many_candidates_are_refused_before_any_work():
    with pytest.raises(ValueError, match="at most 16666666 can be enumerated"):
        dp.mechanism("expMech", 1.0).enumerated([10_000] * 3, np.ones(3))
