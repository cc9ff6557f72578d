"""A metric is its name or its function, and exponents are those of the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import metric_name
from dpbayes.laws.estimate import metric_function, power_of_affinity


def test_names_and_functions_are_one():
    assert metric_function("hellinger") is metric_function(dp.hellinger) is dp.hellinger
    assert metric_function("published") is dp.hellinger_published
    assert metric_name(dp.hellinger_published) == metric_name("published") == "published"


def test_another_function_is_taken_as_it_is_where_outputs_are_listed():
    def first_gap(a, b):
        return np.abs(np.asarray(a)[..., 0] - np.asarray(b)[..., 0])

    assert metric_function(first_gap) is first_gap
    law = dp.mechanism("geometric", 1.0).law([50, 50], [1, 1])
    assert law.mean_distance(first_gap) == pytest.approx(1 / math.sinh(1.0), rel=1e-9)


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_the_exponent_gives_the_metric_from_the_affinity(metric):
    a, b = [3.0, 7.5], [4.0, 6.5]
    power = power_of_affinity(metric, 10.5)
    affinity = math.exp(float(dp.log_affinity(a, b)))
    # The published slip leaves out the totals, which are equal here.
    assert metric_function(metric)(a, b) == pytest.approx(math.sqrt(1 - affinity**power), rel=1e-12)


@pytest.mark.parametrize(
    ("bad", "error"),
    [("euclid", ValueError), (3, TypeError), (None, TypeError), (float, TypeError)],
)
def test_what_is_no_metric_is_refused_by_name(bad, error):
    with pytest.raises(error, match="metric must be"):
        metric_function(bad)


def test_another_function_is_no_power_of_the_affinity():
    assert power_of_affinity(lambda a, b: np.zeros(1), 10.0) is None
    assert power_of_affinity(dp.hellinger, 10.0) == 1.0
