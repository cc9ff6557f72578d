"""Rows of all laws: no large table is held, every pair of neighbours comes once."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.exact import audit_rows
from dpbayes.auditing.rows import mechanism_rows, moves


def test_no_matrix_of_all_laws_is_held_when_it_would_not_fit():
    prior = np.array([1.0, 1.5])
    rows = mechanism_rows(dp.mechanism("expMech-smooth", 1.0), 1200, prior)
    assert rows.kept(limit=1000) is rows
    tracemalloc.start()
    audit_rows("", 1200, prior, rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * rows.entries / 20


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
