"""Balls against mpmath and floats: laws, and sensitivities over all histograms."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.calibrations import GlobalCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.samplers import balls
from tests.mechanisms.cabinet import changed
from tests.reference.laws import Reference, histograms

flint = pytest.importorskip("flint")
SCORED = ("expMech", "expMech-local", "expMech-smooth", "expMech-smooth, l1")


def cases(number: int = 40):
    rng = np.random.default_rng(5)
    for _ in range(number):
        k = int(rng.integers(2, 5))
        x = rng.multinomial(int(rng.integers(1, 8)), np.full(k, 1 / k))
        prior = 10.0 ** rng.uniform(-300, 18, k)
        yield tuple(int(c) for c in x), tuple(prior.tolist())


def inside(value: mp.mpf, enclosed: balls.Enclosed) -> bool:
    low, high = (
        mp.mpf(f.numerator) / f.denominator for f in (enclosed.low, enclosed.high)
    )
    return bool(
        low * (1 - mp.mpf(10) ** -60) <= value <= high * (1 + mp.mpf(10) ** -60)
    )


@pytest.mark.slow
def test_the_bounds_hold_the_largest_value_over_all_histograms() -> None:
    with mp.workdps(90):
        for x, prior in cases():
            exact = Reference(prior, sum(x))
            everywhere = histograms(sum(x), len(x))
            assert inside(exact.local(x), balls.local(x, prior))
            top = max(exact.local(other) for other in everywhere)
            assert inside(top, balls.largest(sum(x), prior))
            for form, rate, unit in (("reciprocal", 0.3, 1), ("exponential", 0.05, 2)):
                gamma = mp.mpf(rate) * unit
                forms = {
                    "reciprocal": lambda s, d, g=gamma: 1 / (1 / s + g * d),
                    "exponential": lambda s, d, g=gamma: s * mp.exp(-g * d),
                }
                distance = "l1" if unit == 2 else "hamming"
                enclosed = balls.smooth(x, prior, rate, form, distance)
                assert inside(exact.largest(x, forms[form]), enclosed)
                assert enclosed.relative_error <= Fraction(1, 2**100)


@pytest.mark.slow
def test_floats_agree_to_fifteen_digits() -> None:
    for x, prior in cases():
        for enclosed, rounded in (
            (balls.local(x, prior), dp.local_sensitivity(x, prior)),
            (balls.largest(sum(x), prior), dp.global_sensitivity(sum(x), prior)),
            (balls.smooth(x, prior, 1.0), dp.smooth_sensitivity(x, prior)),
        ):
            assert rounded.value == pytest.approx(
                float(enclosed.middle), rel=2e-15, abs=0
            )


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-repaired"])
def test_the_rate_of_a_release_never_exceeds_what_the_proof_allows(name: str) -> None:
    mechanism = dp.mechanism(name, 1.0)
    assert isinstance(mechanism, ExponentialMechanism)
    x, prior = np.array([3, 4]), np.array([1e-12, 1.0])
    rate = mechanism.exact_rate(x, prior)
    enclosed = mechanism._enclosed(x, prior)
    allowed = Fraction(1) / (Fraction(mechanism.factor) * enclosed.low)
    assert rate < allowed
    assert rate > allowed * (1 - Fraction(1, 2**80))


def test_a_calibration_without_an_enclosure_is_not_released() -> None:
    mechanism = ExponentialMechanism(1.0, changed(GlobalCalibration))
    with pytest.raises(TypeError, match="calibration must enclose its sensitivity"):
        mechanism.exact_rate(np.array([3, 4]), np.array([1.0, 1.0]))
