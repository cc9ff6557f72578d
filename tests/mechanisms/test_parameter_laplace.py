"""Continuous noise on the parameters: quadrature against draws and another rule, the promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.continuous import ContinuousLaw
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace
from tests.strategies import epsilons, histograms, priors


def midpoint_mean(counts, prior, scale, cells=1500):
    """A plain midpoint rule on quantiles of the noise; knows nothing of panels or atoms."""
    levels = (np.arange(cells) + 0.5) / cells
    noise = np.where(levels < 0.5, np.log(2 * levels), -np.log(2 * (1 - levels))) * scale
    first, second = (np.clip(c + noise, 0, sum(counts)) for c in counts)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1) + prior
    return dp.hellinger(np.add(counts, prior), grid).mean()


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [((50, 50), (1, 1), 1.0), ((2, 98), (1, 3), 0.5), ((0, 5), (0.1, 0.1), 0.3)],
)
def test_mean_against_a_midpoint_rule(counts, prior, epsilon):
    estimate = ParameterLaplace(epsilon).law(counts, prior).estimate()
    assert estimate.how == "quadrature"
    assert estimate.error < 1e-6
    assert estimate.value == pytest.approx(midpoint_mean(counts, prior, 2 / epsilon), abs=2e-4)


@pytest.mark.parametrize("counts", [(231, 500), (30, 30, 40), (3, 0, 4)])
@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_mean_against_draws(counts, metric):
    prior = np.ones(len(counts))
    law = ParameterLaplace(1.0).law(counts, prior)
    rng = np.random.default_rng(11)
    drawn = dp.simulate(law, counts, prior, rng, 40_000, metric)
    assert abs(drawn.mean - law.mean_distance(metric)) <= 5 * drawn.standard_error


@settings(max_examples=25, deadline=None)
@given(histograms(2, 400), priors(2), epsilons)
def test_rules_hold_all_probability(counts, prior, epsilon):
    law = ContinuousLaw(prior, counts, 2 / epsilon)
    for i in (0, 1):
        rule = law._rule(i, 12)
        assert rule.weights.sum() == pytest.approx(1.0, abs=1e-10)
        assert rule.points.min() >= 0
        assert rule.points.max() <= law.n


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


def test_four_categories_say_what_fits():
    law = dp.mechanism("parameter-laplace", 1.0).law([11019, 7309, 1560, 302], [1] * 4)
    with pytest.raises(ValueError, match="at most 3 categories, got 4"):
        law.mean_distance()
    estimate = law.estimate()
    assert estimate.how == "draws"
    assert 0.03 < estimate.value < 0.2
    assert law.quantile(0.1) < estimate.value < law.quantile(0.95)


def test_probability_is_that_of_the_atoms():
    law = ParameterLaplace(1.0).law([1, 3], [1, 1])
    assert law.probability([0, 4]) == pytest.approx(0.25 * np.exp(-0.5) * np.exp(-0.5))
    assert law.probability([1, 3]) == 0.0
    draws = law.sample(np.random.default_rng(3), 40_000)
    share = np.mean((draws == [0.0, 4.0]).all(axis=1))
    expected = law.probability([0, 4])
    assert share == pytest.approx(expected, abs=6 * np.sqrt(expected / 40_000))


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
