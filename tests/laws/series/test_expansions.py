"""Short sums of powers against mpmath's exponentials, and the error they state."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpbayes.laws.series.expansions import expand_weight

CASES = [(0.3, 1e-3, 8.0), (12.0, 1e-2, 20.0), (900.0, 1e-5, 60.0), (4000.0, 1e-4, 400.0)]


@pytest.mark.parametrize(("rate", "nearest", "log_candidates"), CASES)
def test_the_sum_is_the_exponential_to_the_error_it_states(rate, nearest, log_candidates):
    expansion = expand_weight(rate, nearest, log_candidates)
    floor = -log_candidates
    stated, stated_mean = expansion.errors(nearest, floor)
    assert max(stated, stated_mean) < 1e-10
    weights = [mp.mpf(float(w)) for w in expansion.log_weights]
    for c in np.geomspace(nearest, 60.0, 23):
        with mp.workdps(40):
            root = mp.sqrt(-mp.expm1(-mp.mpf(float(c))))
            exact = mp.exp(-rate * root)
            terms = [mp.exp(w - float(t) * mp.mpf(float(c)))
                     for w, t in zip(weights, expansion.exponents, strict=True)]  # fmt: skip
            allowed = 2 * stated * (exact + mp.exp(floor)) + mp.mpf(10) ** -13 * exact
            assert abs(mp.fsum(terms) - exact) <= allowed
            # The slopes turn the sum into the distance times the weight.
            mean = (
                mp.fsum(float(s) * t for s, t in zip(expansion.slopes, terms, strict=True)) / rate
            )
            allowed = 2 * stated_mean * (exact + mp.exp(floor)) + mp.mpf(10) ** -13
            assert abs(mean - root * exact) <= allowed


@pytest.mark.parametrize(("rate", "nearest", "log_candidates"), CASES)
def test_what_the_sum_leaves_over_belongs_to_the_truth(rate, nearest, log_candidates):
    expansion = expand_weight(rate, nearest, log_candidates)
    total = float(np.exp(expansion.log_weights).sum()) + expansion.atom
    assert total == pytest.approx(1.0, abs=1e-11)
    assert np.all(np.diff(expansion.exponents) > 0)


@pytest.mark.parametrize("rate", [1e200, 1e300, 1.7e308])
def test_a_rate_beyond_all_bounds_leaves_the_truth_alone(rate):
    expansion = expand_weight(rate, 1e-6, 30.0)
    assert expansion.exponents.size == 0
    assert expansion.atom == 1.0


def test_leading_terms_are_those_of_the_power_series():
    expansion = expand_weight(2.0, 1e-2, 10.0)
    with mp.workdps(40):
        for t, log_weight in zip(expansion.exponents[:8], expansion.log_weights[:8], strict=True):
            j = int(t)
            assert j == t
            p = mp.sqrt(2 / mp.pi) * mp.mpf(2) ** (j + mp.mpf("0.5")) * mp.besselk(j - 0.5, 2)
            p /= mp.mpf(2) ** j * mp.factorial(j)
            assert float(mp.exp(float(log_weight)) / p) == pytest.approx(1.0, abs=1e-13)


def test_fewer_nodes_state_a_larger_error():
    errors = [expand_weight(30.0, 1e-5, 30.0, size).errors(1e-5, -30.0)[0] for size in (4, 16)]
    assert errors[0] > 100 * errors[1]
