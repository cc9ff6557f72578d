"""Windows on two categories against the full list."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.series.law import SeriesLaw
from dpbayes.laws.two_categories import exponential_window, last_below
from tests.laws.series.test_law import enumerated
from tests.strategies import histograms, priors


@given(histograms(2, 3000), priors(2), st.floats(0.5, 3000.0))
@settings(max_examples=20, deadline=None)
@example(np.array([0, 1]), np.array([2.0, 26.0]), 161.0)
def test_window_agrees_with_the_full_list(counts, prior, rate):
    window = exponential_window(prior, counts, rate)
    listed = enumerated(prior, counts, rate)
    assert window.mass_outside <= 1e-17
    assert window.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert window.mean_distance() == pytest.approx(listed.mean_distance(), abs=1e-12)
    missing = np.setdiff1d(listed.outputs[:, 0], window.outputs[:, 0])
    dropped = listed.probabilities[missing].sum()
    assert dropped <= window.mass_outside + 1e-300


def test_window_and_series_meet_at_a_thousand_million_records():
    counts, prior = [123_456_789, 876_543_211], [1.0, 1.0]
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    window = mechanism.law(counts, prior)
    assert isinstance(window, FiniteLaw)
    assert len(window.outputs) < 2000
    assert window.mass_outside < 1e-17
    series = SeriesLaw(np.array(prior), np.array(counts), mechanism.rate(counts, prior))
    assert window.mean_distance() == pytest.approx(series.mean_distance(), rel=1e-9)
    assert window.probability(counts) == pytest.approx(series.probability(counts), rel=1e-12)


def test_a_flat_law_goes_to_the_series():
    law = dp.mechanism("expMech", 0.01).law([5 * 10**8, 5 * 10**8], [1.0, 1.0])
    assert isinstance(law, SeriesLaw)
    assert 0.9 < law.mean_distance() <= 1.0


@given(st.integers(0, 500), st.integers(0, 500))
def test_last_below_finds_the_last(most, limit):
    assert last_below(float, most, float(limit)) == min(most, limit)
