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
    affinity_by_value,
    drawn_cdf,
    drawn_mean,
    drawn_quantile,
    log_affinity_of_outputs,
    metric_function,
    power_of_affinity,
    row_sums,
)
from dpbayes.laws.lattice import SumZeroLaw, listed_law
from dpbayes.laws.law import mean_difference, order, order_of
from dpbayes.laws.numbers import (
    Estimate,
    Estimates,
)
from dpbayes.laws.sum_zero import LatticeNoise

LAW = dp.mechanism("geometric", 0.3).law([15, 25], [1, 2])


def test_an_estimate_carries_its_error_through_copies_and_not_through_sums():
    number = Estimate.drawn(0.25, 1e-3)
    for again in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert (again, again.error, again.how) == (0.25, 4e-3, "drawn")
        assert (again.standard_error, again.confidence) == (1e-3, number.confidence)
    assert type(number * 2) is float
    assert f"{number:.3f}" == "0.250"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (Estimate(0.10563, 2e-13, "series"), "0.1056 ± 2e-13 (series)"),
        (Estimate(0.10563, 2.1e-4, "window"), "0.1056 ± 0.0003 (window)"),
        (Estimate(0.10563, 0.02, "listed"), "0.11 ± 0.02 (listed)"),
        (Estimate(0.10563, 0.3, "listed"), "0.1 ± 0.3 (listed)"),
        (Estimate(0.0, 0.0, "listed"), "0 ± 0 (listed)"),
        (Estimate(123456.0, 0.5, "listed"), "1.235e+05 ± 0.5 (listed)"),
        (Estimate(0.5, math.inf, "drawn"), "0.5 ± inf (drawn)"),
        (Estimate.drawn(0.21731, 1e-4), "0.2173 ± 0.0004 (drawn, 99.99 %)"),
    ],
)
def test_an_estimate_shows_its_error_and_how_it_was_found(number, shown):
    assert repr(number) == str(number) == f"{number}" == shown


def test_several_estimates_are_an_array_and_keep_their_errors():
    sizes = [5, 50, 500]
    found = dp.mean_distances(
        dp.mechanism("parameter-laplace", 1.0), [0.5] * 2, [1, 1], sizes
    )
    assert isinstance(found[0], Estimate)
    assert found.how == ("drawn",) * 3
    assert np.all(found.error == 4 * found.standard_error)
    assert np.all(found.standard_error > 0)
    whole = np.asarray(found)
    assert type(2 * found - whole) is np.ndarray
    assert np.array_equal(2 * found - whole, whole)
    assert np.log(found).shape == (3,)
    assert (len(found), list(found)) == (3, whole.tolist())
    assert found[1:] == Estimates.of(list(found)[1:])
    assert found[whole < 1].shape == (3,)
    assert hash(found[:]) == hash(found)
    assert repr(found).count("(drawn, 99.99 %)") == 3
    assert Estimates.of([0.5]).error.tolist() == [0.0]


def test_what_is_known_of_a_distance_agrees_with_scipys_meaning():
    laws = [LAW, dp.mechanism("lattice", 0.3).law([400] * 4, [1] * 4)]
    for law in laws:
        for q in (0.1, 0.5, 0.9):
            c = law.quantile(q)
            within = law.cdf(c)
            assert within + within.error >= q
            assert law.sf(c) == 1.0 - within
            assert law.cdf(c - 2 * c.error - 1e-9) <= q + within.error
        assert (law.cdf(-0.1), law.cdf(1.1)) == (0.0, pytest.approx(1.0, abs=1e-12))
        assert (law.sf(-0.1), law.sf(1.1)) == (1.0, pytest.approx(0.0, abs=1e-12))
    run = LAW.simulate(np.random.default_rng(3), 20_000)
    assert abs(run.mean - LAW.mean_distance()) < run.mean.error
    assert run.standard_error == run.mean.standard_error


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
    assert abs(mean - LAW.mean_distance(metric)) < mean.error
    assert 0.5 * RELATIVE * mean < mean.standard_error <= RELATIVE * mean
    square = drawn_mean(LAW, metric, 2)
    assert abs(square - LAW.mean_square(metric)) < square.error
    for q in (0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0):
        drawn = drawn_quantile(LAW, q, metric)
        exact = LAW.quantile(q, metric)
        assert abs(drawn - exact) <= drawn.error + exact.error
    # Massart's bound: 2 exp(-2 m e^2) is the probability of a larger gap.
    reached = drawn_cdf(LAW, 0.1, metric)
    assert abs(reached - LAW.cdf(0.1, metric)) <= reached.error
    wrong = 2 * math.exp(-2 * 200_000 * reached.error**2)
    assert wrong == pytest.approx(1.0 - CONFIDENCE, rel=1e-6)


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
    assert abs(found - (exact[0] - exact[1])) <= found.error
    # Of a drawn and a listed mean the drawn one's error stays.
    listed = dp.mechanism("lapMech", 0.1).law(near, prior)
    difference = mean_difference(a, listed)
    assert difference.error == pytest.approx(a.mean_distance().error, rel=1e-6)
    assert order(a, listed) == -1


def test_an_order_needs_more_than_the_error():
    cases = [
        (1e-3, 9e-4, "listed", 1),
        (-1e-3, 1e-3, "series", 0),
        (-1e-3, 2.6e-4, "drawn", 0),
        (-1e-3, 2.4e-4, "drawn", -1),
        (0.0, 0.0, "listed", 0),
    ]
    for value, error, how, sign in cases:
        drawn = how == "drawn"
        one = Estimate.drawn(value, error) if drawn else Estimate(value, error, how)
        assert order_of(one) == sign
