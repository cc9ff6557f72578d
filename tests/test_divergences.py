from __future__ import annotations

import json

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

import dpbayes as dp
from dpbayes.divergences import (
    affinity_by_step,
    affinity_exponent,
    affinity_of_counts,
    log_affinity,
    one_step_affinity,
)
from tests.reference import affinity as reference
from tests.strategies import histograms, priors

ROWS = json.loads(reference.FILE.read_text())["rows"]


def textbook(a, b):
    """The formula as the papers print it, in floating point."""
    middle = [(u + v) / 2 for u, v in zip(a, b, strict=True)]
    return np.sqrt(-np.expm1(betaln(*middle) - (betaln(*a) + betaln(*b)) / 2))


def test_hellinger_keeps_thirteen_digits_up_to_a_million_million_records():
    assert len(ROWS) == 12 * 4 * 4
    for row in ROWS:
        expected = float(row["hellinger"])
        assert float(dp.hellinger(row["a"], row["b"])) == pytest.approx(expected, rel=1e-13, abs=0)


def test_textbook_formula_loses_its_digits_where_ours_does_not():
    a, b = [500_001.0, 500_001.0], [500_002.0, 500_000.0]
    exact = float(reference.hellinger(a, b))
    assert abs(float(dp.hellinger(a, b)) / exact - 1) < 1e-13
    assert abs(textbook(a, b) / exact - 1) > 1e-6


@pytest.mark.slow
@given(st.one_of(st.floats(1e-4, 1e12), st.floats(1e-9, 1.0)), st.integers(0, 10**6))
def test_psi_matches_high_precision(a, step):
    with mp.workdps(60):
        start = mp.mpf(a)
        middle = mp.loggamma(start + mp.mpf(step) / 2)
        exact = middle - (mp.loggamma(start) + mp.loggamma(start + step)) / 2
    assert float(affinity_by_step(a, float(step))) == pytest.approx(float(exact), rel=1e-13)


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
    for distance in (dp.hellinger, dp.hellinger_published):
        if prior.sum() + n <= 1.5:
            continue
        ab, bc, ac = float(distance(a, b)), float(distance(b, c)), float(distance(a, c))
        assert ab == pytest.approx(float(distance(b, a)), rel=1e-13)  # the promised accuracy
        assert 0 <= ab <= 1
        assert (ab == 0) == np.array_equal(a, b)
        assert ac <= ab + bc + 1e-12


def test_published_metric_is_a_power_of_the_affinity():
    a, b = np.array([31.0, 71.0]), np.array([36.0, 66.0])
    power = np.exp(log_affinity(a, b) / np.log(102))
    assert float(dp.hellinger_published(a, b)) == pytest.approx(
        float(np.sqrt(1 - power)), rel=1e-12
    )
    exact = reference.hellinger_published(a, b)
    assert float(dp.hellinger_published(a, b)) == pytest.approx(float(exact), rel=1e-11)


STRANGERS = [
    ([1e16, 1e16], [2e16, 2e16]),
    ([1e15, 3.0], [2e15, 3.0]),
    ([1.0, 1.0], [1.0 + 1e-9, 1.0 + 1e-9]),
    ([3.0, 5.0], [3.0, 5.0 + 1e-12]),
    ([0.5] * 3, [0.5 + 1e-15] * 3),
    ([1e12, 1e12], [1e12 + 1, 1e12 + 1]),
    ([1e-300, 1.0], [1.0, 1e-300]),
    ([1e-300, 1e-300], [1e-290, 1e-290]),
    ([1e15, 16.0], [1e15 + 1e9, 16.0]),
    ([100.0] * 50, [200.0] * 50),
    ([1e9] * 50, [1e9 + 7] * 50),
    ([1e5, 2e5, 7.0], [3e5, 6e5, 21.0]),
    ([1e300, 1e300], [1.0, 1.0]),
    ([3e307, 3e307], [1e307, 1e307]),
    ([8e307, 8e307], [8.9e307, 8.9e307]),
    ([1e305, 1.0], [1e305, 2.0]),
    ([1e-308, 1e-308], [1e300, 1e300]),
    ([5e-324, 5e-324], [1.0, 1.0]),
]


@pytest.mark.parametrize(("a", "b"), STRANGERS)
def test_totals_that_differ_cost_no_digits(a, b) -> None:
    with mp.workdps(800):
        first, second = ([mp.mpf(one) for one in part] for part in (a, b))
        middle = [(u + v) / 2 for u, v in zip(first, second, strict=True)]
        log_bc = reference.log_beta(middle)
        log_bc -= (reference.log_beta(first) + reference.log_beta(second)) / 2
        exact = mp.sqrt(-mp.expm1(log_bc))
    for one, other in ((a, b), (b, a)):
        assert float(log_affinity(one, other)) == pytest.approx(float(log_bc), rel=1e-13, abs=0)
        assert float(dp.hellinger(one, other)) == pytest.approx(float(exact), rel=1e-13, abs=0)


@settings(max_examples=60)
@given(st.data())
def test_the_distance_is_right_whatever_the_totals(data) -> None:
    k, scale = data.draw(st.integers(2, 5)), 10.0 ** data.draw(st.floats(-6, 14))
    a = [scale * data.draw(st.floats(1e-3, 1.0)) for _ in range(k)]
    by = 1.0 + 10.0 ** data.draw(st.floats(-10, 1))
    b = [one * (by + data.draw(st.floats(-1e-3, 1e-3)) * (by - 1.0)) for one in a]
    with mp.workdps(60):
        exact = float(reference.hellinger(a, b))
    assert float(dp.hellinger(a, b)) == pytest.approx(exact, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([2**60 + 1, 5], [2**60, 6]),
        ([2**60 + 1, 5], [2**60, 7]),
        ([2**55 + 3, 2**55], [2**55, 2**55 + 3]),
        ([2**61 + 1, 2**61 + 1], [2**61, 2**61 + 2]),
        ([2**62 + 1, 1, 9], [2**62, 2, 9]),
    ],
)
def test_whole_numbers_are_subtracted_before_they_are_floats(a, b) -> None:
    with mp.workdps(80):
        parts = [[mp.mpf(one) for one in part] for part in (a, b)]
        middle = [(u + v) / 2 for u, v in zip(*parts, strict=True)]
        log_bc = reference.log_beta(middle) - sum(map(reference.log_beta, parts)) / 2
        exact = float(mp.sqrt(-mp.expm1(log_bc)))
    assert float(dp.hellinger(a, b)) == pytest.approx(exact, rel=1e-13, abs=0)
    if len(a) == 2:
        steps = [affinity_of_counts(0.5, x, y) for x, y in zip(a, b, strict=True)]
        assert float(steps[0]) == float(affinity_by_step(0.5 + a[0], float(b[0] - a[0])))


def test_the_published_distance_refuses_totals_where_it_has_no_digits() -> None:
    with pytest.raises(ValueError, match="unequal totals to 1e9, got 4e\\+16"):
        dp.hellinger_published([1e16] * 2, [2e16] * 2)


def test_metric_names_are_checked():
    with pytest.raises(ValueError, match="metric must be one of hellinger, published, got 'l2'"):
        affinity_exponent("l2", 10.0)
    with pytest.raises(ValueError, match="total above 1"):
        affinity_exponent("published", 1.0)
    with pytest.raises(ValueError, match="total above 1"):
        dp.hellinger_published([0.2, 0.3], [0.3, 0.2])


def exact_psi(prior, count, released):
    # lnGamma of a large parameter has as many digits before the point as cancel, twice over.
    with mp.workdps(60 + 3 * max(0, int(np.log10(prior)))):
        a = mp.mpf(float(prior))
        middle = mp.loggamma(a + mp.mpf(count + released) / 2)
        return middle - (mp.loggamma(a + count) + mp.loggamma(a + released)) / 2


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(-300, 18), st.integers(0, 40), st.integers(0, 40))
def test_affinity_of_counts_keeps_fourteen_digits_for_every_prior(power, count, released):
    prior = 10.0**power
    got = float(affinity_of_counts(prior, count, released))
    assert got == pytest.approx(float(exact_psi(prior, count, released)), rel=1e-14, abs=0)


@pytest.mark.parametrize("prior", [1e-300, 1e-30, 1e-16, 1e16, 1e100, 1e200, 1e300])
def test_one_step_keeps_its_digits_at_both_ends(prior):
    got = float(one_step_affinity(prior))
    assert got == pytest.approx(float(exact_psi(prior, 0, 1)), rel=1e-14, abs=0)


@pytest.mark.parametrize("many", [1, 40_000])
def test_equal_distributions_are_at_a_distance_of_zero_without_a_sign(many: int) -> None:
    for a in ([3.0, 4.0], [1e300, 1e300]):
        same = np.tile(a, (many, 1))
        for distance in (dp.hellinger, dp.hellinger_published):
            assert not np.any(np.signbit(distance(same, same)))
            assert np.all(distance(same, same) == 0.0)
    law = dp.mechanism("geometric", 1.0).law([1, 2], [1.0, 1.0])
    assert not np.any(np.signbit(law.quantile(0.0)))


@pytest.mark.parametrize("function", [dp.hellinger, dp.hellinger_published, log_affinity])
def test_a_total_that_is_not_finite_is_refused(function) -> None:
    with pytest.raises(ValueError, match="b must have a finite sum, got"):
        function([1.0, 1.0], [1e308, 1e308])
    assert np.isfinite(function([1e308, 5e307], [5e307, 1e308]))


def test_the_published_distance_names_the_total_that_is_too_small() -> None:
    with pytest.raises(ValueError, match=r"above 1, got 0\.6"):
        dp.hellinger_published([0.3, 0.3], [0.4, 0.6])
