"""Continuous noise on the parameters: quadrature against draws and another rule, the promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.mechanisms.laplace import ParameterLaplace
from tests.strategies import epsilons, histograms


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(231, 500), (30, 30, 40), (3, 0, 4)])
@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_mean_against_draws(counts, metric):
    prior = np.ones(len(counts))
    law = ParameterLaplace(1.0).law(counts, prior)
    rng = np.random.default_rng(11)
    drawn = dp.simulate(law, counts, prior, rng, 40_000, metric)
    mean = law.mean_distance(metric)
    assert abs(drawn.mean - mean) <= 5 * np.hypot(drawn.standard_error, mean.error)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(histograms(3, 40), epsilons)
def test_promised_epsilon_for_densities_and_atoms(counts, epsilon):
    # The density of one update at u is that of Laplace(2/epsilon) around x_i, the atoms collect
    # its tails; so the log ratio of neighbours is a sum over the coordinates.
    n = int(counts.sum())
    scale = ParameterLaplace(epsilon).law(counts, np.ones(3)).scale

    def log_mass(u, x):
        distance = -abs(u - x) / scale
        return np.log(0.5) + distance if u in (0, n) else distance

    grid = [0, 0.5, n / 2, n - 0.5, n]
    for other in dp.neighbours(counts):
        worst = max(
            abs(
                sum(
                    log_mass(u, a) - log_mass(u, b)
                    for u, a, b in zip(us, counts, other, strict=True)
                )
            )
            for us in itertools.product(grid, repeat=3)
        )
        assert worst <= epsilon + 1e-9


def test_four_categories_are_drawn():
    law = dp.mechanism("parameter-laplace", 1.0).law([11019, 7309, 1560, 302], [1] * 4)
    mean = law.mean_distance()
    assert mean.how == "drawn"
    assert 0.03 < mean < 0.2
    assert law.quantile(0.1) < mean < law.quantile(0.95)


@given(st.sampled_from([0.0, -1.0, float("inf"), float("nan")]))
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        ParameterLaplace(epsilon)


def test_bad_input():
    with pytest.raises(ValueError, match="at least one record"):
        ParameterLaplace(1.0).law([0, 0], [1, 1])
    law = ParameterLaplace(1.0).law([5, 5], [1, 1])
    with pytest.raises(ValueError, match="2 entries"):
        law.probability([1, 2, 7])
    with pytest.raises(TypeError, match="Generator"):
        law.sample(1, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        law.quantile(1.5)


@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_the_atoms_are_those_of_noise_of_scale_two_over_epsilon(epsilon):
    law = dp.mechanism("parameter-laplace", epsilon).law([2, 5], [1, 0.5])
    # The first count falls to 0 and the second rises to 7: two tails of 2, scale 2/epsilon.
    expected = (0.5 * np.exp(-2 * epsilon / 2)) ** 2
    assert float(law.probability([0, 7])) == pytest.approx(expected, rel=1e-14)
