"""The exponential mechanism: its weights are the definition, in either metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from tests.strategies import small_cases

EXACT_EVERYWHERE = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta")


@given(small_cases(), st.floats(0.05, 5.0), st.sampled_from(EXACT_EVERYWHERE))
@settings(deadline=None)
def test_exponential_weights_are_the_definition(case, epsilon, name):
    counts, prior = case
    mechanism = dp.mechanism(name, epsilon=epsilon)
    law = mechanism.law(counts, prior)
    scores = dp.hellinger(prior + counts, prior + law.outputs)
    factor = 4.0 if name == "expMech-smooth" else 2.0
    weights = np.exp(-epsilon * scores / (factor * mechanism.sensitivity(counts, prior).value))
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("name", EXACT_EVERYWHERE)
def test_published_metric_scores_by_the_published_distance(name):
    counts, prior = np.array([12, 18]), np.array([1.0, 1.0])
    mechanism = dp.mechanism(name, epsilon=1.0, metric="published")
    law = mechanism.law(counts, prior)
    scores = dp.hellinger_published(prior + counts, prior + law.outputs)
    rate = mechanism.rate(counts, prior)
    weights = np.exp(-rate * scores)
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-10)
    assert law.distances == pytest.approx(
        np.asarray(dp.hellinger(prior + counts, prior + law.outputs)), abs=1e-12
    )
