"""Sums of powers and convolutions, and the exponential and Laplace laws made of
them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mpmath import mp

import dpbayes as dp
from dpbayes.laws import convolution, exponential, laplace
from dpbayes.laws.convolution import AffinityProduct, Tilted, TooWide
from dpbayes.laws.exponential import (
    ExponentialLaw,
    exponential_window,
    last_below,
    listed_law,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.laplace import ProductLaw, product_grid
from dpbayes.laws.powers import distance, root_powers, weight_powers
from tests.laws.drawn import ALPHA_LIMIT, misfit, worst_error
from tests.strategies import histograms, priors, small_cases

GAPS = st.floats(-9, -0.5).map(lambda power: 10.0**power)
RATES = st.floats(-2, 3.5).map(lambda power: 10.0**power)


# ---- sums of powers
@given(GAPS, st.sampled_from([1.0, 0.4, 0.07]))
@settings(max_examples=8)
def test_the_square_root_is_its_powers(gap, exponent):
    found = root_powers(gap, exponent)
    assert found.errors[0] < 1e-10
    assert (found.weights >= 0).all()
    for c in np.geomspace(gap, 500.0, 97).tolist():
        with mp.workdps(40):
            root = mp.sqrt(-mp.expm1(-mp.mpf(exponent) * c))
            value = mp.fsum(
                w * (1 if np.isinf(s) else -mp.expm1(-mp.mpf(s) * c))
                for w, s in zip(
                    found.weights[0].tolist(), found.powers.tolist(), strict=True
                )
            )
            assert abs(value / root - 1) <= found.errors[0] + 1e-12
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0, 0] = 1.0


@given(RATES, GAPS, st.floats(1.0, 600.0), st.sampled_from([1.0, 0.1, 9.0]))
@example(1000.0, 1e-9, 296.0, 1.0)
@settings(max_examples=25)
def test_the_weight_is_its_powers_down_to_what_all_candidates_hide(
    rate, gap, entropy, ratio
):
    # The rate is epsilon / 2 over a sensitivity that is at least the distance of the
    # nearest.
    assume(rate * float(distance(np.array([gap]))[0]) <= 50.0)
    found = weight_powers(rate, gap, entropy, ratio)
    assert found.errors.max() < 2e-5
    c = np.geomspace(gap, 60.0, 997)
    root = distance(c)
    # what lies beyond is e^-40 of the truth altogether
    seen = rate * root <= entropy + 40.0
    c, root = c[seen], root[seen]
    terms = np.exp(rate * root[:, None] - np.outer(c, found.powers))
    targets = np.ones(c.size), 1.0 - distance(c, ratio), np.exp(-ratio * c)
    for weights, error, target in zip(
        found.weights, found.errors, targets, strict=True
    ):
        missed = np.abs(terms @ weights - target) / root
        assert missed.max(initial=0.0) <= 2.0 * error + 1e-9


def test_weights_that_no_sum_of_powers_holds_are_refused():
    with pytest.raises(ArithmeticError, match="epsilon must be smaller"):
        weight_powers(850.0, 10**-0.5, 401.0, 0.1)  # e^850 is beyond a float


# ---- convolutions
@given(st.integers(0, 10**6), st.floats(0.1, 30.0))
@settings(max_examples=40)
def test_one_coefficient_is_the_sum_of_all_products(seed, spread):
    rng = np.random.default_rng(seed)
    first, copies = -int(rng.integers(1, 4)), np.array([1, 2, 1])
    # Falling on both sides of a peak, as all factors here do (log-concave), with ends
    # cut off.
    logs = np.cumsum(np.sort(rng.normal(0.0, spread, (3, 5)), axis=1)[:, ::-1], axis=1)
    logs[0, 4] = logs[1, 0] = -np.inf
    rows = np.repeat(np.arange(3), copies)
    terms = [
        np.exp(sum(logs[row, d - first] for row, d in zip(rows, ds, strict=True)))
        for ds in product(range(first, first + 5), repeat=4)
        if sum(ds) == 0
    ]
    found = Tilted(logs, first, copies).log_at_zero()
    assert found == pytest.approx(np.log(np.sum(np.sort(terms))), abs=1e-11)


@given(small_cases((2, 3, 4), (12, 6, 4)), st.sampled_from([0.05, 1.0, 7.5, 300.0]))
@settings(max_examples=60)
def test_sums_of_powers_of_the_affinity_are_those_of_all_histograms(case, power):
    counts, prior = case
    rows = dp.compositions(int(counts.sum()), counts.size)
    log_bc = dp.log_affinity(prior + counts, prior + rows)
    found = AffinityProduct(prior, counts)
    expected = float(np.log(np.exp(power * log_bc).sum()))
    assert found.tilted(power).log_at_zero() == pytest.approx(expected, abs=1e-10)
    others = log_bc[np.any(rows != counts, axis=1)]
    assert found.gap == pytest.approx(-others.max(), rel=1e-9)
    noisy = AffinityProduct(prior, counts, lambda d: 0.7 * np.abs(d))
    logs = power * log_bc - 0.7 * np.abs(rows - counts).sum(axis=1)
    expected = float(np.log(np.exp(logs).sum()))
    assert noisy.tilted(power).log_at_zero() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("power", [0.5, 40.0])
def test_draws_have_the_shares_of_the_sum_and_no_others(power):
    prior, counts = np.array([1.0, 1.0, 0.2, 3.0]), np.array([2, 2, 0, 5])
    found, rows = AffinityProduct(prior, counts), dp.compositions(9, 4)
    drawn = (
        found.tilted(power).draw(np.random.default_rng(3), 60_000)[:, found.order]
        + counts
    )
    log_bc = dp.log_affinity(prior + counts, prior + rows)

    def shares(exponent):
        weights = np.exp(exponent * log_bc)
        return FiniteLaw(
            prior, counts, rows, np.log(weights / weights.sum())
        ).probability

    assert (
        misfit(drawn, shares(power)) < ALPHA_LIMIT < misfit(drawn, shares(1.25 * power))
    )


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(convolution, "LARGEST_TABLE", 100)
    with pytest.raises(TooWide, match="do not fit into a table of 100 numbers"):
        AffinityProduct(np.ones(3), np.array([500, 600, 700])).tilted(0.5)


# ---- exponential laws
@given(small_cases((2, 3, 4), (40, 12, 6)), RATES, st.sampled_from([1.0, 0.3]))
@settings(max_examples=60)
def test_an_exponential_law_without_a_list_is_the_list(case, rate, exponent):
    counts, prior = case
    law = ExponentialLaw(prior, counts, rate, exponent)
    exact = listed_law(prior, counts, rate, exponent)
    # An error of the fit is one relative to the distance, for its square as well.
    assert worst_error(law, exact, "series") <= 2e-4 * law.mean_distance() + 1e-11
    each = law.probability(exact.outputs)
    np.testing.assert_allclose(each, exact.probabilities, rtol=1e-4)
    one = law.probability(counts)
    assert abs(one - exact.probability(counts)) <= one.error + 1e-13


@pytest.mark.parametrize("score", ["hellinger", "published"])
@pytest.mark.parametrize("reported", ["hellinger", "published"])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_either_distance_is_reported_for_either_score(score, reported, epsilon):
    mechanism = dp.mechanism("expMech-smooth", epsilon, metric=score)
    counts, prior = np.array([40, 0, 25]), np.array([1.0, 0.1, 4.0])
    exact = mechanism.enumerated(counts, prior)
    rate, exponent = mechanism.rate(counts, prior), mechanism.exponent(counts, prior)
    law = ExponentialLaw(prior, counts, rate, exponent)
    assert worst_error(law, exact, "series", reported) < 1e-4
    found = law.variance(reported)
    assert abs(found - exact.variance(reported)) <= found.error + 1e-12


def test_another_metric_is_drawn():
    setting = np.ones(3), np.array([9, 5, 4]), 12.0
    law, exact = ExponentialLaw(*setting), listed_law(*setting)
    worst_error(
        law, exact, "drawn", lambda a, b: np.abs(np.asarray(a) - b).sum(axis=-1)
    )
    drawn, listed = law.quantile(0.7), exact.quantile(0.7)
    assert abs(drawn - listed) <= drawn.error + listed.error


@pytest.mark.parametrize(("rate", "power"), [(1.0, 1.3), (8.0, 1.1), (40.0, 1.1)])
def test_exponential_draws_have_the_law_and_not_that_of_another_rate(rate, power):
    counts, prior = np.array([4, 0, 9]), np.array([1.0, 0.5, 2.0])
    law = ExponentialLaw(prior, counts, rate)
    drawn = law.rvs(60_000, np.random.default_rng(4))
    right, wrong = (listed_law(prior, counts, one) for one in (rate, power * rate))
    assert (
        misfit(drawn, right.probability)
        < ALPHA_LIMIT
        < misfit(drawn, wrong.probability)
    )
    assert law.rvs(0, np.random.default_rng(4)).shape == (0, 3)


@given(histograms(2, 3000), priors(2), st.floats(0.5, 3000.0))
@settings(max_examples=20)
@example(np.array([0, 1]), np.array([2.0, 26.0]), 161.0)
def test_a_window_is_the_list_without_its_ends(counts, prior, rate):
    window, whole = (
        exponential_window(prior, counts, rate),
        listed_law(prior, counts, rate),
    )
    assert window.mass_outside <= 1e-17
    assert window.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert window.mean_distance() == pytest.approx(whole.mean_distance(), abs=1e-12)
    missing = np.setdiff1d(whole.outputs[:, 0], window.outputs[:, 0])
    assert whole.probabilities[missing].sum() <= window.mass_outside + 1e-300


@pytest.mark.parametrize("n", [10**6, 10**12])
def test_windows_and_sums_of_powers_meet_at_any_size(n):
    counts, prior = np.array([n // 8, n - n // 8]), np.ones(2)
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    window = mechanism.law(counts, prior)
    assert isinstance(window, FiniteLaw)
    assert len(window.outputs) < 3000
    law = ExponentialLaw(prior, counts, mechanism.rate(counts, prior))
    assert window.mean_distance() == pytest.approx(law.mean_distance(), rel=1e-7)
    assert window.probability(counts) == pytest.approx(
        law.probability(counts), rel=1e-7
    )


def test_a_flat_law_is_not_listed(monkeypatch):
    monkeypatch.setattr(exponential, "LARGEST_WINDOW", 1000)
    x, prior = np.array([5000, 2000]), np.ones(2)
    assert exponential_window(prior, x, 0.5) is None
    law, whole = ExponentialLaw(prior, x, 0.5), listed_law(prior, x, 0.5)
    assert law.mean_distance() == pytest.approx(whole.mean_distance(), rel=1e-8)


@given(st.integers(0, 500), st.integers(0, 500))
def test_last_below_finds_the_last(most, limit):
    assert last_below(float, most, float(limit)) == min(most, limit)


# ---- Laplace laws
def both(name, epsilon, counts, prior, **options):
    """The law without a list, and the list, from the same marginals."""
    mechanism = dp.mechanism(name, epsilon, **options)
    x, alpha = np.array(counts), np.array(prior, dtype=float)
    n, k = int(x.sum()), x.size
    marginals = [mechanism.marginal(int(count), n, k) for count in x[:-1]]
    return ProductLaw(alpha, x, tuple(marginals)), product_grid(alpha, x, marginals)


@pytest.mark.parametrize(
    ("name", "options"),
    [("ilapMech", {}), ("lapMech", {}), ("draft-laplace", {}),
     ("ilapMech", {"rounding": "nearest"})],
)  # fmt: skip
@pytest.mark.parametrize("counts", [(20, 9, 31), (30, 30, 0), (0, 0, 5), (1, 0, 0)])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_three_categories_are_summed_whatever_the_excess(
    name, options, counts, epsilon
):
    law, exact = both(name, epsilon, counts, [1.0, 0.02, 3.0], **options)
    assert worst_error(law, exact, "window") < 1e-11
    assert law.variance() == pytest.approx(exact.variance(), abs=1e-11)


@pytest.mark.parametrize(
    ("counts", "epsilon", "how"),
    [((20, 9, 4, 41), 3.0, "series"), ((15, 15, 15, 41), 3.0, "series"),
     ((20, 9, 4, 50), 1.0, "halved"), ((20, 9, 4, 0), 0.7, "drawn"),
     ((3, 0, 0, 1), 0.7, "drawn"), ((5, 3, 2, 1), 0.7, "drawn")],
)  # fmt: skip
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_four_categories_are_a_series_without_excess_and_drawn_with_it(
    counts, epsilon, how, metric
):
    law, exact = both("ilapMech", epsilon, counts, [1.0, 0.02, 3.0, 0.5])
    sums = exact.outputs[:, :-1].sum(axis=1)
    excess = float(exact.probabilities[sums > law.counts.sum()].sum())
    assert law.probability_of_excess == pytest.approx(excess, abs=1e-12)
    error = worst_error(law, exact, "drawn" if how == "drawn" else "series", metric)
    if how == "series":
        assert law.probability_of_excess < 1e-12
        assert error < 1e-9
    elif how == "halved":
        assert 1e-14 < law.probability_of_excess < 1e-9
        assert law.mean_distance(metric).error >= 0.5 * law.probability_of_excess
    else:
        assert 0.0 < error < 20e-3


@pytest.mark.parametrize(
    ("counts", "epsilon", "how"),
    [
        ((500, 300, 200, 0, 0), 0.5, "drawn"),
        # Outputs with a little more of everything are far closer than one record is.
        ((500_000, 200_000, 200_000, 100_000), 0.1, "series"),
        ((50_000,) * 20, 0.5, "series"),
    ],
)
def test_stated_errors_hold_at_many_records(counts, epsilon, how):
    law = dp.mechanism("ilapMech", epsilon).law(counts, [1.0] * len(counts))
    mean = law.mean_distance()
    assert mean.how == how
    draws = law.rvs(2_000_000 // len(counts), np.random.default_rng(99))
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    deviation = distances.std() / np.sqrt(len(draws))
    assert abs(mean - distances.mean()) <= mean.error + 5.0 * deviation


def test_wide_noise_is_drawn_where_it_fits_no_table(monkeypatch):
    law, exact = both("ilapMech", 3.0, (20, 9, 4, 41), [1.0] * 4)
    monkeypatch.setattr(laplace, "LARGEST_TABLE", 50)
    worst_error(law, exact, "drawn")


def test_probabilities_and_draws_are_those_of_the_list():
    law, exact = both("ilapMech", 0.7, (3, 0, 4), [1.0] * 3)
    some = exact.outputs[:: max(1, len(exact.outputs) // 40)]
    np.testing.assert_allclose(
        law.probability(some), exact.probability(some), rtol=1e-12
    )
    for row in some:
        one = law.probability(row)
        assert abs(one - float(exact.probability(row))) <= one.error + 1e-15
    assert law.probability([3, 0, 5]) == law.probability([8, 0, 0]) == 0.0
    drawn = law.rvs(60_000, np.random.default_rng(7))
    wider = both("ilapMech", 0.63, (3, 0, 4), [1.0] * 3)[1]
    assert (
        misfit(drawn, exact.probability)
        < ALPHA_LIMIT
        < misfit(drawn, wider.probability)
    )
