"""Lattice noise from compositions: every bit string, mpmath's sums, chi-square with power."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpbayes.laws.lattice import noise as lattice_noise
from dpbayes.samplers import sum_zero
from tests.samplers.sources import SeededBits, law_of_bits


@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(1), Fraction(31, 10), Fraction(900)])
def test_sums_of_weights_are_enclosed_as_tightly_as_the_precision(k: int, epsilon: Fraction):
    for precision in (128, 256):
        ladder = sum_zero._ladder(k, epsilon, precision)
        with mp.workdps(120):
            q, unit = (
                mp.exp(-mp.mpf(epsilon.numerator) / epsilon.denominator),
                mp.mpf(2) ** precision,
            )
            total, running = mp.hyp2f1(k, k, 1, q), mp.mpf(0)
            assert ladder.low[-1] / unit <= total <= ladder.total / unit
            assert (ladder.total - ladder.low[-1]) / unit < total * mp.mpf(2) ** (20 - precision)
            for m, (low, high) in enumerate(zip(ladder.low, ladder.high, strict=True)):
                running += mp.binomial(m + k - 1, k - 1) ** 2 * q**m
                assert low / unit <= running <= high / unit


@pytest.mark.parametrize(("m", "k"), [(0, 3), (1, 4), (2, 3), (4, 3), (3, 2), (5, 2)])
def test_all_compositions_are_equally_likely(m: int, k: int):
    law, left = law_of_bits(lambda source: tuple(sum_zero._parts(source, m, k)), 12)
    assert left < Fraction(1, 4)
    wanted = {p for p in itertools.product(range(m + 1), repeat=k) if sum(p) == m}
    assert set(law) == wanted
    for mass in law.values():
        assert mass <= Fraction(1, len(wanted)) <= mass + left


@pytest.mark.parametrize(("k", "epsilon"), [(2, Fraction(2)), (3, Fraction(3))])
def test_bit_strings_enclose_the_law(k: int, epsilon: Fraction):
    masses, left = law_of_bits(lambda source: tuple(sum_zero.lattice(source, k, epsilon)), 16)
    assert left < Fraction(1, 4)
    total = lattice_noise.log_normaliser(k, float(epsilon))
    for z, mass in masses.items():
        exact = math.exp(-float(epsilon) * sum(map(abs, z)) / 2 - total)
        assert float(mass) - 1e-15 <= exact <= float(mass + left) + 1e-15


def chi_square(k: int, epsilon: Fraction, claimed: float) -> tuple[float, float]:
    source, draws = SeededBits(7), 12_000
    seen = Counter(tuple(sum_zero.lattice(source, k, epsilon)) for _ in range(draws))
    assert all(sum(z) == 0 for z in seen)
    scale = math.exp(-lattice_noise.log_normaliser(k, claimed))
    cells = [z for z in itertools.product(range(-3, 4), repeat=k) if sum(z) == 0]
    expected = np.array([draws * scale * math.exp(-claimed * sum(map(abs, z)) / 2) for z in cells])
    observed = np.array([seen[z] for z in cells])
    rest = draws - expected.sum()
    value = ((observed - expected) ** 2 / expected).sum()
    value += (draws - observed.sum() - rest) ** 2 / rest
    return value, len(cells) + 6 * math.sqrt(2 * len(cells))


def test_chi_square_accepts_the_truth_and_sees_ten_percent():
    value, limit = chi_square(3, Fraction(1), 1.0)
    assert value <= limit
    value, limit = chi_square(3, Fraction(9, 10), 1.0)
    assert value > limit


def test_a_number_on_a_border_asks_for_more_bits_and_digits():
    k, epsilon = 3, Fraction(1)
    ladder = sum_zero._ladder(k, epsilon, 512)
    border = (ladder.low[0] << 400) // ladder.low[-1]

    class Border:
        """The first 160 bits of the border between m = 0 and m = 1, then all zeros or ones."""

        def __init__(self, then: int) -> None:
            self.then, self.asked = then, 0

        def bits(self, count: int) -> int:
            self.asked += count
            if self.asked <= 160:
                return (border >> (400 - self.asked)) & ((1 << count) - 1)
            return self.then & ((1 << count) - 1)

    low, high = Border(0), Border(-1)
    assert sum_zero._moved(low, k, epsilon) == 0
    assert sum_zero._moved(high, k, epsilon) == 1
    assert low.asked > 160


def test_tiny_and_enormous_epsilon():
    source = SeededBits(3)
    sizes = [abs(sum_zero.lattice(source, 2, Fraction(1, 10**6))[0]) for _ in range(40)]
    assert 10**5 < np.mean(sizes) < 10**7
    assert all(sum_zero.lattice(source, 4, Fraction(10**9)) == [0] * 4 for _ in range(20))
