"""Sums of powers against the functions they stand for, with the errors they state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from dpbayes.laws.powers import distance, root_powers, weight_powers

GAPS = st.floats(-9, -0.5).map(lambda power: 10.0**power)


@given(GAPS, st.sampled_from([1.0, 0.4, 0.07]))
@settings(max_examples=8, deadline=None)
def test_the_square_root_is_its_powers(gap, exponent):
    found = root_powers(gap, exponent)
    assert found.errors[0] < 1e-10
    assert (found.weights >= 0).all()
    for c in np.geomspace(gap, 500.0, 97).tolist():
        with mp.workdps(40):
            root = mp.sqrt(-mp.expm1(-mp.mpf(exponent) * c))
            value = mp.fsum(
                w * (1 if np.isinf(s) else -mp.expm1(-mp.mpf(s) * c))
                for w, s in zip(found.weights[0].tolist(), found.powers.tolist(), strict=True)
            )
            assert abs(value / root - 1) <= found.errors[0] + 1e-12


@given(
    st.floats(-3, 4).map(lambda power: 10.0**power), GAPS, st.floats(1.0, 600.0),
    st.sampled_from([1.0, 0.1, 9.0]),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_the_weight_is_its_powers_down_to_what_all_candidates_hide(rate, gap, entropy, ratio):
    found = weight_powers(rate, gap, entropy, ratio)
    assert found.errors.max() < 2e-5
    c = np.geomspace(gap, 60.0, 997)
    root = distance(c)
    seen = rate * root <= entropy + 40.0  # what lies beyond is e^-40 of the truth altogether
    c, root = c[seen], root[seen]
    terms = np.exp(rate * root[:, None] - np.outer(c, found.powers))
    targets = np.ones(c.size), 1.0 - distance(c, ratio), np.exp(-ratio * c)
    for weights, error, target in zip(found.weights, found.errors, targets, strict=True):
        missed = np.abs(terms @ weights - target) / root
        assert missed.max(initial=0.0) <= 2.0 * error + 1e-9


def test_powers_beyond_the_last_octave_are_missed():
    found = root_powers(1e-4)
    short = found.weights[0] @ np.where(
        np.isinf(found.powers), 1.0, -np.expm1(-found.powers * 1e-7)
    )
    assert short < 0.5 * float(distance(np.array([1e-7]))[0])  # closer than the gap nothing holds


def test_sums_can_not_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        root_powers(1e-3).weights[0, 0] = 1.0
