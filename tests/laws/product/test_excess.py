"""Outputs whose counts sum to more than n, against a list of all steps and mpmath."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from mpmath import mp

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.product.convolution import Factor
from dpbayes.laws.product.excess import excess_moments

POWERS = np.array([0.0, 0.5, 1.0, 7.0, 60.0])
CASES = [
    ([3, 1, 0], [1.0, 0.5, 2.0], 0.6, 6),
    ([5, 2, 2], [0.3, 1.0, 1.0], 1.3, 9),
    ([0, 0, 1, 3], [1.0, 4.0, 0.2, 1.0], 1.0, 4),
]


def factors_of(counts, prior, rate, reach):
    """One factor a free category: steps from its count down to 0 and up to `reach`."""
    found = []
    for x, alpha in zip(counts[:-1], prior[:-1], strict=True):
        steps = np.arange(-x, reach + 1)
        weights = np.exp(-rate * np.abs(steps))
        found.append(
            Factor(-x, np.log(weights / weights.sum()), affinity_of_counts(alpha, x, x + steps))
        )
    return found


def log_beta(alpha):
    return mp.fsum(mp.loggamma(a) for a in alpha) - mp.loggamma(mp.fsum(alpha))


def enumerated(factors, counts, prior):
    """E[BC^j; released total above n] by listing every combination of steps, in 30 digits."""
    truth = [mp.mpf(a) + x for a, x in zip(prior, counts, strict=True)]
    totals = [mp.mpf(0)] * POWERS.size
    for rows in product(*(zip(f.steps, f.probabilities, strict=True) for f in factors)):
        steps = [int(step) for step, _ in rows]
        if sum(steps) <= counts[-1]:
            continue
        released = [x + step for x, step in zip(counts, steps, strict=False)] + [0]
        out = [mp.mpf(a) + r for a, r in zip(prior, released, strict=True)]
        middle = [(a + b) / 2 for a, b in zip(truth, out, strict=True)]
        affinity = mp.exp(log_beta(middle) - (log_beta(truth) + log_beta(out)) / 2)
        mass = mp.fprod(mp.mpf(float(p)) for _, p in rows)
        totals = [t + mass * affinity ** mp.mpf(s) for t, s in zip(totals, POWERS, strict=True)]
    return [float(total) for total in totals]


@pytest.mark.parametrize(("counts", "prior", "rate", "reach"), CASES)
def test_every_moment_lies_within_its_stated_error_of_the_list(counts, prior, rate, reach):
    factors = factors_of(counts, prior, rate, reach)
    with mp.workdps(30):
        expected = enumerated(factors, counts, prior)
    found, errors = excess_moments(factors, np.array(prior), np.array(counts), POWERS)
    assert np.all(errors < 1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=float(errors.max()) + 1e-15)
    assert np.all(np.diff(found) < 0.0)  # BC < 1: higher powers weigh less


def test_equal_categories_may_be_one_factor_with_copies():
    counts, prior = [2, 2, 2, 1], [0.7, 0.7, 0.7, 1.0]
    apart = factors_of(counts, prior, 0.9, 5)
    together = [apart[0].again().again()]
    one, _ = excess_moments(apart, np.array(prior), np.array(counts), POWERS)
    other, _ = excess_moments(together, np.array(prior), np.array(counts), POWERS)
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_nothing_is_in_excess_where_the_last_count_is_out_of_reach():
    counts, prior = [1, 2, 40], [1.0, 1.0, 1.0]
    found, errors = excess_moments(
        factors_of(counts, prior, 1.0, 5), np.array(prior), np.array(counts), POWERS
    )
    assert not found.any()
    assert not errors.any()


def test_small_moments_keep_their_digits():
    # A step above 14 at rate 2 weighs about e^-30; a plain transform leaves 1e-16 of noise.
    counts, prior = [0, 14], [1.0, 1.0]
    factors = factors_of(counts, prior, 2.0, 40)
    with mp.workdps(30):
        expected = enumerated(factors, counts, prior)
    found, errors = excess_moments(factors, np.array(prior), np.array(counts), POWERS)
    assert expected[1] < 1e-14
    np.testing.assert_allclose(found[:4], expected[:4], rtol=1e-6)
    assert abs(found[4] - expected[4]) <= errors[4] < 1e-40


@pytest.mark.parametrize(("last", "rate"), [(14, 2.0), (27, 2.0), (30, 1.8)])
def test_moments_below_what_is_looked_at_stay_within_their_error(last, rate):
    # Beyond a step of about 23 at rate 2 less than e^-46 is left, and it is not summed.
    counts, prior = [0, last], [1.0, 1.0]
    factors = factors_of(counts, prior, rate, 60)
    with mp.workdps(30):
        expected = np.array(enumerated(factors, counts, prior))
    found, errors = excess_moments(factors, np.array(prior), np.array(counts), POWERS)
    assert np.all(np.abs(found - expected) <= errors)
    assert errors[0] < 1e-19
    assert expected[0] > 0.0
