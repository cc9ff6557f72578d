"""Numbers with an error, what draws are worth, metrics, and comparisons of two laws."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.estimate import (
    CONFIDENCE,
    RELATIVE,
    Estimate,
    affinity_by_value,
    drawn_mean,
    drawn_quantile,
    log_affinity_of_outputs,
    metric_function,
    power_of_affinity,
    row_sums,
)
from dpbayes.laws.lattice import SumZeroLaw, listed_law
from dpbayes.laws.law import mean_difference, order, order_of
from dpbayes.laws.sum_zero import LatticeNoise

LAW = dp.mechanism("geometric", 0.3).law([15, 25], [1, 2])


def test_an_estimate_carries_its_error_through_copies_and_not_through_sums():
    number = Estimate(0.25, 1e-3, "drawn")
    for again in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert (again, again.error, again.how) == (0.25, 1e-3, "drawn")
    assert type(number * 2) is float
    assert f"{number!r} {number:.3f}" == "0.25 0.250"


# ---- metrics
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_a_name_its_function_and_its_exponent_are_one(metric):
    function = {"hellinger": dp.hellinger, "published": dp.hellinger_published}[metric]
    assert metric_function(metric) is metric_function(function) is function
    a, b = [3.0, 7.5], [4.0, 6.5]
    affinity = math.exp(float(dp.log_affinity(a, b)))
    # The published slip leaves out the totals, which are equal here.
    found = math.sqrt(1 - affinity ** power_of_affinity(metric, 10.5))
    assert function(a, b) == pytest.approx(found, rel=1e-12)


def test_another_function_is_taken_as_it_is_where_outputs_are_listed():
    def first_gap(a, b):
        return np.abs(np.asarray(a)[..., 0] - np.asarray(b)[..., 0])

    assert metric_function(first_gap) is first_gap
    with pytest.raises(TypeError, match="metric must be"):
        metric_function(float)
    assert power_of_affinity(first_gap, 10.0) is None
    law = dp.mechanism("geometric", 1.0).law([50, 50], [1, 1])
    assert law.mean_distance(first_gap) == pytest.approx(1 / math.sinh(1.0), rel=1e-9)


def test_affinities_of_long_columns_wide_columns_and_other_totals():
    rng, prior = np.random.default_rng(8), np.array([0.5, 2.0, 1.0])
    for at, rows in ((0, 300), (10**9, 4)):
        counts, outputs = at + np.array([3, 0, 4]), at + rng.integers(0, 99, (rows, 3))
        outputs[0] = counts
        ours = log_affinity_of_outputs(prior, counts, outputs)
        theirs = dp.log_affinity(prior + counts, prior + outputs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if at else 1e-12, atol=1e-15)
        assert row_sums(outputs).tolist() == outputs.sum(axis=1).tolist()
    assert affinity_by_value(0.5, 60, outputs[:0, 0]).size == 0


# ---- draws
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_drawn_answers_agree_with_the_exact_ones(metric):
    mean = drawn_mean(LAW, metric)
    assert mean.how == "drawn"
    assert abs(mean - LAW.mean_distance(metric)) < 4.5 * mean.error
    assert 0.5 * RELATIVE * mean < mean.error <= RELATIVE * mean
    square = drawn_mean(LAW, metric, 2)
    assert abs(square - LAW.mean_square(metric)) < 4.5 * square.error
    for q in (0.1, 0.5, 0.9):
        drawn = drawn_quantile(LAW, q, metric)
        low = LAW.quantile(q - drawn.error, metric)
        high = LAW.quantile(q + drawn.error, metric)
        assert low - 1e-12 <= drawn <= high + 1e-12
    # Massart's bound: 2 exp(-2 m e^2) is the probability of a larger error.
    assert 2 * math.exp(-2 * 200_000 * drawn.error**2) == pytest.approx(CONFIDENCE)


def test_whole_counts_that_floats_cannot_tell_apart_are_subtracted_first():
    n = 5 * 10**17
    law = dp.mechanism("geometric", 1.0).law([n, n], [1, 1])
    # H^2 is close to z^2 / (4 n), z the step: E|z| = 1 / sinh(1).
    assert law.mean_distance() == pytest.approx(
        0.5 / math.sinh(1.0) / math.sqrt(n), rel=1e-9
    )
    for name, k in (("lattice", 3), ("expMech-smooth", 2)):
        laws = (dp.mechanism(name, 1.0).law([size] * k, [1] * k) for size in (n, 10**9))
        near, small = (one.mean_distance() for one in laws)
        assert near == pytest.approx(small * math.sqrt(10**9 / n), rel=1e-6)
    with pytest.raises(
        ValueError, match="at most 2\\^53 for a distance other than hellinger"
    ):
        law.mean_distance(lambda a, b: np.abs(a - b)[..., 0])


def test_draws_that_all_agree_do_not_claim_to_be_exact():
    law = dp.mechanism("geometric", 40.0).law([15, 25], [1, 2])
    found = drawn_mean(law, "hellinger")
    assert found == 0.0
    assert law.mean_distance() <= found.error < 1e-4


# ---- comparisons
def test_sums_are_subtracted_with_their_errors():
    a, b = (
        dp.mechanism(name, 1.0).law([30, 40], [1, 1])
        for name in ("geometric", "lapMech")
    )
    found = mean_difference(a, b)
    assert found == a.mean_distance() - b.mean_distance()
    assert found.how == "listed"
    assert a.error_bound + b.error_bound <= found.error < 1e-13
    assert (order(a, b), order(b, a)) == (-1, 1)


@pytest.mark.parametrize(
    "names", [("expMech", "expMech-local"), ("lapMech", "lapMech")]
)
def test_equal_laws_are_a_tie_however_they_are_rounded(names):
    # One record: every sensitivity is the same, and both draw from the same two
    # answers.
    assert order(*(dp.mechanism(name, 9.0).law([1, 0], [1, 1]) for name in names)) == 0


def test_common_random_numbers_tell_close_means_apart():
    noise, prior = LatticeNoise(3, 0.1), np.ones(3)
    near, far = (np.array([0, 10, x]) for x in (40, 41))
    a, b = SumZeroLaw(prior, near, noise), SumZeroLaw(prior, far, noise)
    exact = [
        float(listed_law(prior, x, noise, "l2").mean_distance()) for x in (near, far)
    ]
    found = mean_difference(a, b)
    assert found.how == "drawn"
    assert found.error < 0.5 * np.hypot(
        a.mean_distance().error, b.mean_distance().error
    )
    assert abs(found - (exact[0] - exact[1])) <= 4.5 * found.error
    # Of a drawn and a listed mean the drawn one's error stays.
    listed = dp.mechanism("lapMech", 0.1).law(near, prior)
    assert mean_difference(a, listed).error == pytest.approx(
        a.mean_distance().error, rel=1e-6
    )
    assert order(a, listed) == -1


def test_an_order_needs_more_than_the_error():
    cases = [(1e-3, 9e-4, "listed", 1), (-1e-3, 1e-3, "series", 0), (-1e-3, 2.6e-4, "drawn", 0),
             (-1e-3, 2.4e-4, "drawn", -1), (0.0, 0.0, "listed", 0)]  # fmt: skip
    for value, error, how, sign in cases:
        assert order_of(Estimate(value, error, how)) == sign
