"""Numbers with an error, and what draws are worth."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.estimate import (
    CONFIDENCE,
    RELATIVE,
    Estimate,
    distances_of,
    drawn_mean,
    drawn_quantile,
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
    error = drawn_quantile(LAW, 0.5, "hellinger").error
    assert 2 * math.exp(-2 * 200_000 * error**2) == pytest.approx(CONFIDENCE)


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_drawn_answers_agree_with_the_exact_ones(metric):
    mean = drawn_mean(LAW, metric)
    assert mean.how == "drawn"
    assert abs(mean - LAW.mean_distance(metric)) < 4.5 * mean.error
    assert 0.5 * RELATIVE * mean < mean.error <= RELATIVE * mean
    square = drawn_mean(LAW, metric, 2)
    assert abs(square - LAW.mean_square(metric)) < 4.5 * square.error
    for q in (0.1, 0.5, 0.9):
        drawn = drawn_quantile(LAW, q, metric)
        low = LAW.quantile(q - drawn.error, metric)
        high = LAW.quantile(q + drawn.error, metric)
        assert low - 1e-12 <= drawn <= high + 1e-12


def test_standard_errors_are_those_of_independent_means():
    one = [float(LAW.sample(np.random.default_rng(i), 400)[:, 0].mean()) for i in range(400)]
    law = dp.mechanism("geometric", 0.3).law([15, 25], [1, 2])
    values = distances_of(law, law.sample(np.random.default_rng(1), 20_000), lambda a, b: b[:, 0])
    assert np.std(one) == pytest.approx(values.std() / 20, rel=0.2)
    assert drawn_mean(LAW, "hellinger") == drawn_mean(LAW, dp.hellinger)


def test_whole_counts_that_floats_cannot_tell_apart_are_subtracted_first():
    n = 5 * 10**17
    law = dp.mechanism("geometric", 1.0).law([n, n], [1, 1])
    # H^2 = z^2 / (4 n) to leading order, z the step: E|z| = 1 / sinh(1).
    assert law.mean_distance() == pytest.approx(0.5 / math.sinh(1.0) / math.sqrt(n), rel=1e-9)
    near = dp.mechanism("lattice", 1.0).law([n, n, n], [1, 1, 1]).mean_distance()
    small = dp.mechanism("lattice", 1.0).law([10**9] * 3, [1, 1, 1]).mean_distance()
    assert near == pytest.approx(small * math.sqrt(10**9 / n), rel=1e-6)
    smooth = dp.mechanism("expMech-smooth", 1.0).law([n, n], [1, 1]).mean_distance()
    assert smooth == pytest.approx(
        dp.mechanism("expMech-smooth", 1.0).law([10**9] * 2, [1, 1]).mean_distance()
        * math.sqrt(10**9 / n), rel=1e-6,
    )  # fmt: skip
    with pytest.raises(ValueError, match="at most 2\\^53 for a distance other than hellinger"):
        law.mean_distance(lambda a, b: np.abs(a - b)[..., 0])


def test_draws_that_all_agree_do_not_claim_to_be_exact():
    law = dp.mechanism("geometric", 40.0).law([15, 25], [1, 2])
    found = drawn_mean(law, "hellinger")
    assert found == 0.0
    assert law.mean_distance() <= found.error < 1e-4
