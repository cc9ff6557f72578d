"""Rows of all laws: no large table is held, every pair of neighbours comes once."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.exact import audit_rows
from dpbayes.auditing.rows import exponential_rows, mechanism_rows, moves, score_rows
from tests.reference import affinity as reference


@pytest.mark.slow
def test_no_matrix_of_all_laws_is_held_when_it_would_not_fit():
    prior = np.array([1.0, 1.5])
    rows = mechanism_rows(dp.mechanism("expMech-smooth", 1.0), 1200, prior)
    assert rows.kept(limit=1000) is rows
    tracemalloc.start()
    audit_rows(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 1201**2 / 20


@pytest.mark.parametrize(("n", "k"), [(6, 2), (4, 3), (3, 4)])
def test_moves_are_all_neighbouring_pairs_once(n, k):
    counts = dp.compositions(n, k)
    brute = {
        (i, j)
        for i, j in itertools.combinations(range(len(counts)), 2)
        if np.abs(counts[i] - counts[j]).sum() == 2
    }
    listed = list(zip(*(part.tolist() for part in moves(counts)), strict=True))
    assert len(listed) == len(set(listed)) == len(brute)
    assert set(listed) == brute


@pytest.mark.parametrize("prior", [[1e-6, 30.0], [1.0, 1.0], [0.01, 40.0], [0.5, 2.0, 7.0]])
def test_rows_of_scores_agree_with_fifty_digits(prior):
    n = 400 if len(prior) == 2 else 12
    rows = score_rows("hellinger", n, np.array(prior))
    for i in (0, 1, len(rows.counts) // 3, len(rows.counts) - 1):
        row = rows.row(i)
        assert row[i] == 0.0
        for at in (2, len(row) // 2, len(row) - 3):
            a, b = (np.array(prior) + rows.counts[j] for j in (i, at))
            exact = reference.hellinger(a, b)
            assert row[at] == pytest.approx(float(exact), rel=1e-9)
            assert row[at] == pytest.approx(float(dp.hellinger(a, b)), rel=1e-9)


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_rows_kept_are_the_rows_one_by_one(metric):
    scores = score_rows(metric, 60, np.array([0.5, 7.0]))
    rows = exponential_rows(scores, np.linspace(0.1, 9.0, 61))
    for one in (scores, rows):
        np.testing.assert_array_equal(list(one.kept()), list(one))
        np.testing.assert_array_equal(list(one.kept().kept()), list(one))
