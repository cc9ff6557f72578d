"""Quick tables of a chain's distances against mpmath; the largest step next to each data set."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from dpbayes.study.quick_chain import quick_tables

PRIORS = [(1.0, 1.0), (0.01, 3.0), (40.0, 0.5), (1e6, 200.0)]


def exact(n, prior, x, r):
    """H(x, r) in 40 digits, from the affinity of two beta posteriors."""
    a, b = (mp.mpf(prior[0]) + x, mp.mpf(prior[1]) + n - x)
    c, d = (mp.mpf(prior[0]) + r, mp.mpf(prior[1]) + n - r)

    def log_beta(u, v):
        return mp.loggamma(u) + mp.loggamma(v) - mp.loggamma(u + v)

    logs = log_beta((a + c) / 2, (b + d) / 2) - (log_beta(a, b) + log_beta(c, d)) / 2
    return float(mp.sqrt(-mp.expm1(logs)))


@pytest.mark.parametrize("prior", PRIORS)
def test_distances_are_right_to_the_stated_error(prior):
    n = 7
    distances, _ = quick_tables(n, prior)
    with mp.workdps(40):
        for x in range(n + 1):
            for r in range(n + 1):
                if x == r:
                    assert distances[x, r] == 0.0
                    continue
                true = exact(n, prior, x, r)
                assert distances[x, r] == pytest.approx(true, abs=1e-12 / true)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_local_sensitivity_is_the_larger_of_the_two_steps(prior):
    n = 12
    distances, local = quick_tables(n, prior)
    for x in range(n + 1):
        steps = [distances[x, y] for y in (x - 1, x + 1) if 0 <= y <= n]
        assert local[x] == pytest.approx(max(steps), rel=1e-14)


def test_mirrored_priors_give_mirrored_tables_that_cannot_be_written():
    one, local = quick_tables(9, (0.4, 2.0))
    other, mirrored = quick_tables(9, (2.0, 0.4))
    np.testing.assert_allclose(one, other[::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(local, mirrored[::-1], atol=1e-12)
    assert not one.flags.writeable
    assert not local.flags.writeable
