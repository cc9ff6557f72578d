"""Calibrations: which keep the promise, which do not, and at what rate they smooth."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.calibrations import (
    DeltaCalibration,
    GlobalCalibration,
    LocalCalibration,
    SmoothCalibration,
)
from tests.reference.laws import DIGITS, Reference, histograms


@pytest.mark.parametrize("gamma", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("distance", ["hamming", "l1"])
def test_smooth_mechanism_keeps_its_promise_for_any_gamma(gamma, distance):
    mechanism = dp.mechanism("expMech-smooth", epsilon=2.0, gamma=gamma, distance=distance)
    for prior in ([1, 1], [0.05, 0.05]):
        assert dp.audit(mechanism, 9, prior).epsilon <= 2.0 + 1e-12


def test_half_the_sensitivity_breaks_the_promise():
    assert dp.audit(dp.mechanism("ilapMech", epsilon=1.0, sensitivity=0.5), 8, [1, 1]).epsilon > 1.5


@pytest.mark.slow
def test_local_sensitivity_breaks_the_promise_for_small_priors():
    mechanism = dp.mechanism("expMech-local", epsilon=1.0)
    assert dp.audit(mechanism, 80, [1, 1]).epsilon < 1.0
    assert dp.audit(mechanism, 80, [0.001, 0.001]).epsilon > 1.02


def test_delta_mechanism_smooths_at_the_rate_of_the_theorem():
    calibration = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4).calibration
    assert calibration.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 32))))
    other = dp.mechanism("expMech-delta", epsilon=0.8, delta=5e-4, failure_term="2n").calibration
    assert other.gamma(15, 0.8) == pytest.approx(np.log(1 - 0.8 / (2 * np.log(5e-4 / 30))))


EPSILON = 0.8
CALIBRATIONS = (
    GlobalCalibration(), LocalCalibration(), SmoothCalibration(), SmoothCalibration(0.3, "l1"),
    DeltaCalibration(), DeltaCalibration(1e-3, "l1", "2n"),
)  # fmt: skip


def by_enumeration(calibration, x, exact):
    """S by its definition: over all histograms, with distances counted one by one."""
    if isinstance(calibration, GlobalCalibration):
        return exact.largest(x, lambda local, d: local)
    if isinstance(calibration, LocalCalibration):
        return exact.local(x)
    unit = 2 if calibration.distance == "l1" else 1
    if isinstance(calibration, SmoothCalibration):
        step = mp.mpf(calibration.gamma) * unit
        return exact.largest(x, lambda local, d: 1 / (1 / local + step * d))
    n = sum(x)
    failures = 2 * n if calibration.failure_term == "2n" else 2 * (n + 1)
    rate = mp.log(1 - mp.mpf(EPSILON) / (2 * mp.log(mp.mpf(calibration.delta) / failures)))
    return exact.largest(x, lambda local, d: local * mp.exp(-rate * unit * d))


@pytest.mark.parametrize("calibration", CALIBRATIONS, ids=str)
@pytest.mark.parametrize(("n", "prior"), [(6, (0.2, 3.0)), (4, (1.0, 0.01, 2.0))])
def test_each_sensitivity_is_its_definition_over_all_histograms(calibration, n, prior):
    with mp.workdps(DIGITS):
        exact = Reference(prior, n)
        for x in histograms(n, len(prior)):
            expected = by_enumeration(calibration, x, exact)
            found = calibration.sensitivity(x, prior, EPSILON, "hellinger")
            assert found.value == pytest.approx(float(expected), rel=1e-14)
            enclosed = calibration.rule(n, EPSILON, len(prior)).enclosed(
                np.array(x), np.array(prior)
            )
            middle = mp.mpf(enclosed.middle.numerator) / enclosed.middle.denominator
            assert abs(middle / expected - 1) < 1e-15


@pytest.mark.parametrize("calibration", CALIBRATIONS, ids=str)
@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_the_profile_holds_every_data_set_of_two_categories(calibration, metric):
    n, prior = 9, np.array([0.4, 2.0])
    each = [calibration.sensitivity([x, n - x], prior, EPSILON, metric).value for x in range(n + 1)]
    found = calibration.rule(n, EPSILON, 2).profile(n, prior, metric)
    assert found == pytest.approx(each, rel=1e-12)


def test_the_factor_grows_with_the_rate_and_with_a_distance_counted_twice():
    assert SmoothCalibration().factor == 4.0
    assert SmoothCalibration(0.3).factor == pytest.approx(2.6, rel=1e-15)
    assert SmoothCalibration(0.3, "l1").factor == pytest.approx(3.2, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "proved"), [("expMech", Fraction(2)), ("expMech-smooth", Fraction(4))]
)
def test_another_divisor_promises_in_proportion_and_keeps_it(name, proved):
    for divisor in (1, 3, 10):
        mechanism = dp.mechanism(name, 1.0, divisor=float(divisor))
        assert mechanism.guarantee(2).bound == proved / divisor
        assert dp.audit(mechanism, 7, [0.3, 1]).epsilon <= float(proved / divisor) + 1e-12
    assert dp.mechanism(name, "0.1").guarantee(2).bound == Fraction(1, 10)


@pytest.mark.parametrize("gamma", [0.001, 0.2, 0.3, 1.0 / 3.0, 1e-9, 7.7])
@pytest.mark.parametrize("distance", ["hamming", "l1"])
def test_the_factor_is_no_less_than_the_proof_asks_for(gamma, distance):
    # The rate of a release is epsilon / (factor S): a factor rounded down would spend more.
    mechanism = dp.mechanism("expMech-smooth", "1", gamma=gamma, distance=distance)
    proved = 2 * (1 + Fraction(gamma) * (2 if distance == "l1" else 1))
    assert proved <= Fraction(mechanism.factor) <= proved * (1 + Fraction(1, 2**51))
    assert mechanism.guarantee(2).bound == 1


@pytest.mark.parametrize("share", [0.2, 0.1, 0.3, 1e-3, 0.7, 0.9999])
def test_the_repaired_factor_is_no_less_than_the_proof_asks_for(share):
    factor = Fraction(dp.mechanism("expMech-repaired", 1.0, share=share).factor)
    proved = 2 / (1 - Fraction(share))
    assert proved <= factor <= proved * (1 + Fraction(1, 2**51))


def test_a_divisor_a_hair_below_the_factor_promises_a_hair_more():
    below = np.nextafter(4.0, 0.0)
    mechanism = dp.mechanism("expMech-smooth", "1", divisor=below)
    assert mechanism.guarantee(2).bound == Fraction(4) / Fraction(below) > 1


@pytest.mark.parametrize("name", ["expMech-local", "expMech-delta"])
def test_nothing_is_promised_where_nothing_is_proved(name):
    stated = dp.mechanism(name, 1.0).guarantee(3)
    assert stated.bound is None
    assert stated.sentence.startswith("No guarantee: ")


@pytest.mark.parametrize("n", [1, 2])
def test_the_rate_of_few_records_is_that_of_the_theorem(n):
    calibration = DeltaCalibration()
    rate = np.log1p(-EPSILON / (2 * np.log(1e-8 / (2 * (n + 1)))))
    assert calibration.gamma(n, EPSILON) == pytest.approx(rate, rel=1e-14)
    found = calibration.sensitivity([n, 0], [0.5, 2.0], EPSILON, "hellinger").value
    smooth = dp.smooth_sensitivity([n, 0], [0.5, 2.0], rate, "exponential").value
    assert found == pytest.approx(smooth, rel=1e-13)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got 0"):
        calibration.gamma(0, EPSILON)
