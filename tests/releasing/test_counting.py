"""What posteriors of counts share, against fifty digits and by counting."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

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
