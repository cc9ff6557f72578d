"""The affinities of all histograms from separable tables, against the general way."""

import numpy as np
import pytest
from hypothesis import given, settings

from dpbayes.laws.affinities import log_affinity_of_all, log_affinity_of_outputs
from dpbayes.posteriors import compositions
from tests.strategies import small_cases


@given(small_cases())
@settings(max_examples=40, deadline=None)
def test_runs_of_two_tables_give_the_same_numbers(case):
    counts, prior = (np.asarray(part) for part in case[:2])
    x, alpha = counts.astype(np.int64), prior.astype(np.float64)
    found = log_affinity_of_all(alpha, x)
    expected = log_affinity_of_outputs(alpha, x, compositions(int(x.sum()), x.size))
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-15)


@pytest.mark.parametrize("counts", [[7, 0], [3, 0, 9], [0, 2, 1, 4], [1, 0, 0, 2, 3]])
def test_by_hand(counts):
    x, prior = np.array(counts), np.linspace(0.3, 2.0, len(counts))
    found = log_affinity_of_all(prior, x)
    expected = log_affinity_of_outputs(prior, x, compositions(int(x.sum()), x.size))
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-15)
