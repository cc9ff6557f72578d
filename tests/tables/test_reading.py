"""The noise-aware posterior: product form against listing, calibration, sampling, bad
input.
"""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betainc, gammaln

import dpbayes as dp
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.tables.reading import ListedCounts, noise_aware
from tests.strategies import epsilons, priors


def marginal(counts, i, n):
    """Return the probabilities of the values 0 to n of one count."""
    values, _, weights = counts.joint(i)
    return np.bincount(values, weights, n + 1)


def listed(prior, n, log_likelihood):
    histograms = dp.compositions(n, prior.size)
    logs = np.array([log_likelihood(x) for x in histograms])
    return ListedCounts(histograms, weighted(histograms, logs, prior))


def weighted(histograms, logs, prior):
    """Return the probabilities of histograms under a prior and their likelihoods."""
    logs = logs + sum(gammaln(a + x) - gammaln(x + 1.0)
                      for a, x in zip(prior, histograms.T, strict=True))  # fmt: skip
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(priors(3), epsilons, st.lists(st.integers(-5, 14), min_size=2, max_size=2))
def test_lattice_product_form_against_listing(prior, epsilon, first):
    n = 9
    noisy = np.array([*first, n - sum(first)])
    found = noise_aware(dp.mechanism("lattice", epsilon), noisy, n, prior)
    brute = listed(prior, n, lambda x: -0.5 * epsilon * np.abs(noisy - x).sum())
    for i in range(3):
        expected = marginal(brute, i, n)
        np.testing.assert_allclose(marginal(found.counts, i, n), expected, atol=1e-12)


def test_two_categories_against_the_mechanisms_own_law():
    # Inside the range nothing is clamped, so the law's probabilities are the
    # likelihood.
    prior, n = np.array([1.0, 2.0]), 40
    for name in ("geometric", "ilapMech", "lattice"):
        mechanism = dp.mechanism(name, 0.5)
        noisy = np.array([13]) if name != "lattice" else np.array([13, 27])
        brute = listed(
            prior,
            n,
            lambda x, m=mechanism: np.log(m.law(x, prior).probability([13, 27])),
        )
        weights = marginal(noise_aware(mechanism, noisy, n, prior).counts, 0, n)
        np.testing.assert_allclose(weights, marginal(brute, 0, n), atol=1e-12)


@pytest.mark.slow
def test_credible_intervals_cover_exactly_on_average():
    # Averaged over prior, data and noise, a posterior interval has its nominal
    # probability; the plug-in interval, which ignores the noise, has less.
    prior, n, mechanism, level = np.ones(2), 30, dp.mechanism("geometric", 0.3), 0.9
    x = np.arange(n + 1)
    reach = np.arange(-150, n + 151)
    noise = np.tanh(0.15) * np.exp(-0.3 * np.abs(reach[:, None] - x))
    covered, plug_in = 0.0, 0.0
    for noisy, likelihood in zip(reach, noise, strict=True):
        joint = likelihood / (n + 1)
        low, high = noise_aware(
            mechanism, np.array([noisy]), n, prior
        ).credible_interval(0, level)
        covered += joint @ (
            betainc(1 + x, 1 + n - x, high) - betainc(1 + x, 1 + n - x, low)
        )
        r = min(max(noisy, 0), n)
        low, high = dp.Posterior([1.0 + r, 1.0 + n - r]).interval(level)[0]
        plug_in += joint @ (
            betainc(1 + x, 1 + n - x, high) - betainc(1 + x, 1 + n - x, low)
        )
    assert covered == pytest.approx(level, abs=1e-9)
    assert plug_in < 0.8


def test_interval_density_and_mean_agree():
    found = noise_aware(
        dp.mechanism("lattice", 0.2), np.array([30, 50, 20]), 100, np.ones(3)
    )
    low, high = found.credible_interval(1, 0.8)
    for end, share in ((low, 0.1), (high, 0.9)):
        below = quad(lambda t: float(found.density(1, t)), 0.0, end, epsabs=1e-12)[0]
        assert below == pytest.approx(share, abs=1e-10)
    points = (np.arange(4000) + 0.5) / 4000
    density = found.density(1, points)
    assert density.mean() == pytest.approx(1.0, abs=1e-6)
    assert (points * density).mean() == pytest.approx(found.mean[1], abs=1e-6)
    assert found.mean.sum() == pytest.approx(1.0, abs=1e-12)


def test_noise_that_never_lowers_a_count_rules_out_larger_ones():
    """Bayes' rule over every histogram, for two and three categories."""
    for noisy, prior in (([4], [1.5, 0.5]), ([3, 5], [1.0, 2.0, 0.5])):
        chosen = dp.mechanism("draft-laplace", 0.8)
        k = len(prior)
        found = noise_aware(chosen, np.array(noisy), 9, np.array(prior))
        histograms = dp.compositions(9, k)
        steps = np.array(noisy) - histograms[:, :-1]
        both = np.exp(chosen.log_step_probabilities(k, steps))
        other = np.where(
            steps > 0, np.exp(chosen.log_step_probabilities(k, -steps)), 0.0
        )
        before = np.exp(gammaln(histograms + prior) - gammaln(histograms + 1.0)).prod(
            axis=1
        )
        weights = before * np.where(steps < 0, 0.0, both + other).prod(axis=1)
        mean = (weights / weights.sum()) @ (histograms + prior) / (9 + sum(prior))
        assert found.mean == pytest.approx(mean, rel=1e-10)
        assert np.flatnonzero(marginal(found.counts, 0, 9)).max() == noisy[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geometric", "lattice", "ilapMech"])
def test_repaired_counts_are_read_by_the_law_of_repaired_counts(name):
    """Histograms drawn, released and repaired; those that led to the same release are
    counted.
    """
    k, n, runs = {"geometric": 2}.get(name, 3), 5, 40_000
    chosen, prior = dp.mechanism(name, 0.7), np.linspace(0.6, 1.4, k)
    rng = np.random.default_rng(77)
    drawn, times = np.unique(
        rng.multinomial(n, rng.dirichlet(prior, runs)), axis=0, return_counts=True
    )
    target = np.array([0, *[0] * (k - 2), n])
    met = [
        (chosen.law(x, prior).rvs(int(m), rng) == target).all(axis=1).sum()
        for x, m in zip(drawn, times, strict=True)
    ]
    found = noise_aware(chosen, target, n, prior, repaired=True)
    share = np.average(drawn[:, 0], weights=met)
    spread = np.sqrt(np.average((drawn[:, 0] - share) ** 2, weights=met) / sum(met))
    assert sum(met) > 2_000
    assert abs(np.arange(n + 1) @ marginal(found.counts, 0, n) - share) < 6 * spread


def test_bad_input():
    prior = np.ones(3)
    with pytest.raises(ValueError, match="takes at most 3000"):
        noise_aware(dp.mechanism("expMech", 1.0), np.array([30, 30, 40]), 100, prior)
    with pytest.raises(
        ValueError, match="noisy must be at least 0 for one-sided noise"
    ):
        noise_aware(dp.mechanism("draft-laplace", 1.0), np.array([-1, 4]), 10, prior)
    with pytest.raises(ValueError, match="at most 2000000"):
        noise_aware(
            dp.mechanism("lattice", 1.0), np.array([1, 2]), 2_000_001, np.ones(2)
        )
    aware = noise_aware(dp.mechanism("lattice", 1.0), np.array([3, 3, 4]), 10, prior)
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="level"):
            aware.credible_interval(0, level)
    with pytest.raises(TypeError, match="Generator"):
        aware.sample(3, 5)


@pytest.mark.parametrize(
    ("epsilon", "noisy"), [(0.3, 2), (5.0, 0), (5.0, 6), (20.0, 8), (20.0, 3)]
)
@pytest.mark.parametrize(
    "prior", [[1e-6, 1e-6], [1e-3, 1e-3], [1e-6, 1.0], [1e-3, 50.0]]
)
def test_an_interval_holds_its_level_under_a_tiny_prior(
    epsilon: float, noisy: int, prior: list[float]
) -> None:
    # The weight of each count by hand: prior times noise; then a mixture of Beta laws
    # in mpmath.
    n = 6
    a, b = (mpmath.mpf(part) for part in prior)
    logs = [
        mpmath.loggamma(a + x) + mpmath.loggamma(b + n - x) - mpmath.loggamma(x + 1)
        - mpmath.loggamma(n - x + 1) - mpmath.mpf(epsilon) * abs(x - noisy)
        for x in range(n + 1)
    ]  # fmt: skip
    top = max(logs)
    weights = [mpmath.e ** (part - top) for part in logs]

    def reached(share: float) -> float:
        parts = [
            w * mpmath.betainc(a + x, b + n - x, 0, mpmath.mpf(share), regularized=True)
            for x, w in enumerate(weights)
        ]
        return float(sum(parts) / sum(weights))

    aware = noise_aware(
        dp.mechanism("geometric", epsilon), np.array([noisy]), n, np.array(prior)
    )
    for level in (0.5, 0.95):
        low, high = aware.credible_interval(0, level)
        assert 0.0 <= low < high <= 1.0
        assert reached(low) <= (1.0 - level) / 2.0 + 1e-9
        assert reached(high) >= (1.0 + level) / 2.0 - 1e-9


PRIOR = np.array([1.0, 0.5, 2.0, 1.0])


@pytest.mark.slow
def test_shares_of_a_secret_number_of_records_agree_with_enumeration():
    noisy = np.array([2, 0, 3, -1])
    histograms = np.array(list(itertools.product(range(19), repeat=4)))
    n, whole = histograms.sum(axis=1), PRIOR.sum()
    logs = (
        -2.5 * np.abs(noisy - histograms).sum(axis=1)
        + gammaln(n + 1.0)
        - gammaln(whole + n)
    )
    weights = weighted(histograms, logs, PRIOR)
    aware = noise_aware(IndependentNoise(2.5), noisy, 0, PRIOR)
    for i in range(4):  # ten thousand draws: six standard errors of a share
        a = PRIOR[i] + histograms[:, i]
        b = whole + n - a
        assert aware.mean[i] == pytest.approx(float(weights @ (a / (a + b))), abs=0.03)
        low, high = aware.credible_interval(i, 0.9)
        for end, share in ((low, 0.05), (high, 0.95)):
            assert float(weights @ betainc(a, b, end)) == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("name", ["lattice", "expMech"])
def test_draws_have_the_means_of_the_reading(name):
    noisy = np.array([3, 1, 2, 0])
    aware = noise_aware(dp.mechanism(name, 1.0), noisy, 6, PRIOR)
    drawn = aware.sample(np.random.default_rng(4), 20_000)
    assert np.abs(drawn.mean(axis=0) - aware.mean).max() < 6 * drawn.std() / 20_000**0.5


def test_one_of_two_hundred_categories_against_the_others_by_a_transform():
    """What is cut off at each step of the sum of the others adds up to nothing."""
    aware = noise_aware(
        dp.mechanism("lattice", 0.5), np.full(200, 50), 10_000, np.ones(200)
    )
    values, _, weights = aware.counts.joint(7)
    one = np.exp(-0.25 * np.abs(np.arange(2000) - 50))
    others = np.fft.irfft(np.fft.rfft(one / one.sum(), 2**17) ** 199)
    exact = one[values] * others[10_000 - values]
    assert weights == pytest.approx(exact / exact.sum(), rel=1e-9, abs=1e-13)
