"""Sums of powers of the affinity: their value, their windows, their promises."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, logsumexp

import dpbayes as dp
from dpbayes.divergences import affinity_by_step
from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.series.candidate_sums import AffinitySums, log_number_of_candidates, nearest_gap
from dpbayes.laws.series.category_windows import build_windows
from dpbayes.laws.series.interpolation import interpolate_log_sums
from tests.strategies import histograms, priors

LARGEST = {2: 300, 3: 50, 4: 20, 5: 12}


@st.composite
def cases(draw):
    k = draw(st.integers(2, 5))
    return draw(histograms(k, LARGEST[k])), draw(priors(k))


def listed(prior, counts):
    outputs = dp.compositions(int(counts.sum()), counts.size)
    return log_affinity_of_outputs(prior, counts, outputs)


@given(cases(), st.lists(st.floats(0.06, 1e6), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_sums_agree_with_the_list_and_keep_their_promise(case, exponents):
    counts, prior = case
    powers = np.array([0.0, *sorted(exponents)])
    logs, bound = AffinitySums(prior, counts, float(powers[1])).log_sums(powers)
    exact = np.array([logsumexp(s * listed(prior, counts)) for s in powers])
    assert bound < 1e-11
    # The list itself is rounded to about 1e-13 of its largest exponent that counts.
    np.testing.assert_allclose(logs, exact, atol=bound + 1e-13, rtol=1e-13)


@given(cases())
@settings(max_examples=40, deadline=None)
def test_the_nearest_gap_is_a_bound(case):
    counts, prior = case
    others = np.sort(listed(prior, counts))[:-1]
    gap = nearest_gap(prior, counts)
    assert 0 < gap <= -others.max() * (1 + 1e-9)


def test_the_nearest_gap_is_attained_by_even_data():
    counts, prior = np.full(4, 8), np.ones(4)
    nearest = np.sort(listed(prior, counts))[-2]
    assert nearest_gap(prior, counts) == pytest.approx(-nearest, rel=1e-12)


@given(st.floats(1e-3, 1e4), st.floats(0.06, 100.0), st.floats(-3.0, 0.999))
def test_tilted_factors_rise_and_then_fall(a, s, share):
    theta = share * 0.5 * s * np.log(2.0)
    steps = np.linspace(-0.999 * a, 40.0 * a + 200.0, 4001)
    slopes = theta - 0.5 * s * (digamma(a + steps) - digamma(a + steps / 2))
    signs = np.sign(np.where(np.abs(slopes) < 1e-9 * s, 0.0, slopes))
    assert np.all(np.diff(signs[signs != 0]) <= 0)


@given(cases(), st.floats(0.1, 50.0))
@settings(max_examples=25, deadline=None)
def test_windows_leave_out_only_what_is_small(case, exponent):
    counts, prior = case
    windows = build_windows(prior, counts, exponent, 30.0)
    n = int(counts.sum())
    for category, row in enumerate(windows.rows):
        steps = np.arange(-counts[category], n - counts[category] + 1)
        logs = exponent * affinity_by_step(float(prior[category] + counts[category]), steps)
        kept = (steps >= -windows.lows[row]) & (steps <= windows.highs[row])
        assert np.all(logs[~kept] < -30.0)
        inside = windows.table[row, windows.down + steps[kept]]
        np.testing.assert_allclose(exponent * inside, logs[kept], rtol=1e-12, atol=1e-12)


def test_equal_categories_share_a_row():
    windows = build_windows(np.array([1.0, 1.0, 2.0]), np.array([5, 5, 5]), 1.0, 40.0)
    assert windows.table.shape[0] == 2
    assert sorted(windows.copies.tolist()) == [1, 2]
    assert windows.rows[0] == windows.rows[1] != windows.rows[2]


def test_the_tilt_saves_the_digits_of_nearly_empty_data():
    counts, prior = np.ones(50, dtype=np.int64), np.ones(50)
    sums = AffinitySums(prior, counts, 1.0)
    factors = sums.factors(1.0)
    steps = np.arange(-factors.down, factors.up + 1)
    mean = 50 * float(factors.masses[0] @ steps)
    assert abs(mean) <= 0.5 * factors.deviation
    untilted = np.exp(affinity_by_step(2.0, np.arange(-1, 50)))
    untilted /= untilted.sum()
    assert 50 * float(untilted @ np.arange(-1, 50)) > 3 * factors.deviation
    assert sums.log_sums(np.array([1.0]))[1] < 1e-11


def test_number_of_candidates_keeps_its_digits():
    for n, k in [(10, 3), (10**9, 2), (10**9, 6)]:
        exact = math.log(dp.number_of_candidates(n, k))
        assert log_number_of_candidates(n, k) == pytest.approx(exact, rel=1e-14)


def test_interpolated_sums_agree_and_refuse_when_they_do_not():
    counts, prior = np.array([30, 5, 12]), np.array([1.0, 0.4, 2.0])
    sums, gap = AffinitySums(prior, counts, 0.2), nearest_gap(prior, counts)
    log_sum = interpolate_log_sums(sums, 0.2, gap, 1e-9)
    powers = np.array([0.2, 0.5, 1.7, 33.3, 1234.5, 1e9])
    np.testing.assert_allclose(log_sum(powers), sums.log_sums(powers)[0], atol=1e-12)
    with pytest.raises(ArithmeticError, match="is needed"):
        interpolate_log_sums(sums, 0.2, gap, 1e-17)


def test_windows_too_large_for_memory_are_refused():
    with pytest.raises(ValueError, match="fit in memory"):
        build_windows(np.ones(3), np.array([4, 5, 6]) * 10**15, 1.0, 50.0)
