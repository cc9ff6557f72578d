from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.mechanisms.exponential import PermuteAndFlip


def by_all_orders(weights):
    """Walk through every order of the candidates, as the definition says."""
    total = np.zeros(len(weights))
    orders = list(itertools.permutations(range(len(weights))))
    for order in orders:
        alive = 1.0
        for r in order:
            total[r] += alive * weights[r]
            alive *= 1.0 - weights[r]
    return total / len(orders)


@pytest.mark.parametrize("sensitivity", ["global", "smooth"])
@pytest.mark.parametrize(
    ("counts", "prior"), [([2, 3], [1, 1]), ([0, 6], [0.3, 4]), ([1, 1, 0], [1, 2, 1])]
)
def test_law_is_the_average_over_all_orders(sensitivity, counts, prior):
    mechanism = dp.mechanism("permute-and-flip", 1.7, sensitivity=sensitivity)
    law = mechanism.law(counts, prior)
    rate = mechanism.scores_like.rate(counts, prior)
    distances = dp.hellinger(np.add(prior, counts), law.outputs + np.asarray(prior, float))
    expected = by_all_orders(np.exp(-rate * distances))
    np.testing.assert_allclose(law.probabilities, expected, rtol=1e-12)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    sensitivity=st.sampled_from(["global", "smooth"]),
    epsilon=st.floats(0.05, 8.0),
    gamma=st.floats(0.05, 3.0),
    n=st.integers(1, 15),
    prior=st.tuples(st.floats(0.05, 8.0), st.floats(0.05, 8.0)),
)
def test_private_complete_and_never_worse_than_the_exponential_mechanism(
    sensitivity, epsilon, gamma, n, prior
):
    mechanism = PermuteAndFlip(epsilon, sensitivity, gamma)
    assert dp.audit(mechanism, n, prior).epsilon <= epsilon + 1e-11
    counts = [n // 3, n - n // 3]
    law, exponential = mechanism.law(counts, prior), mechanism.scores_like.law(counts, prior)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.mean_distance() <= exponential.mean_distance() + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("n", [1500, 4999])
def test_the_rule_still_sums_to_one_with_many_candidates(n):
    for mechanism in (PermuteAndFlip(1.0), PermuteAndFlip(1.0, "smooth"), PermuteAndFlip(300.0)):
        law = mechanism.law([n // 2, n - n // 2], [1, 1])
        assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)


def test_bad_input():
    with pytest.raises(ValueError, match="sensitivity must be one of global, smooth"):
        PermuteAndFlip(1.0, "local")
    with pytest.raises(ValueError, match=r"more than 5000; at k = 3 .* takes n up to 98"):
        PermuteAndFlip(1.0).law([100, 100, 100], [1, 1, 1])
