"""The law of continuous noise: its mean against a midpoint rule, its atoms."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace


def midpoint_mean(counts, prior, scale, cells=600):
    """A plain midpoint rule on quantiles of the noise; knows nothing of draws or atoms."""
    levels = (np.arange(cells) + 0.5) / cells
    noise = np.where(levels < 0.5, np.log(2 * levels), -np.log(2 * (1 - levels))) * scale
    first, second = (np.clip(c + noise, 0, sum(counts)) for c in counts)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1) + prior
    distances = dp.hellinger(np.add(counts, prior), grid)
    return distances.mean(), (distances**2).mean()


@pytest.mark.parametrize(
    ("counts", "prior", "epsilon"),
    [((50, 50), (1, 1), 1.0), ((2, 98), (1, 3), 0.5), ((0, 5), (0.1, 0.1), 0.3)],
)
def test_moments_against_a_midpoint_rule(counts, prior, epsilon):
    law = ParameterLaplace(epsilon).law(counts, prior)
    mean, square = midpoint_mean(counts, prior, 2 / epsilon)
    for found, expected in ((law.mean_distance(), mean), (law.mean_square(), square)):
        assert found.how == "drawn"
        assert abs(found - expected) < 4.5 * found.error + 5e-4
        assert 0.0 < found.error < 2e-3


def test_probability_is_that_of_the_atoms():
    law = ParameterLaplace(1.0).law([1, 3], [1, 1])
    assert law.probability([0, 4]) == pytest.approx(0.25 * np.exp(-0.5) * np.exp(-0.5))
    assert law.probability([1, 3]) == 0.0
    draws = law.sample(np.random.default_rng(3), 40_000)
    share = np.mean((draws == [0.0, 4.0]).all(axis=1))
    expected = law.probability([0, 4])
    assert share == pytest.approx(expected, abs=6 * np.sqrt(expected / 40_000))
