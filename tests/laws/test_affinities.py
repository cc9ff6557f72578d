"""Affinities of lists against one pair at a time."""

import numpy as np
import pytest

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.estimate import affinity_by_value, log_affinity_of_outputs, row_sums


def test_a_long_column_is_looked_up_and_a_short_one_is_not():
    rng = np.random.default_rng(8)
    released = rng.integers(30, 90, 50_000)
    expected = affinity_of_counts(0.5, 60, np.arange(30, 90))[released - 30]
    assert np.array_equal(affinity_by_value(0.5, 60, released), expected)
    few = rng.integers(0, 10**9, 5)
    assert np.array_equal(affinity_by_value(0.5, 60, few), affinity_of_counts(0.5, 60, few))
    assert affinity_by_value(0.5, 60, few[:0]).size == 0


def test_wide_columns_and_other_totals():
    rng = np.random.default_rng(5)
    counts, prior = rng.integers(0, 10**9, 20), np.ones(20)
    outputs = rng.integers(0, 10**9, (3, 20))
    expected = [
        sum(
            affinity_by_value(1.0, int(x), np.array([r]))[0]
            for x, r in zip(counts, row, strict=True)
        )
        - affinity_by_value(20.0, int(counts.sum()), row.sum()[None])[0]
        for row in outputs
    ]
    assert log_affinity_of_outputs(prior, counts, outputs) == pytest.approx(expected, rel=1e-13)
    assert row_sums(outputs).tolist() == outputs.sum(axis=1).tolist()
