"""Exponential laws without a list against lists; windows; sums over all histograms of one size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws import exponential
from dpbayes.laws.exponential import (
    ExponentialLaw,
    exponential_window,
    last_below,
    listed_law,
    log_number_of_candidates,
)
from dpbayes.laws.finite import FiniteLaw
from tests.mechanisms.conformance import ALPHA_LIMIT
from tests.strategies import histograms, priors, small_cases

RATES = st.floats(-2, 3.5).map(lambda power: 10.0**power)


@given(small_cases((2, 3, 4), (40, 12, 6)), RATES, st.sampled_from([1.0, 0.3]))
@settings(max_examples=60, deadline=None)
def test_a_law_without_a_list_is_the_list(case, rate, exponent):
    counts, prior = case
    law, exact = ExponentialLaw(prior, counts, rate, exponent), listed_law(
        prior, counts, rate, exponent
    )  # fmt: skip
    for found, true in (
        (law.mean_distance(), exact.mean_distance()),
        (law.mean_square(), exact.mean_square()),
    ):
        assert found.how == "series"
        assert abs(found - true) <= found.error + true.error
        assert found.error <= 2e-4 * found + 1e-11
    p = law.probability(exact.outputs)
    np.testing.assert_allclose(p, exact.probabilities, rtol=1e-4)
    one = law.probability(counts)
    assert abs(one - exact.probability(counts)) <= one.error + 1e-13


@pytest.mark.parametrize("score", ["hellinger", "published"])
@pytest.mark.parametrize("reported", ["hellinger", "published"])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_either_distance_is_reported_for_either_score(score, reported, epsilon):
    mechanism = dp.mechanism("expMech-smooth", epsilon, metric=score)
    counts, prior = np.array([40, 0, 25]), np.array([1.0, 0.1, 4.0])
    exact = mechanism.enumerated(counts, prior)
    exponent = dp.divergences.affinity_exponent(score, float(counts.sum() + prior.sum()))
    law = ExponentialLaw(prior, counts, mechanism.rate(counts, prior), exponent)
    for name in ("mean_distance", "mean_square", "variance"):
        found, true = getattr(law, name)(reported), getattr(exact, name)(reported)
        assert abs(found - true) <= found.error + 1e-12
        assert found.error < 1e-4


def test_another_metric_is_drawn():
    law, exact = (
        make(np.ones(3), np.array([9, 5, 4]), 12.0) for make in (ExponentialLaw, listed_law)
    )

    def total_of_steps(a, b):
        return np.abs(np.asarray(a) - b).sum(axis=-1)

    found = law.mean_distance(total_of_steps)
    assert found.how == "drawn"
    assert abs(found - exact.mean_distance(total_of_steps)) < 4.5 * found.error
    q = law.quantile(0.7)
    assert exact.quantile(0.7 - q.error) <= q + 1e-12
    assert q <= exact.quantile(0.7 + q.error) + 1e-12


@pytest.mark.parametrize(("rate", "power"), [(1.0, 1.3), (8.0, 1.1), (40.0, 1.1)])
def test_draws_have_the_law_and_not_that_of_another_rate(rate, power):
    counts, prior, size = np.array([4, 0, 9]), np.array([1.0, 0.5, 2.0]), 60_000
    law, rows = ExponentialLaw(prior, counts, rate), dp.compositions(13, 3)
    drawn = law.sample(np.random.default_rng(4), size)
    index = {tuple(row): i for i, row in enumerate(rows.tolist())}
    seen = np.bincount([index[tuple(row)] for row in drawn.tolist()], minlength=len(rows))

    def statistic(other):
        expected = size * listed_law(prior, counts, other).probabilities
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(rate) < ALPHA_LIMIT < statistic(power * rate)
    assert law.sample(np.random.default_rng(4), 0).shape == (0, 3)


@given(histograms(2, 3000), priors(2), st.floats(0.5, 3000.0))
@settings(max_examples=20, deadline=None)
@example(np.array([0, 1]), np.array([2.0, 26.0]), 161.0)
def test_a_window_is_the_list_without_its_ends(counts, prior, rate):
    window, whole = exponential_window(prior, counts, rate), listed_law(prior, counts, rate)
    assert window.mass_outside <= 1e-17
    assert window.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert window.mean_distance() == pytest.approx(whole.mean_distance(), abs=1e-12)
    missing = np.setdiff1d(whole.outputs[:, 0], window.outputs[:, 0])
    assert whole.probabilities[missing].sum() <= window.mass_outside + 1e-300


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_windows_and_sums_of_powers_meet_at_any_size(n):
    counts, prior = [n // 8, n - n // 8], [1.0, 1.0]
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    window = mechanism.law(counts, prior)
    assert isinstance(window, FiniteLaw)
    assert len(window.outputs) < 3000
    law = ExponentialLaw(np.array(prior), np.array(counts), mechanism.rate(counts, prior))
    assert window.mean_distance() == pytest.approx(law.mean_distance(), rel=1e-7)
    assert window.probability(counts) == pytest.approx(law.probability(counts), rel=1e-7)


def test_a_flat_law_is_not_listed(monkeypatch):
    monkeypatch.setattr(exponential, "LARGEST_WINDOW", 1000)
    x, prior = np.array([5000, 2000]), np.ones(2)
    assert exponential_window(prior, x, 0.5) is None
    law, whole = ExponentialLaw(prior, x, 0.5), listed_law(prior, x, 0.5)
    assert law.mean_distance() == pytest.approx(whole.mean_distance(), rel=1e-8)


@given(st.integers(0, 500), st.integers(0, 500))
def test_last_below_finds_the_last(most, limit):
    assert last_below(float, most, float(limit)) == min(most, limit)


@given(st.integers(0, 60), st.integers(2, 5))
def test_the_number_of_candidates(n, k):
    exact = dp.posteriors.number_of_candidates(n, k)
    assert np.exp(log_number_of_candidates(n, k)) == pytest.approx(exact, rel=1e-12)


def test_bad_input():
    for bad in ({"rate": 0.0}, {"exponent": -1.0}, {"counts": np.array([0, 0])}):
        given_ = {"prior": np.ones(2), "counts": np.array([1, 2]), "rate": 1.0} | bad
        with pytest.raises(ValueError, match=next(iter(bad))):
            ExponentialLaw(**given_)
