"""Clamped outputs level by level, against the list of all noise vectors and the projection."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.lattice import listed as lists
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.landing import row_of
from dpbayes.laws.lattice.outputs import clamped_masses, work
from dpbayes.laws.lattice.projection import project
from dpbayes.posteriors import compositions

CASES = [
    ([0, 3], 1.0),
    ([2, 0], 0.4),
    ([1, 0, 2], 1.0),
    ([0, 0, 5], 0.7),
    ([4, 4, 1], 0.5),
    ([0, 0, 2, 5], 1.0),
    ([3, 1, 0, 1], 1.2),
    ([1, 0, 1, 0, 1], 1.6),
    ([0, 0, 0], 1.0),
]


@pytest.mark.parametrize(("counts", "epsilon"), CASES)
def test_every_output_has_the_mass_of_the_noise_that_lands_on_it(
    counts: list[int], epsilon: float
) -> None:
    x = np.array(counts)
    n, k = int(x.sum()), x.size
    size = noise.radius(k, epsilon, 1e-13)
    noisy = x + noise.points(k, size)
    noisy = noisy[(noisy < 0).any(axis=1)]
    masses = np.exp(lists.log_mass(noisy - x, epsilon))
    everything = compositions(n, k)
    expected = np.bincount(row_of(project(noisy)), masses, len(everything))
    outputs, found = clamped_masses(x, epsilon, size)
    assert outputs.min() >= 0
    assert np.all(outputs.sum(axis=1) == n)
    summed = np.bincount(row_of(outputs), found, len(everything))
    np.testing.assert_allclose(summed, expected, atol=2e-13)
    assert np.all(found >= 0.0)


@pytest.mark.parametrize(
    ("counts", "epsilon"), [([0, 0, 7, 93], 0.2), ([5, 0, 12, 3], 0.1), ([0, 1, 200], 0.01)]
)
def test_wide_noise_on_few_records_is_listed(counts: list[int], epsilon: float) -> None:
    k = len(counts)
    listed = dp.mechanism("lattice", epsilon).law(counts, np.ones(k))
    assert listed.mean_distance().how == "sum"
    assert abs(listed.probabilities.sum() - 1.0) < 1e-12
    assert np.all(np.isfinite(listed.log_probabilities))


def test_the_mean_is_that_of_drawn_noise() -> None:
    listed = dp.mechanism("lattice", 0.2).law([0, 0, 7, 93], np.ones(4))
    rng = np.random.default_rng(8)
    draws = project(np.array([0, 0, 7, 93]) + noise.draw(rng, 4, 0.2, 200_000))
    distances = dp.hellinger(np.array([1, 1, 8, 94]), 1 + draws)
    spread = float(np.std(distances)) / np.sqrt(200_000)
    assert abs(float(listed.mean_distance()) - float(distances.mean())) < 5.0 * spread


def test_single_outputs_agree_with_the_circles_of_the_levels() -> None:
    counts = np.array([1, 0, 6])
    outputs, masses = clamped_masses(counts, 1.5, 200)
    part = ClampedPart(np.ones(3), counts, 1.5)
    for output in ([0, 0, 7], [7, 0, 0], [0, 3, 4], [2, 0, 5]):
        found = masses[(outputs == output).all(axis=1)].sum()
        assert found == pytest.approx(part.probability(np.array(output)), rel=1e-11)


def test_what_would_take_minutes_is_not_begun() -> None:
    assert work(10, 10, 260) > 2e8
    assert lists.listed_law(np.ones(4), np.array([0, 0, 7, 93]), 0.02, "l2") is None
    assert lists.listed_law(np.ones(10), np.ones(10, dtype=np.int64), 0.2, "l2") is None
    assert lists.listed_law(np.ones(4), np.array([0, 0, 7, 93]), 0.2, "l1") is None


@pytest.mark.parametrize(
    ("counts", "epsilon"), [([0, 0, 9], 0.4), ([30, 0, 5], 0.3), ([2, 7, 0, 1], 1.0)]
)
def test_a_law_by_levels_is_that_of_every_noise_vector(monkeypatch, counts, epsilon) -> None:
    prior, x = np.ones(len(counts)), np.array(counts)
    monkeypatch.setattr(lists, "_LEVELS_FIRST", 1 << 30)
    monkeypatch.setattr(lists, "_SHORT_LIST", 0)
    followed = lists.listed_law(prior, x, epsilon, "l2")
    monkeypatch.setattr(lists, "_SHORT_LIST", 1 << 30)
    listed = lists.listed_law(prior, x, epsilon, "l2")
    np.testing.assert_allclose(
        followed.log_probabilities, listed.log_probabilities, rtol=0.0, atol=1e-12
    )
    assert followed.mass_outside == listed.mass_outside
