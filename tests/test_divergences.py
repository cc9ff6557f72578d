"""Distances and their parts against mpmath at 60 digits and more, and the promises they
keep.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.special import betaln

import dpbayes as dp
from dpbayes._stirling import SERIES_FROM, stirling_remainder, stirling_series
from dpbayes.divergences import (
    affinity_by_step,
    affinity_exponent,
    affinity_of_counts,
    log_affinity,
    one_step_affinity,
)
from tests.reference import affinity as reference
from tests.strategies import histograms, priors


def exact_remainder(z: float) -> mp.mpf:
    with mp.workdps(60):
        x = mp.mpf(z)
        return (
            mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2
        )


@given(st.floats(SERIES_FROM, 1e12))
def test_stirlings_series_is_right_to_the_last_digits_from_16_on(z: float) -> None:
    found = float(stirling_series(np.array([z]))[0])
    assert found == pytest.approx(float(exact_remainder(z)), rel=1e-15)


@given(st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 40.0)))
def test_the_recurrence_leads_up_to_the_series(z: float) -> None:
    assert float(stirling_remainder(z)[0]) == pytest.approx(
        float(exact_remainder(z)), rel=1e-14
    )


def neighbours_and_strangers():
    """From 10 to 10^12 records, balanced, skewed, fractional, tiny."""
    for n in (10**exponent for exponent in range(1, 13)):
        for prior in (1.0, 0.5, 0.001, 37.25):
            half, third, step = n // 2 + prior, n // 3 + prior, int(np.sqrt(n))
            yield [half, half], [half + 1, half - 1]
            yield [n + prior, prior], [n - 1 + prior, 1 + prior]
            yield [third, prior, third], [third - 1, 1 + prior, third]
            yield [half, half], [half + step, half - step]


def test_hellinger_keeps_thirteen_digits_up_to_a_million_million_records() -> None:
    for a, b in neighbours_and_strangers():
        expected = float(reference.hellinger(a, b))
        assert float(dp.hellinger(a, b)) == pytest.approx(expected, rel=1e-13, abs=0)


def test_the_textbook_formula_loses_the_digits() -> None:
    a, b = [500_001.0, 500_001.0], [500_002.0, 500_000.0]
    middle = (500_001.5, 500_000.5)
    textbook = np.sqrt(-np.expm1(betaln(*middle) - (betaln(*a) + betaln(*b)) / 2))
    assert abs(textbook / float(reference.hellinger(a, b)) - 1) > 1e-6


@given(st.floats(1e-4, 1e4))
def test_one_step_affinity_increases_and_is_concave(a):
    low, middle, high = one_step_affinity(np.array([a, a + 0.5, a + 1.0]))
    assert low < middle < high < 0
    assert middle - low >= (high - middle) * (1 - 1e-6)


@pytest.mark.slow
@given(st.data())
def test_hellinger_is_a_metric_on_candidates(data):
    k = data.draw(st.integers(2, 4))
    prior = data.draw(priors(k))
    first = data.draw(histograms(k, 50))
    n = int(first.sum())
    others = [data.draw(histograms(k, n, n)) for _ in range(2)]
    a, b, c = (prior + x for x in (first, *others))
    assume(prior.sum() + n > 1.5)
    for distance in (dp.hellinger, dp.hellinger_published):
        ab, bc, ac = float(distance(a, b)), float(distance(b, c)), float(distance(a, c))
        assert ab == pytest.approx(
            float(distance(b, a)), rel=1e-13
        )  # the promised accuracy
        assert 0 <= ab <= 1
        assert (ab == 0) == np.array_equal(a, b)
        assert ac <= ab + bc + 1e-12


def test_published_metric_is_a_power_of_the_affinity():
    a, b = np.array([31.0, 71.0]), np.array([36.0, 66.0])
    power = float(np.sqrt(1 - np.exp(log_affinity(a, b) / np.log(102))))
    found = float(dp.hellinger_published(a, b))
    assert found == pytest.approx(power, rel=1e-12)
    assert found == pytest.approx(float(reference.hellinger_published(a, b)), rel=1e-11)


STRANGERS = [
    ([1e16, 1e16], [2e16, 2e16]),
    ([1e15, 3.0], [2e15, 3.0]),
    ([1.0, 1.0], [1.0 + 1e-9, 1.0 + 1e-9]),
    ([3.0, 5.0], [3.0, 5.0 + 1e-12]),
    ([0.5] * 3, [0.5 + 1e-15] * 3),
    pytest.param([1e-300, 1.0], [1.0, 1e-300], marks=pytest.mark.slow),
    pytest.param([1e-300, 1e-300], [1e-290, 1e-290], marks=pytest.mark.slow),
    ([1e15, 16.0], [1e15 + 1e9, 16.0]),
    ([1e9] * 50, [1e9 + 7] * 50),
    ([1e5, 2e5, 7.0], [3e5, 6e5, 21.0]),
    ([2.4e10 + 0.1, 2.4e10], [2.64e11 + 0.3, 2.64003e11]),
    ([1e300, 1e300], [1.0, 1.0]),
    ([8e307, 8e307], [8.9e307, 8.9e307]),
    ([1e305, 1.0], [1e305, 2.0]),
    pytest.param([5e-324, 5e-324], [1.0, 1.0], marks=pytest.mark.slow),
    # Whole numbers are subtracted before they are floats.
    ([2**60 + 1, 5], [2**60, 6]),
    ([2**55 + 3, 2**55], [2**55, 2**55 + 3]),
    ([2**62 + 1, 1, 9], [2**62, 2, 9]),
]


@pytest.mark.parametrize(("a", "b"), STRANGERS)
def test_neither_totals_that_differ_nor_sizes_cost_digits(a, b) -> None:
    with mp.workdps(80 + int(2.2 * np.abs(np.log10(np.array([*a, *b]))).max())):
        parts = [[mp.mpf(one) for one in part] for part in (a, b)]
        middle = [(u + v) / 2 for u, v in zip(*parts, strict=True)]
        log_bc = reference.log_beta(middle) - sum(map(reference.log_beta, parts)) / 2
        exact = mp.sqrt(-mp.expm1(log_bc))
    for one, other in ((a, b), (b, a)):
        assert float(log_affinity(one, other)) == pytest.approx(
            float(log_bc), rel=1e-13, abs=0
        )
        assert float(dp.hellinger(one, other)) == pytest.approx(
            float(exact), rel=1e-13, abs=0
        )


@settings(max_examples=60)
@given(st.data())
def test_the_distance_is_right_whatever_the_totals(data) -> None:
    k, scale = data.draw(st.integers(2, 5)), 10.0 ** data.draw(st.floats(-6, 14))
    a = [scale * data.draw(st.floats(1e-3, 1.0)) for _ in range(k)]
    by = 1.0 + 10.0 ** data.draw(st.floats(-10, 1))
    b = [one * (by + data.draw(st.floats(-1e-3, 1e-3)) * (by - 1.0)) for one in a]
    exact = float(reference.hellinger(a, b))
    assert float(dp.hellinger(a, b)) == pytest.approx(exact, rel=1e-13, abs=1e-300)


def test_metric_names_and_totals_are_checked():
    with pytest.raises(
        ValueError, match="metric must be one of hellinger, published, got 'l2'"
    ):
        affinity_exponent("l2", 10.0)
    with pytest.raises(ValueError, match=r"total above 1, got 0\.6"):
        dp.hellinger_published([0.3, 0.3], [0.4, 0.6])
    with pytest.raises(ValueError, match="unequal totals to 1e9, got 4e\\+16"):
        dp.hellinger_published([1e16] * 2, [2e16] * 2)
    for function in (dp.hellinger, dp.hellinger_published, log_affinity):
        with pytest.raises(ValueError, match="b must have a finite sum, got"):
            function([1.0, 1.0], [1e308, 1e308])
        assert np.isfinite(function([1e308, 5e307], [5e307, 1e308]))


def exact_psi(prior, count, released):
    # lnGamma of a large parameter has as many digits before the point as cancel, twice
    # over.
    with mp.workdps(60 + 3 * max(0, int(np.log10(prior)))):
        a = mp.mpf(float(prior))
        middle = mp.loggamma(a + mp.mpf(count + released) / 2)
        return middle - (mp.loggamma(a + count) + mp.loggamma(a + released)) / 2


@pytest.mark.slow
@given(
    st.one_of(st.floats(-300, 18), st.floats(18, 300)),
    st.integers(0, 40),
    st.integers(0, 10**6),
)
@example(300.0, 0, 1)
def test_affinities_keep_their_digits_for_every_prior(power, count, released):
    prior = 10.0**power
    exact = float(exact_psi(prior, count, released))
    assert float(affinity_of_counts(prior, count, released)) == pytest.approx(
        exact, rel=1e-14
    )
    exact = float(exact_psi(prior, 0, released))
    assert float(affinity_by_step(prior, float(released))) == pytest.approx(
        exact, rel=1e-13
    )


def test_equal_distributions_are_at_a_distance_of_zero_without_a_sign() -> None:
    for a, many in (([3.0, 4.0], 40_000), ([1e300, 1e300], 1)):
        same = np.tile(a, (many, 1))
        for distance in (dp.hellinger, dp.hellinger_published):
            assert not np.any(np.signbit(distance(same, same)))
            assert np.all(distance(same, same) == 0.0)
