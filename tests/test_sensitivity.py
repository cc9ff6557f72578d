from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.sensitivity import DISTANCES, FORMS, profile
from tests.reference.laws import Reference
from tests.strategies import priors, small_cases

METRICS = {"hellinger": dp.hellinger, "published": dp.hellinger_published}


def local_by_enumeration(x, prior, metric="hellinger"):
    return float(np.max(METRICS[metric](prior + x, prior + dp.neighbours(x))))


def smooth_by_enumeration(x, prior, gamma, form, distance, metric="hellinger"):
    every = dp.compositions(int(x.sum()), x.size)
    local = np.array([local_by_enumeration(row, prior, metric) for row in every])
    away = np.abs(every - x).sum(axis=1) / (2 if distance == "hamming" else 1)
    values = (
        1 / (1 / local + gamma * away)
        if form == "reciprocal"
        else local * np.exp(-gamma * away)
    )
    return float(values.max())


@pytest.mark.slow
@given(small_cases(), st.sampled_from(sorted(METRICS)))
def test_local_is_the_largest_distance_to_a_neighbour(case, metric):
    x, prior = case
    assume(metric == "hellinger" or prior.sum() + x.sum() > 1.5)
    found = dp.local_sensitivity(x, prior, metric)
    assert found.value == pytest.approx(
        local_by_enumeration(x, prior, metric), rel=1e-12
    )
    own, other = found.witness
    assert np.array_equal(own, x)
    assert not own.flags.writeable
    assert np.abs(own - other).sum() == 2
    attained = float(METRICS[metric](prior + own, prior + other))
    assert attained == pytest.approx(found.value, rel=1e-11)


@pytest.mark.slow
@given(st.data())
def test_global_is_the_largest_local(data):
    k, n = data.draw(st.sampled_from([(2, 25), (2, 1), (3, 9), (4, 6), (3, 1)]))
    prior = data.draw(priors(k))
    found = dp.global_sensitivity(n, prior)
    every = dp.compositions(n, k)
    largest = max(local_by_enumeration(x, prior) for x in every)
    assert found.value == pytest.approx(largest, rel=1e-12)
    own, other = found.witness
    assert own.sum() == other.sum() == n
    assert float(dp.hellinger(prior + own, prior + other)) == pytest.approx(
        found.value, rel=1e-11
    )


@pytest.mark.slow
@given(
    small_cases(),
    st.floats(1e-3, 10.0),
    st.sampled_from(FORMS),
    st.sampled_from(DISTANCES),
    st.sampled_from(sorted(METRICS)),
)
@settings(max_examples=150)
def test_smooth_is_the_maximum_over_all_histograms(case, gamma, form, distance, metric):
    x, prior = case
    assume(metric == "hellinger" or prior.sum() + x.sum() > 1.5)
    found = dp.smooth_sensitivity(x, prior, gamma, form, distance, metric)
    expected = smooth_by_enumeration(x, prior, gamma, form, distance, metric)
    assert found.value == pytest.approx(expected, rel=1e-11)
    there, neighbour = found.witness
    assert there.min() >= 0
    assert neighbour.min() >= 0
    assert there.sum() == neighbour.sum() == x.sum()
    assert np.abs(there - x).sum() / 2 == found.records_away
    assert local_by_enumeration(there, prior, metric) * (1 + 1e-12) >= found.value


@pytest.mark.slow
@given(
    small_cases(categories=(2,), largest=(40,)),
    st.floats(0.01, 3.0),
    st.sampled_from(FORMS),
)
def test_profile_is_every_count_at_once(case, gamma, form):
    x, prior = case
    n = int(x.sum())
    assert profile(n, prior)[x[0]] == pytest.approx(
        dp.local_sensitivity(x, prior).value, rel=1e-12
    )
    smooth = dp.smooth_sensitivity(x, prior, gamma, form).value
    assert profile(n, prior, True, gamma, form)[x[0]] == pytest.approx(
        smooth, rel=1e-12
    )


@pytest.mark.parametrize("x", [[0, 3], [2, 5], [1, 0, 3], [0, 2, 4], [2, 1, 0, 1]])
@pytest.mark.parametrize("alpha", [(0.3, 1.0, 2.0, 0.7), (1.5, 0.2, 0.2, 0.9)])
def test_a_few_sensitivities_by_enumeration(x, alpha):
    x = np.array(x)
    prior = np.array(alpha[: x.size])
    largest = max(
        local_by_enumeration(row, prior) for row in dp.compositions(x.sum(), x.size)
    )
    found = dp.global_sensitivity(x.sum(), prior)
    assert found.value == pytest.approx(largest, rel=1e-12)
    assert [row.sum() for row in found.witness] == [x.sum(), x.sum()]
    for gamma, form, distance in itertools.product((0.02, 0.5), FORMS, DISTANCES):
        smooth = smooth_by_enumeration(x, prior, gamma, form, distance)
        found = dp.smooth_sensitivity(x, prior, gamma, form, distance)
        assert found.value == pytest.approx(smooth, rel=1e-12)
        if x.size == 2:
            every = profile(x.sum(), prior, True, gamma, form, distance)
            assert every.size == x.sum() + 1
            assert every[x[0]] == pytest.approx(smooth, rel=1e-12)


@pytest.mark.parametrize("tiny", [1e-300, 1e-30, 1e-16, 1e-13, 1e-10, 1e-7])
def test_tiny_priors_keep_thirteen_digits(tiny):
    for counts, prior in (
        ([1, 11], [tiny, 4.0]),
        ([3, 0, 9], [1.0, tiny, tiny]),
        ([1, 1, 0, 5], [tiny, 1e18, 30.0, tiny]),
    ):
        got = dp.local_sensitivity(counts, prior).value
        with mp.workdps(60):
            exact = float(Reference(prior, sum(counts)).local(tuple(counts)))
        assert got == pytest.approx(exact, rel=1e-13, abs=0)
        if len(counts) == 2:
            there = profile(sum(counts), prior)[counts[0]]
            assert there == pytest.approx(got, rel=1e-14, abs=0)


def test_the_kept_global_sensitivity_belongs_to_its_arguments():
    even, uneven = (1.0, 1.0), (1.0, 2.0)
    asked = [(5, even, "hellinger"), (5, uneven, "hellinger"), (6, even, "hellinger")]
    asked += [(5, even, "published"), (5, even, "hellinger")]
    for n, prior, metric in asked:
        every = [
            dp.local_sensitivity(x, prior, metric).value for x in dp.compositions(n, 2)
        ]
        assert dp.global_sensitivity(n, prior, metric).value == max(every)
