"""The affinities of all histograms from separable tables, against the general way."""

import numpy as np
import pytest
from hypothesis import given, settings

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.affinities import (
    ENTRIES_AT_ONCE,
    MANY,
    CandidateAffinities,
    affinity_by_value,
    log_affinity_of_outputs,
    row_sums,
)
from dpbayes.posteriors import compositions
from tests.strategies import small_cases


def whole(every):
    return every.piece(0, every.size)


@given(small_cases())
@settings(max_examples=40, deadline=None)
def test_runs_of_two_tables_give_the_same_numbers(case):
    counts, prior = (np.asarray(part) for part in case[:2])
    x, alpha = counts.astype(np.int64), prior.astype(np.float64)
    found = whole(CandidateAffinities(alpha, x))
    expected = log_affinity_of_outputs(alpha, x, compositions(int(x.sum()), x.size))
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-15)


@pytest.mark.parametrize("counts", [[7, 0], [3, 0, 9], [0, 2, 1, 4], [1, 0, 0, 2, 3]])
def test_by_hand(counts):
    x, prior = np.array(counts), np.linspace(0.3, 2.0, len(counts))
    found = whole(CandidateAffinities(prior, x))
    expected = log_affinity_of_outputs(prior, x, compositions(int(x.sum()), x.size))
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-15)


@pytest.mark.parametrize("spread", [3, 40])
def test_blocks_of_rows_give_the_numbers_of_columns_to_the_last_digit(spread):
    rng = np.random.default_rng(spread)
    k, rows = 2 * MANY, ENTRIES_AT_ONCE // MANY + 7
    counts, prior = rng.integers(0, 300, k), rng.choice([0.5, 1.0, 2.5], k)
    outputs = np.maximum(counts + rng.integers(-spread, spread + 1, (rows, k)), 0)
    by_column = np.zeros(rows)
    for i in range(k):
        by_column += affinity_by_value(float(prior[i]), int(counts[i]), outputs[:, i])
    totals = outputs.sum(axis=1)
    by_column -= affinity_by_value(float(prior.sum()), int(counts.sum()), totals)
    assert np.array_equal(row_sums(outputs), totals)
    found = log_affinity_of_outputs(prior, counts, outputs)
    assert np.array_equal(found, np.minimum(by_column, 0.0))
    columns = np.asfortranarray(outputs)
    assert np.array_equal(log_affinity_of_outputs(prior, counts, columns), found)


def test_a_long_column_is_looked_up_in_blocks():
    released = np.random.default_rng(8).integers(30, 90, 50_000)
    expected = affinity_of_counts(0.5, 60, np.arange(30, 90))[released - 30]
    assert np.array_equal(affinity_by_value(0.5, 60, released), expected)


def test_few_rows_and_wide_columns_need_no_table():
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


@pytest.mark.parametrize("most", [40, 511, 512, 3000])
def test_kept_tables_are_those_of_their_own_prior_and_count(most):
    released = np.arange(most + 1)
    for prior, count in [(1.0, 3), (1.0, 4), (0.5, 3), (1.0, 3)]:
        found = affinity_by_value(prior, count, released)
        np.testing.assert_array_equal(found, affinity_of_counts(prior, count, released))
        found[:] = 0.0  # what a caller does to its answer reaches nobody else
