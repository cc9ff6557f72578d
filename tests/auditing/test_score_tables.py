"""Tables of scores against the law's own road and 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.auditing.rows import exponential_rows, score_rows
from dpbayes.auditing.score_tables import stirling_remainder, two_categories
from dpbayes.laws.affinities import log_affinity_of_outputs


def test_rows_of_scores_agree_with_the_law_and_with_50_digits():
    alpha = np.array([1e-6, 30.0])
    table = two_categories(1000, alpha)
    outputs = dp.compositions(1000, 2)
    for x in (0, 1, 142, 500, 999):
        # The law's own road keeps ten digits at a prior of 1e-6.
        ours, theirs = table.row(x), log_affinity_of_outputs(alpha, outputs[x], outputs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=0)
        with mpmath.workdps(50):
            a, b = mpmath.mpf(1e-6) + x, mpmath.mpf(1e-6) + 64
            c, d = mpmath.mpf(30) + 1000 - x, mpmath.mpf(30) + 1000 - 64
            exact = sum(
                mpmath.loggamma((s + t) / 2) - (mpmath.loggamma(s) + mpmath.loggamma(t)) / 2
                for s, t in ((a, b), (c, d))
            )
        assert ours[64] == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-300, 1e-300), (0.01, 40.0), (1e6, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 9, 60, 301])
def test_all_rows_together_are_the_rows_one_by_one(n, prior):
    table = two_categories(n, np.array(prior))
    np.testing.assert_array_equal(table.rows(), [table.row(x) for x in range(n + 1)])


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_rows_kept_are_the_rows_one_by_one(metric):
    scores = score_rows(metric, 60, np.array([0.5, 7.0]))
    rows = exponential_rows(scores, np.linspace(0.1, 9.0, 61))
    for one in (scores, rows):
        np.testing.assert_array_equal(list(one.kept()), list(one))
        np.testing.assert_array_equal(list(one.kept().kept()), list(one))


@given(st.floats(1e-8, 1e6))
def test_the_remainder_of_stirlings_formula(z):
    with mpmath.workdps(40):
        m = mpmath.mpf(z)
        exact = mpmath.loggamma(m) - (m - 0.5) * mpmath.log(m) + m - mpmath.log(2 * mpmath.pi) / 2
    assert stirling_remainder(np.array([z]))[0] == pytest.approx(float(exact), rel=1e-12)
