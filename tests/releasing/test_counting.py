"""What posteriors of counts share, against fifty digits and by counting."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.releasing import noise_aware
from dpbayes.releasing.counting import added_up, log_prior_factor, pick


@pytest.mark.parametrize("alpha", [1e-6, 0.5, 1.0, 40.0, 1e6])
def test_the_prior_factor_has_its_digits(alpha):
    values = np.array([0, 1, 2, 17, 1000, 10**6])
    with mpmath.workdps(50):
        exact = [
            float(mpmath.loggamma(mpmath.mpf(alpha) + x) - mpmath.loggamma(x + 1))
            for x in values.tolist()
        ]
    size = np.maximum(np.abs(exact), np.array([abs(float(mpmath.loggamma(x + 1))) for x in values]))
    if alpha >= 1e4:  # there it is given up to a constant
        exact = [one - exact[0] for one in exact]
    assert np.all(np.abs(log_prior_factor(alpha, values) - exact) <= 1e-14 * np.maximum(size, 20))


def test_places_are_picked_as_often_as_they_weigh():
    weights = np.array([1.0, 0.0, 3.0, 4.0])
    picked = np.bincount(pick(np.random.default_rng(1), weights, 80_000), minlength=4)
    assert picked[1] == 0
    expected = 80_000 * weights / weights.sum()
    spread = np.sqrt(expected * (1 - weights / weights.sum()))
    assert np.all(np.abs(picked - expected) <= 5 * spread)


def test_weights_of_equal_values_are_added():
    values, weights = added_up(np.array([5, 2, 5, 9]), np.array([0.25, 0.5, 0.125, 1.0]))
    assert (values.tolist(), weights.tolist()) == ([2, 5, 9], [0.5, 0.375, 1.0])


@pytest.mark.parametrize("alpha", [1e-320, 1e-12, 9999.0, 1e4, 1e9, 1e15, 1e300])
def test_the_factor_of_the_prior_keeps_its_change_with_the_count(alpha):
    values = np.array([0, 1, 2, 50, 10**6])
    with mpmath.workdps(340):
        exact = [
            mpmath.loggamma(mpmath.mpf(alpha) + x) - mpmath.loggamma(x + 1) for x in values.tolist()
        ]
        wanted = [float(one - exact[1]) for one in exact]
    found = log_prior_factor(alpha, values)
    np.testing.assert_allclose(found - found[1], wanted, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("prior", [(1e-320, 1.0), (1e300, 1.0), (1e15, 1e15), (1e9, 1e-9)])
def test_extreme_priors_have_a_noise_aware_posterior(prior):
    aware = noise_aware(dp.mechanism("lattice", 1.0), np.array([5, 6]), 11, np.array(prior))
    assert aware.mean.sum() == pytest.approx(1.0)
    assert all(0.0 <= low <= high <= 1.0 for low, high in aware.interval())
