"""Discrete Gaussian noise from fair bits: every string of bits, and draws against the list."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dpbayes.samplers.gaussian import discrete_gaussian, sum_zero_gaussian
from tests.laws.sum_zero_draws import deviation
from tests.samplers.sources import SeededBits, law_of_bits


@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(5, 2)])
def test_all_strings_of_bits_enclose_one_entry(variance: Fraction) -> None:
    law, left = law_of_bits(lambda source: discrete_gaussian(source, variance), 15)
    assert sum(law.values()) + left == 1
    assert left < Fraction(3, 4)
    total = sum(exp(-z * z / (2 * float(variance))) for z in range(-40, 41))
    for z, mass in law.items():
        assert float(mass) <= exp(-z * z / (2 * float(variance))) / total <= float(mass + left)
        assert mass == law[-z]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "variance"), [(2, 3.0), (3, 0.7)])
def test_draws_have_the_law_and_another_width_is_seen(k: int, variance: float) -> None:
    bits = SeededBits(11)
    drawn = np.array([sum_zero_gaussian(bits, k, Fraction(variance)) for _ in range(6000)])
    assert deviation(drawn, k, variance) < 6
    assert deviation(drawn, k, 1.5 * variance) > 6


@pytest.mark.slow
def test_one_entry_has_the_discrete_gaussian_law() -> None:
    bits, variance = SeededBits(3), Fraction(2.5)
    drawn = np.array([discrete_gaussian(bits, variance) for _ in range(8000)])
    z = np.arange(-30, 31)
    mass = np.exp(-(z**2) / 5.0)
    mass /= mass.sum()
    found = np.bincount(drawn + 30, minlength=61)
    common = mass * 8000 > 20
    error = np.sqrt(8000 * mass * (1 - mass))
    assert np.all(np.abs(found - 8000 * mass)[common] < 6 * error[common])
