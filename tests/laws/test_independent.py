"""Independent noise on each count: one count by a sum, the joint law by its list."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from dpbayes.laws.independent import IndependentLaw, log_released
from dpbayes.mechanisms.independent import IndependentNoise


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_one_count_against_a_plain_sum(count, epsilon):
    released = np.arange(0, 60)
    noise = {z: math.exp(-epsilon * abs(z)) for z in range(-2000, 2001)}
    total = math.fsum(noise.values())
    wanted = Counter()
    for z, weight in noise.items():
        wanted[max(count + z, 0)] += weight / total
    found = np.exp(log_released(count, released, epsilon))
    assert found == pytest.approx([wanted[int(r)] for r in released], rel=1e-11)


def test_the_listed_law_is_complete_and_the_drawn_one_agrees():
    mechanism = IndependentNoise(1.0)
    listed = mechanism.law([30, 5, 0], [1, 1, 1])
    assert listed.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    drawn = IndependentLaw(listed.prior, listed.counts, 1.0)
    estimate = drawn.mean_distance()
    assert abs(estimate.value - listed.mean_distance()) <= 4.5 * estimate.error
    assert drawn.probability([31, 4, 0]) == pytest.approx(listed.probability([31, 4, 0]), rel=1e-12)
    assert drawn.probability([31, 4, 0]) > 0


def test_many_categories_are_answered_by_draws():
    assert isinstance(IndependentNoise(1.0).law([5] * 12, [1] * 12), IndependentLaw)
