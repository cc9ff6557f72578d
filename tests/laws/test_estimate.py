"""Numbers with an error, and what draws are worth."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.estimate import (
    CONFIDENCE,
    DRAWS,
    Estimate,
    drawn_distances,
    drawn_mean,
    drawn_quantile,
    rank_error,
)

LAW = dp.mechanism("geometric", 0.3).law([15, 25], [1, 2])


def test_an_estimate_carries_its_error_through_copies_and_not_through_sums():
    number = Estimate(0.25, 1e-3, "draws")
    again = copy.deepcopy(number)
    assert (again, again.error, again.how) == (0.25, 1e-3, "draws")
    assert type(number * 2) is float
    assert np.array([number, number]).dtype == np.float64


def test_the_rank_error_is_the_bound_of_massart():
    # 2 exp(-2 m e^2) is the probability of a larger error.
    assert 2 * math.exp(-2 * 500 * rank_error(500) ** 2) == pytest.approx(CONFIDENCE)
    assert rank_error(DRAWS) == pytest.approx(0.0060, abs=1e-4)


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_drawn_answers_agree_with_the_exact_ones(metric):
    mean = drawn_mean(LAW, metric)
    assert abs(mean - LAW.mean_distance(metric)) < mean.error
    for q in (0.1, 0.5, 0.9):
        drawn = drawn_quantile(LAW, q, metric)
        low = LAW.quantile(q - drawn.error, metric)
        high = LAW.quantile(q + drawn.error, metric)
        assert low - 1e-12 <= drawn <= high + 1e-12


def test_draws_are_the_same_every_time():
    assert np.array_equal(drawn_distances(LAW, "hellinger"), drawn_distances(LAW, dp.hellinger))
