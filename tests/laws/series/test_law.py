"""The series law against enumeration, at ordinary and at hostile places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.divergences import affinity_exponent, distance_from_log_affinity
from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.series.law import SeriesLaw
from tests.strategies import histograms, priors

LARGEST = {2: 400, 3: 60, 4: 24, 5: 13, 6: 9}


def enumerated(prior, counts, rate, exponent=1.0):
    """The same law as a list of all candidates."""
    outputs = dp.compositions(int(counts.sum()), counts.size)
    log_bc = log_affinity_of_outputs(prior, counts, outputs)
    scores = distance_from_log_affinity(log_bc, exponent)
    return FiniteLaw(prior, counts, outputs, normalised(-rate * scores))


@st.composite
def cases(draw):
    k = draw(st.integers(2, 6))
    return draw(histograms(k, LARGEST[k])), draw(priors(k))


def agree(counts, prior, rate, metric="hellinger", tolerance=1e-12):
    exponent = affinity_exponent(metric, float(prior.sum() + counts.sum()))
    law, listed = (
        SeriesLaw(prior, counts, rate, exponent),
        enumerated(prior, counts, rate, exponent),
    )
    assert law.error_bound < 1e-11
    assert law.probability(counts) == pytest.approx(listed.probability(counts), rel=tolerance)
    assert law.mean_distance() == pytest.approx(listed.mean_distance(), abs=tolerance)
    squares = listed.expectation(listed.distances**2)
    assert law.mean_square() == pytest.approx(squares, abs=tolerance)
    assert law.variance() == pytest.approx(squares - listed.mean_distance() ** 2, abs=3 * tolerance)


@given(cases(), st.floats(0.01, 50.0), st.sampled_from(["expMech", "expMech-smooth"]))
@settings(max_examples=20, deadline=None)
def test_agrees_with_enumeration(case, epsilon, name):
    counts, prior = case
    agree(counts, prior, dp.mechanism(name, epsilon).rate(counts, prior))


@pytest.mark.parametrize("rate", [1e-300, 1e-30, 1e-14, 1e-12, 1e-9, 1e-5])
@pytest.mark.parametrize(
    ("counts", "prior"),
    [([50, 50], [1.0, 1.0]), ([1, 0, 0], [1.0] * 3), ([0, 100, 200], [1e-6, 1e6, 0.3]),
     ([2, 5, 0, 1, 7, 4], [0.5] * 6)],
)  # fmt: skip
def test_the_mean_keeps_its_promise_at_tiny_rates(counts, prior, rate):
    # What is small beside the weights is not small beside their change, which the rate divides.
    x, alpha = np.array(counts), np.array(prior)
    law, listed = SeriesLaw(alpha, x, rate), enumerated(alpha, x, rate)
    assert law.error_bound < 1e-11
    assert abs(law.mean_distance() - listed.mean_distance()) <= law.error_bound


@given(cases(), st.floats(1e-4, 200.0))
@settings(max_examples=4, deadline=None)
def test_published_score_and_both_reports_agree(case, rate):
    counts, prior = case
    total = float(prior.sum() + counts.sum())
    if total <= 1.05:
        return
    agree(counts, prior, rate, "published")
    exponent = affinity_exponent("published", total)
    for kappa in (1.0, exponent):
        law, listed = SeriesLaw(prior, counts, rate, kappa), enumerated(prior, counts, rate, kappa)
        by_total = listed.expectation(
            distance_from_log_affinity(
                log_affinity_of_outputs(prior, counts, listed.outputs), exponent
            )
        )
        assert law.mean_distance(dp.hellinger_published) == pytest.approx(by_total, abs=1e-11)
        assert law.mean_distance() == pytest.approx(listed.mean_distance(), abs=1e-11)


HOSTILE = [
    ([1, 0], [1e-6, 1e-6]),
    ([50, 0], [1e6, 1e-6]),
    ([0, 0, 50], [1e-6, 1e-6, 1e-6]),
    ([0, 100, 200], [1e-6, 1e6, 0.3]),
    ([3, 3, 3, 3, 3], [1e6] * 5),
    ([1, 0, 0, 0, 0, 0], [0.5] * 6),
    ([0, 12, 0, 1, 0, 2], [0.1, 0.3, 2.0, 1e-6, 5.0, 1.0]),
    ([7, 0, 0, 0], [30.0, 1e-3, 1.0, 2.5]),
]


@pytest.mark.parametrize(("counts", "prior"), HOSTILE)
@pytest.mark.parametrize("rate", [1e-8, 1e-3, 1.0, 60.0, 900.0, 1e7])
def test_hostile_corners(counts, prior, rate):
    agree(np.array(counts), np.array(prior), rate)


@pytest.mark.slow
@pytest.mark.parametrize(
    "counts", [[2000, 1500, 900], [88, 20, 0, 290], [13, 27, 31, 40, 9], [0, 3, 8, 2, 17, 19]]
)
def test_agrees_up_to_ten_million_candidates(counts):
    x = np.array(counts)
    prior = np.linspace(0.4, 1.7, x.size)
    assert 1e6 < dp.number_of_candidates(int(x.sum()), x.size) <= 1.2e7
    law = dp.mechanism("expMech-smooth", 1.0)
    agree(x, prior, law.rate(x, prior))


def test_every_probability_and_their_sum():
    prior, counts = np.array([0.5, 1.0, 2.0]), np.array([3, 0, 9])
    law, listed = SeriesLaw(prior, counts, 7.0), enumerated(prior, counts, 7.0)
    logs = law.log_probability(listed.outputs)
    np.testing.assert_allclose(logs, listed.log_probabilities, atol=1e-12)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
    assert law.probability([3, 0, 8]) == 0.0


def test_sizes_no_list_could_hold():
    law = dp.mechanism("expMech-smooth", 1.0).law([2500] * 4, [1.0] * 4)
    assert isinstance(law, SeriesLaw)
    assert law.error_bound < 1e-12
    # Sampling is another road: r is drawn from tilted factors, never from ln Z or its derivative.
    draws = law.sample(np.random.default_rng(1), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    spread = 6.0 * distances.std() / np.sqrt(distances.size)
    assert law.mean_distance() == pytest.approx(distances.mean(), abs=spread)
    assert np.sqrt(law.variance()) == pytest.approx(distances.std(), rel=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_a_thousand_million_records(k):
    counts, prior = np.full(k, 10**9 // k), np.ones(k)
    rate = dp.mechanism("expMech-smooth", 1.0).rate(counts, prior)
    law = SeriesLaw(prior, counts, rate)
    assert law.error_bound < 1e-12
    # Far out the law is that of the continuous limit exp(-rate |v|) in k - 1 dimensions.
    assert law.mean_distance() == pytest.approx((k - 1) / rate, rel=0.02)


def test_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="rate must be positive"):
        SeriesLaw(np.ones(2), np.array([3, 4]), 0.0)
    with pytest.raises(ValueError, match="counts must hold at least 1 record"):
        SeriesLaw(np.ones(2), np.array([0, 0]), 1.0)
    law = SeriesLaw(np.ones(2), np.array([3, 4]), 1.0)
    with pytest.raises(ValueError, match="metric must be hellinger or hellinger_published"):
        law.mean_distance(lambda a, b: np.abs(np.asarray(a) - np.asarray(b)).sum(-1))
    with pytest.raises(ValueError, match="counts_out must have 2 entries, got 3"):
        law.probability([1, 2, 4])
    with pytest.raises(TypeError, match="rng must be"):
        law.sample(3, 4)


def test_a_law_that_cannot_be_certified_is_refused(monkeypatch):
    monkeypatch.setattr("dpbayes.laws.series.law.LARGEST_ERROR", 1e-17)
    with pytest.raises(ArithmeticError, match="is certified to"):
        SeriesLaw(np.ones(3), np.array([3, 4, 5]), 2.0).mean_distance()
