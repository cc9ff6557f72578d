"""Sizes at which the series was refused though it is right there."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.series.expansions import expand_weight


def test_errors_of_weights_far_below_the_smallest_float() -> None:
    expansion = expand_weight(4e3, 1e-9, 900.0)
    errors = expansion.errors(1e-9, -900.0)
    assert max(errors) < 1e-11


@pytest.mark.parametrize(
    ("k", "n", "epsilon"), [(50, 10**9, 10.0), (200, 10**9, 1.0), (1000, 10**6, 1.0)]
)
def test_means_are_certified(k: int, n: int, epsilon: float) -> None:
    law = dp.mechanism("expMech-smooth", epsilon).law(np.full(k, n // k), np.ones(k))
    mean = law.mean_distance()
    assert mean.error < 1e-9
    assert 0.0 < mean <= 1.0


def test_a_mean_that_was_refused_agrees_with_draws() -> None:
    law = dp.mechanism("expMech-smooth", 10.0).law(np.full(50, 2 * 10**7), np.ones(50))
    draws = law.sample(np.random.default_rng(4), 400)
    distances = dp.hellinger(np.full(50, 2e7 + 1.0), draws + 1.0)
    mean, spread = distances.mean(), distances.std() / np.sqrt(distances.size)
    assert abs(mean - law.mean_distance()) < 6.0 * spread + 1e-6
