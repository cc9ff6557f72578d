"""Sums of a few terms in logarithms, against lists in high precision and against transforms."""

import numpy as np
import pytest
from mpmath import mp

import dpbayes as dp
from dpbayes.laws.product import excess
from dpbayes.laws.product.excess import excess_moments
from dpbayes.laws.product.narrow import Weights, narrow_sums


def falling(first, last, slope, bend):
    steps = np.arange(first, last + 1)
    return Weights(first, -slope * np.abs(steps) - bend * steps * steps - 0.1)


def listed(parts):
    """Every sum of one step each, and ln of its weight in 60 digits, by plain convolution."""
    first = sum(part.first for part in parts)
    total = [mp.mpf(1)]
    for part in parts:
        weights = [mp.exp(mp.mpf(float(v))) for v in part.logs]
        longer = [mp.mpf(0)] * (len(total) + len(weights) - 1)
        for i, a in enumerate(total):
            for j, b in enumerate(weights):
                longer[i + j] += a * b
        total = longer
    return first, [mp.log(value) for value in total]


@pytest.mark.parametrize(
    "parts",
    [
        [falling(-9, 30, 0.1, 5.0), falling(-4, 40, 0.3, 7.0)],
        [falling(-9, 30, 0.1, 0.02), falling(-20, 25, 0.2, 1e-3)],
        [falling(-3, 12, 0.0, 80.0)] * 3,
        [falling(-5, 9, 0.5, 1e3), falling(0, 20, 1.0, 0.3), falling(-6, 3, 0.0, 1e-2)],
        [falling(0, 2, 0.0, 1e6), falling(-1, 1, 3.0, 1e-3)],
    ],
)
@pytest.mark.parametrize("lowest", [-100, 1])
def test_sums_are_right_within_their_doubt(parts, lowest):
    with mp.workdps(60):
        first, expected = listed(parts)
        found = narrow_sums(parts, lowest, 10**6)
        assert found.weights.first == max(first, lowest)
        logs = found.weights.logs
        for value, doubt, exact in zip(
            logs, found.doubt, expected[found.weights.first - first :], strict=True
        ):
            assert abs(mp.expm1(mp.mpf(float(value)) - exact)) <= doubt * 2.0**-50


def test_doubt_grows_with_what_is_added():
    part = falling(-3, 12, 0.0, 80.0)
    two, three = (narrow_sums([part] * copies, -100, 10**6) for copies in (2, 3))
    assert three.doubt.min() > two.doubt.min() > 1.0
    assert three.terms > two.terms


def test_sums_that_would_be_long_or_need_all_terms_are_refused():
    narrow, wide = falling(-3, 12, 0.0, 80.0), falling(-300, 300, 0.0, 1e-6)
    assert narrow_sums([narrow, narrow], 0, 0) is None
    assert narrow_sums([wide, wide], 0, 5000) is None
    assert narrow_sums([wide, wide], 0, 10**6) is not None
    kink = Weights(0, np.array([0.0, -5.0, -5.1, -9.0]))
    assert narrow_sums([narrow, kink], 0, 10**6) is None


@pytest.mark.parametrize(
    ("counts", "epsilon", "prior"),
    [
        ([5000, 2500, 0], 0.1, [1.0, 1.0, 1.0]),
        ([4000, 9000, 3], 0.1, [0.5, 2.0, 1.0]),
        ([3000, 3000, 5000, 0], 0.2, [1.0, 1.0, 3.0, 0.3]),
    ],
)
def test_few_terms_and_tilts_give_the_same_moments(counts, epsilon, prior, monkeypatch):
    law = dp.mechanism("lapMech", epsilon).law(counts, prior)
    powers, used = np.array([1.0, 1e3, 1e5, 1e6, 1e7, 1e8, 1e9]), []
    through = excess.few_terms

    def watched(*arguments):
        found = through(*arguments)
        used.append(found is not None)
        return found

    monkeypatch.setattr(excess, "few_terms", watched)
    moments, errors = excess_moments(law._factors, law.prior, law.counts, powers)
    assert any(used)
    assert not all(used)
    monkeypatch.setattr(excess, "few_terms", lambda *_: None)
    others, doubts = excess_moments(law._factors, law.prior, law.counts, powers)
    assert np.all(errors < 1e-11)
    assert np.all(np.abs(moments - others) <= errors + doubts + 1e-15)
    np.testing.assert_allclose(moments, others, rtol=1e-9)


@pytest.mark.parametrize(("epsilon", "last"), [(0.1, 0), (0.01, 0), (0.01, 7)])
def test_means_over_millions_of_records_with_an_empty_last_category(epsilon, last):
    law = dp.mechanism("lapMech", epsilon).law([10**6, 10**6, last], [1.0, 1.0, 1.0])
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 3e-11
    draws = law.sample(np.random.default_rng(8), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - mean.value) < 6.0 * distances.std() / np.sqrt(40_000)
