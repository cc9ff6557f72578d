"""The law of continuous noise: its quadrature against a midpoint rule, its atoms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import dpbayes as dp
from dpbayes.laws import continuous
from dpbayes.laws.continuous import ContinuousLaw
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace
from tests.strategies import epsilons, histograms, priors


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [((50, 50), (1, 1), 1.0), ((2, 98), (1, 3), 0.5), ((0, 5), (0.1, 0.1), 0.3)],
)
def test_mean_against_a_midpoint_rule(counts, prior, epsilon):
    estimate = ParameterLaplace(epsilon).law(counts, prior).mean_distance()
    assert estimate.how == "series"
    assert estimate.error < 1e-6
    assert estimate.value == pytest.approx(midpoint_mean(counts, prior, 2 / epsilon), abs=2e-4)


@settings(max_examples=25, deadline=None)
@given(histograms(2, 400), priors(2), epsilons)
def test_rules_hold_all_probability(counts, prior, epsilon):
    law = ContinuousLaw(prior, counts, 2 / epsilon)
    for i in (0, 1):
        points, weights = law._rule(i, 12, False)
        assert weights.sum() == pytest.approx(1.0, abs=1e-10)
        assert points.min() >= 0
        assert points.max() <= law.n


def test_probability_is_that_of_the_atoms():
    law = ParameterLaplace(1.0).law([1, 3], [1, 1])
    assert law.probability([0, 4]) == pytest.approx(0.25 * np.exp(-0.5) * np.exp(-0.5))
    assert law.probability([1, 3]) == 0.0
    draws = law.sample(np.random.default_rng(3), 40_000)
    share = np.mean((draws == [0.0, 4.0]).all(axis=1))
    expected = law.probability([0, 4])
    assert share == pytest.approx(expected, abs=6 * np.sqrt(expected / 40_000))


def midpoint_mean(counts, prior, scale, cells=1500):
    """A plain midpoint rule on quantiles of the noise; knows nothing of panels or atoms."""
    levels = (np.arange(cells) + 0.5) / cells
    noise = np.where(levels < 0.5, np.log(2 * levels), -np.log(2 * (1 - levels))) * scale
    first, second = (np.clip(c + noise, 0, sum(counts)) for c in counts)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1) + prior
    return dp.hellinger(np.add(counts, prior), grid).mean()


@pytest.mark.parametrize(
    ("prior", "counts", "epsilon"),
    [
        ((5.394e-12, 2.097e7), (1666, 3334), 2.0566e-5),
        ((0.0042, 94946.0), (150, 150), 6.85e-4),
        ((9.84, 209894.0), (1, 29), 0.2723),
        ((181456.9, 0.849), (500_000, 500_000), 1.32e-6),
    ],
)
def test_the_stated_error_covers_a_finer_rule(prior, counts, epsilon, monkeypatch):
    law = ContinuousLaw(prior, counts, 2 / epsilon)
    found = law.mean_distance()
    monkeypatch.setitem(continuous._RULES, 2, (16, 10, 2.0**-12, 22))
    assert abs(found - law._integral(20, 1, finer=True)) <= found.error


def test_more_categories_are_drawn():
    law = ContinuousLaw(np.ones(4), np.array([110, 73, 15, 3]), 2.0)
    mean = law.mean_distance()
    assert mean.how == "drawn"
    drawn = dp.simulate(law, law.counts, law.prior, np.random.default_rng(2), 40_000)
    assert abs(drawn.mean - mean) < 5 * np.hypot(drawn.standard_error, mean.error)
