"""Guarantees: exact numbers, a sentence that never says less, and the type they belong to."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.calibrations import SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism, PermuteAndFlip
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.protocol import (
    Guarantee,
    exact_epsilon,
    given_epsilon,
    guarantee,
    own,
    rounded_up,
    upper_float,
)
from dpbayes.tables.drawn import draw
from tests.samplers.sources import SeededBits


def stated(sentence: str) -> Fraction:
    return Fraction(re.search(r"<= e\^(\S+) P", sentence)[1])


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("epsilon", [1.0000004, 0.1234564999, 0.8, 0.3, "0.1", "1/3", "1.0000004"])
def test_the_sentence_never_states_less_than_the_bound(name, epsilon):
    promised = guarantee(dp.mechanism(name, epsilon), 2)
    if promised.bound is None:
        assert "<=" not in promised.sentence
        return
    assert stated(promised.sentence) >= promised.bound
    assert float(stated(promised.sentence)) == pytest.approx(float(promised.bound), rel=1e-11)
    assert Fraction(promised.epsilon) >= promised.bound


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**30).filter(lambda f: f > 0))
def test_rounding_goes_up_and_not_far(value):
    text = Fraction(Decimal(rounded_up(value)))
    assert value <= text <= value * (1 + Fraction(1, 10**11))


def test_text_fractions_and_decimals_are_exact():
    for value in ("0.1", Fraction(1, 10), Decimal("0.1")):
        mechanism = dp.mechanism("lattice", value)
        assert exact_epsilon(mechanism.epsilon) == Fraction(1, 10)
        assert guarantee(mechanism, 3).bound == Fraction(1, 10)
        assert mechanism.epsilon == 0.1
    third = dp.mechanism("lattice", "1/3")
    assert exact_epsilon(third.epsilon) == Fraction(1, 3)
    assert guarantee(third, 3).epsilon > float(Fraction(1, 3))


@given(st.floats(1e-6, 1e6))
def test_a_float_is_never_taken_for_more_than_either_reading(value):
    exact = exact_epsilon(value)
    assert exact <= Fraction(value)
    assert exact <= Fraction(repr(value))
    assert float(exact) == value


@pytest.mark.parametrize("kind", [TruncatedGeometric, SumZeroLattice, PermuteAndFlip])
def test_a_class_takes_every_kind_of_number_too(kind):
    assert exact_epsilon(kind("0.1").epsilon) == Fraction(1, 10)
    assert guarantee(kind(np.float32(0.5)), 2).bound == Fraction(1, 2)
    assert guarantee(kind(np.int64(2)), 2).bound == 2
    with pytest.raises(TypeError, match="epsilon must be a real number"):
        kind([1.0])


def test_an_exact_epsilon_survives_copies():
    mechanism = dp.mechanism("expMech-smooth", "0.7", gamma=0.5)
    for copy in (pickle.loads(pickle.dumps(mechanism)), replace(mechanism, divisor=4.0)):
        assert exact_epsilon(copy.epsilon) == Fraction(7, 10)


@pytest.mark.parametrize(
    "value",
    ["0", "-1", "nan", "inf", "one", "1/0", "1/2/3", "1e999999999", "0_5", "\uff11", "0,5"],
)
def test_bad_epsilons_in_words(value):
    with pytest.raises(ValueError, match="epsilon must be"):
        given_epsilon(value)
    with pytest.raises(ValueError, match="epsilon must be"):
        dp.mechanism("lattice", value)


def test_a_subclass_has_neither_the_promise_nor_the_sampler():
    @dataclass(frozen=True)
    class Truth(TruncatedGeometric):
        def law(self, counts, prior):
            return TruncatedGeometric(50.0 * self.epsilon).law(counts, prior)

    mechanism = Truth(1.0)
    promised = guarantee(mechanism, 2)
    assert promised.epsilon is None
    assert "Truth states no guarantee of its own" in promised.sentence
    with pytest.raises(ValueError, match="must have a proved guarantee"):
        dp.release(mechanism, [3, 4], [1, 1])
    with pytest.raises(ValueError, match="must have an exact sampler"):
        dp.release(mechanism, [3, 4], [1, 1], without_guarantee=True)


def test_a_calibration_with_another_factor_is_not_promised():
    @dataclass(frozen=True)
    class Cheap(SmoothCalibration):
        factor = 1e-3

    mechanism = ExponentialMechanism(1.0, Cheap())
    assert dp.audit(mechanism, 4, [1, 1]).epsilon > 100
    assert guarantee(mechanism, 2).epsilon is None
    with pytest.raises(ValueError, match="no proof is recorded for the calibration Cheap"):
        dp.release(mechanism, [2, 2], [1, 1])


def test_a_factor_changed_on_the_class_changes_the_promise(monkeypatch):
    monkeypatch.setattr(SmoothCalibration, "factor", 1e-3)
    promised = guarantee(dp.mechanism("expMech-smooth", 1.0), 2)
    assert promised.epsilon == pytest.approx(4000.0, rel=1e-12)


def test_an_object_whose_methods_were_replaced_promises_nothing():
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    assert own(mechanism, "guarantee")
    object.__setattr__(mechanism, "rate", lambda counts, prior: 1e4)
    assert own(mechanism, "guarantee") is None
    assert guarantee(mechanism, 2).bound is None
    with pytest.raises(ValueError, match="must have an exact sampler"):
        draw(mechanism, np.array([2, 2]), np.ones(2), SeededBits(1))


def test_a_failure_probability_is_part_of_the_sentence():
    promised = Guarantee(Fraction(4, 5), "a proof", "thm-x", Fraction(1, 10**8))
    assert "P[M(x) in S] <= e^0.8 P[M(x') in S] + 1e-8; n itself" in promised.sentence
    assert promised.delta == 1e-8


@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_the_optimum_keeps_its_promise_with_room_for_rounding(objective):
    mechanism = dp.mechanism("optimal", "0.7", objective=objective)
    promised = guarantee(mechanism, 2)
    assert promised.bound == Fraction(7, 10)
    assert dp.audit(mechanism, 8, [1, 1]).epsilon < 0.7
    noisy, counts = draw(mechanism, np.array([3, 5]), np.ones(2), SeededBits(3))
    assert noisy.tolist() == counts.tolist()


@pytest.mark.slow
@given(
    st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(10**30)),
    st.integers(min_value=-200, max_value=200),
)
def test_a_printed_number_is_no_smaller_and_the_float_the_smallest_that_is_not(value, power):
    exact = value * Fraction(10) ** power
    nearest = upper_float(exact)
    assert Fraction(np.nextafter(nearest, 0.0)) < exact <= Fraction(nearest)
    assert exact <= Fraction(rounded_up(exact)) <= exact * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("word", ["1e400", "1e-400", "1e-301", "1e300/1e-300"])
def test_an_epsilon_out_of_range_is_told_the_range(word):
    with pytest.raises(ValueError, match="epsilon must be between 1e-300 and 1e300, got"):
        given_epsilon(word)
