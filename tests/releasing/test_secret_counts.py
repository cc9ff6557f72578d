"""Reading a release whose number of records is secret, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad
from scipy.special import betainc

from dpbayes.mechanisms.independent import IndependentNoise
from dpbayes.releasing.noise_aware import noise_aware
from dpbayes.releasing.record import Release

CASES = [
    (1.0, (5, 3), (1.0, 1.0), 60),
    (1.0, (0, -4), (0.5, 2.5), 60),
    (2.0, (2, 0, 7), (1.0, 0.3, 4.0), 24),
    (3.0, (-2, -2, -1), (1.0, 1.0, 1.0), 18),
    (1.5, (9, 1), (30.0, 0.5), 90),
]


def enumerated(epsilon, noisy, prior, most):
    """Every count up to `most` in every category, in fifty digits: counts and probabilities."""
    with mp.workdps(50):
        one = [
            [
                mp.gamma(mp.mpf(a) + x) / mp.factorial(x) * mp.exp(-mp.mpf(epsilon) * abs(y - x))
                for x in range(most + 1)
            ]
            for a, y in zip(prior, noisy, strict=True)
        ]
        total = [
            mp.factorial(n) / mp.gamma(mp.mpf(math.fsum(prior)) + n)
            for n in range(len(prior) * most + 1)
        ]
        counts = list(itertools.product(range(most + 1), repeat=len(prior)))
        weights = [
            total[sum(x)] * mp.fprod(part[v] for part, v in zip(one, x, strict=True))
            for x in counts
        ]
        whole = mp.fsum(weights)
        return np.array(counts), np.array([float(w / whole) for w in weights])


@pytest.mark.parametrize("case", CASES)
def test_counts_totals_means_and_intervals_agree_with_enumeration(case):
    epsilon, noisy, prior, _ = case
    counts, weights = enumerated(*case)
    aware = noise_aware(IndependentNoise(epsilon), np.array(noisy), sum(noisy), np.array(prior))
    assert aware.n is None
    for i, a in enumerate(prior):
        values, found = aware.counts.marginal(i)
        expected = np.bincount(counts[:, i], weights)
        assert np.abs(found[: expected.size] - expected[values[0] :][: found.size]).max() < 1e-11
        shares = (a + counts[:, i]) / (sum(prior) + counts.sum(axis=1))
        assert aware.mean[i] == pytest.approx(float(weights @ shares), abs=1e-11)
        low, high = aware.credible_interval(i, 0.9)
        rest = sum(prior) + counts.sum(axis=1) - a - counts[:, i]
        for end, share in ((low, 0.05), (high, 0.95)):
            reached = float(weights @ betainc(a + counts[:, i], rest, end))
            assert reached == pytest.approx(share, abs=1e-9)
    values, found = aware.counts.total()
    expected = np.bincount(counts.sum(axis=1), weights)
    seen = dict(zip(values.tolist(), found.tolist(), strict=True))
    for n, weight in enumerate(expected):
        assert seen.get(n, 0.0) == pytest.approx(weight, abs=1e-11)


def test_the_prior_of_the_counts_is_the_integral_it_stands_for():
    """Every n equally likely, Dirichlet shares: the factors by integrating over the shares."""
    prior, x = (0.7, 2.2), (4, 3)
    n, whole = sum(x), sum(prior)
    constant = math.comb(n, x[0]) * math.gamma(whole) / math.prod(map(math.gamma, prior))
    integral = quad(
        lambda t: constant * t ** (x[0] + prior[0] - 1) * (1 - t) ** (x[1] + prior[1] - 1), 0.0, 1.0
    )[0]
    factors = math.prod(
        math.gamma(a + v) / math.factorial(v) / math.gamma(a) for a, v in zip(prior, x, strict=True)
    )
    closed = factors * math.factorial(n) * math.gamma(whole) / math.gamma(whole + n)
    assert closed == pytest.approx(integral, rel=1e-9)


def test_the_sampler_has_the_exact_means():
    aware = noise_aware(IndependentNoise(1.0), np.array([6, 2, -1]), 0, np.ones(3))
    drawn = aware.sample(np.random.default_rng(1), 40_000)
    error = drawn.std(axis=0) / math.sqrt(40_000)
    assert (np.abs(drawn.mean(axis=0) - aware.mean) < 5 * error).all()
    totals = aware.counts.sample(np.random.default_rng(2), 40_000).sum(axis=1)
    values, weights = aware.counts.total()
    spread = math.sqrt(float(weights @ values**2) - float(weights @ values) ** 2)
    assert abs(totals.mean() - float(weights @ values)) < 5 * spread / 200


def test_intervals_hold_on_average_over_prior_and_noise():
    """Shares from the prior, a total equally likely up to a bound: 90 % hold about 90 %."""
    rng, inside, runs = np.random.default_rng(7), 0, 400
    for _ in range(runs):
        shares = rng.dirichlet((1.0, 1.0))
        counts = rng.multinomial(rng.integers(20, 61), shares)
        noise = rng.geometric(1 - math.exp(-1.0), 2) - rng.geometric(1 - math.exp(-1.0), 2)
        aware = noise_aware(IndependentNoise(1.0), counts + noise, 0, np.ones(2))
        low, high = aware.credible_interval(0, 0.9)
        inside += low <= shares[0] <= high
    assert abs(inside / runs - 0.9) < 5 * math.sqrt(0.09 / runs)


def test_a_release_with_a_secret_size_reads_itself():
    private = Release(IndependentNoise(1.0), np.ones(2), 8, np.array([9, -1]), np.array([9, 0]))
    assert private.interval().shape == (2, 2)
    assert private.noise_aware().mean.sum() == pytest.approx(1.0, abs=1e-12)


def test_what_is_too_wide_is_refused_with_a_reason():
    for epsilon, noisy, prior in ((0.01, (1000, 30), (1.0, 1.0)), (1.0, (10, 5), (1e9, 1.0))):
        aware = IndependentNoise(epsilon), np.array(noisy), 0, np.array(prior)
        with pytest.raises(ValueError, match="epsilon"):
            noise_aware(*aware).credible_interval(0)


def test_a_refusal_names_the_epsilon_that_would_do():
    noisy, prior = np.array([4000, 900, 40]), np.ones(3)
    with pytest.raises(
        ValueError, match=r"epsilon must be at least 0\.0\d+ for a noise-aware"
    ) as no:
        _ = noise_aware(IndependentNoise(0.01), noisy, 0, prior).mean
    least = float(str(no.value).split()[5])
    assert noise_aware(IndependentNoise(least), noisy, 0, prior).mean.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="epsilon must be at least"):
        _ = noise_aware(IndependentNoise(0.95 * least), noisy, 0, prior).mean


@pytest.mark.parametrize(
    ("prior", "noisy", "epsilon"),
    [
        ((100.0, 50.0), (20, 3), 0.1),
        ((1000.0, 0.001), (10, 2), 0.1),
        ((1000.0, 1000.0), (20, 3), 0.2),
        ((1e-12, 1e-12), (-5, -9), 0.2),
        ((1e6, 1e6), (60, 5), 1.0),
    ],
)
def test_uneven_and_large_priors_lose_no_probability(prior, noisy, epsilon):
    # Every pair of counts up to 900, from log-gammas of forty digits.
    most = min(int(90 / epsilon), 900)

    def log_gammas(first, size):
        with mp.workdps(40):
            start = mp.loggamma(mp.mpf(first))
            return np.array([float(mp.loggamma(first + v) - start) for v in range(size)])

    x = np.arange(most + 1)
    factorials = log_gammas(mp.mpf(1), 2 * most + 1)
    parts = [
        log_gammas(mp.mpf(a), x.size) - factorials[: x.size] - epsilon * np.abs(x - y)
        for a, y in zip(prior, noisy, strict=True)
    ]
    totals = factorials - log_gammas(mp.mpf(prior[0]) + mp.mpf(prior[1]), 2 * most + 1)
    logs = np.add.outer(*parts) + totals[np.add.outer(x, x)]
    wanted = np.exp(logs - logs.max())
    wanted /= wanted.sum()
    aware = noise_aware(IndependentNoise(epsilon), np.array(noisy), 0, np.array(prior))
    for i in (0, 1):
        values, weights = aware.counts.marginal(i)
        found = np.bincount(values[values <= most], weights[values <= most], most + 1)
        assert np.abs(found - wanted.sum(axis=1 - i)).sum() < 1e-11 + 2 * wanted[-1].sum()
