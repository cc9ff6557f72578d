"""What a release says about the counts: products against lists, draws against marginals."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.releasing import noise_aware
from dpbayes.releasing.count_posteriors import ListedCounts


def listed(prior, n, log_likelihood):
    histograms = dp.compositions(n, prior.size)
    logs = np.array([log_likelihood(x) for x in histograms])
    return ListedCounts.from_logs(prior, histograms, logs)


def test_prior_that_fights_the_release_keeps_its_digits():
    # The likelihood sits at (0, 60), the prior at (57, 3): only the tilt keeps both in sight.
    prior, n, noisy = np.array([1900.0, 100.0]), 60, np.array([-200, 260])
    found = noise_aware(dp.mechanism("lattice", 3.0), noisy, n, prior)
    brute = listed(prior, n, lambda x: -1.5 * np.abs(noisy - x).sum())
    values, weights = found.counts.marginal(0)
    np.testing.assert_allclose(weights, brute.marginal(0)[1][values], atol=1e-12)


def test_wide_noise_leaves_the_prior():
    prior = np.array([2.0, 3.0, 4.0])
    aware = noise_aware(dp.mechanism("lattice", 1e-6), np.array([70, -10, -50]), 10, prior)
    np.testing.assert_allclose(aware.mean, prior / prior.sum(), atol=1e-4)


@pytest.mark.parametrize("name", ["lattice", "ilapMech"])
def test_sampler_has_the_exact_marginals(name):
    noisy = np.array([12, -3, 21, 10]) if name == "lattice" else np.array([12, -3, 21])
    found = noise_aware(dp.mechanism(name, 0.4), noisy, 40, np.array([1.0, 0.5, 2.0, 1.0]))
    draws = found.counts.sample(np.random.default_rng(2), 20_000)
    assert np.all(draws.sum(axis=1) == 40)
    assert draws.min() >= 0
    for i in range(4):
        values, weights = found.counts.marginal(i)
        observed = np.bincount(draws[:, i], minlength=41)[values] / 20_000
        allowed = 6 * np.sqrt(weights * (1 - weights) / 20_000) + 1e-4
        assert np.all(np.abs(observed - weights) <= allowed)
    theta = found.sample(np.random.default_rng(3), 20_000)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    np.testing.assert_allclose(theta.mean(axis=0), found.mean, atol=6 * 0.2 / np.sqrt(20_000))
