"""Score changes and smooth changes by brute force over candidates and neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import dpbayes as dp
from dpbayes.study.score_changes import score_changes, span_of_change
from tests.strategies import small_cases


@pytest.mark.slow
@settings(max_examples=30)
@given(small_cases())
def test_no_candidate_changes_more_than_the_true_posterior(case):
    counts, prior = case
    for metric, allowed in (("hellinger", 1e-12), ("published", 1e-9)):
        if metric == "hellinger" or prior.sum() > 1.0:
            largest = score_changes(counts, prior, metric)[1].max()
            assert largest <= dp.local_sensitivity(counts, prior, metric).value + allowed


@pytest.mark.slow
def test_score_changes_loop_over_candidates_and_neighbours():
    counts, prior = np.array([3, 2, 1]), np.array([1.0, 0.5, 2.0])
    outputs, changes = score_changes(counts, prior)
    for r, change in zip(outputs, changes, strict=True):
        own = dp.hellinger(prior + counts, prior + r)
        moved = [abs(own - dp.hellinger(prior + y, prior + r)) for y in dp.neighbours(counts)]
        assert change == pytest.approx(max(moved), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_changes([2, 1], [1, 1], "euclid"), "metric must be one of"),
        (lambda: score_changes([-1, 1], [1, 1]), "counts must be at least 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 7, 60])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.05, 0.05), (0.01, 40.0)])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 30.0])
def test_no_loss_of_local_sensitivity_exceeds_half_its_span(n, prior, epsilon):
    mechanism = dp.mechanism("expMech-local", epsilon)
    span = span_of_change(n, prior)
    # The law's own logarithms on another road: their differences, constant included.
    logs = [mechanism.law(x, prior).log_probabilities for x in dp.compositions(n, 2)]
    direct = max(np.ptp(logs[x + 1] - logs[x]) for x in range(n))
    assert direct == pytest.approx(epsilon / 2 * span, rel=1e-9, abs=1e-12)
    assert dp.audit(mechanism, n, prior).epsilon <= epsilon / 2 * span * (1 + 1e-9)
    assert span >= 2 - 1e-9


@pytest.mark.slow
def test_the_span_settles_the_flat_prior_and_no_small_one():
    assert max(span_of_change(n, [1, 1]) for n in (1, 2, 3, 10, 50, 300)) <= 2 * (1 + 1e-9)
    assert span_of_change(300, [0.02, 0.02]) > 2.2
    assert dp.audit(dp.mechanism("expMech-local", 1.0), 300, [0.02, 0.02]).epsilon > 1.0
