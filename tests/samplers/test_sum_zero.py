"""Lattice noise from compositions: strings of bits, mpmath's sums, draws with power."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpbayes.laws.lattice import log_mass
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.samplers import sum_zero
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.samplers.sources import SeededBits, explored


@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 7), Fraction(1), Fraction(31, 10), Fraction(900)]
)
def test_sums_of_weights_are_enclosed_as_tightly_as_the_precision(
    k: int, epsilon: Fraction
) -> None:
    for precision in (128, 256):
        ladder = sum_zero.Ladder.of(k, epsilon, precision)
        with mp.workdps(120):
            q = mp.exp(-mp.mpf(epsilon.numerator) / epsilon.denominator)
            unit, running = mp.mpf(2) ** precision, mp.mpf(0)
            total = mp.hyp2f1(k, k, 1, q)
            assert ladder.low[-1] / unit <= total <= ladder.total / unit
            gap = (ladder.total - ladder.low[-1]) / unit
            assert gap < total * mp.mpf(2) ** (20 - precision)
            for m, (low, high) in enumerate(zip(ladder.low, ladder.high, strict=True)):
                running += mp.binomial(m + k - 1, k - 1) ** 2 * q**m
                assert low / unit <= running <= high / unit


@pytest.mark.parametrize(("m", "k"), [(0, 3), (1, 4), (2, 3), (4, 3), (3, 2), (5, 2)])
def test_all_compositions_are_equally_likely(m: int, k: int) -> None:
    law, left = explored(lambda source: tuple(sum_zero.composition(source, m, k)), 12)
    assert left < Fraction(1, 4)
    wanted = {p for p in itertools.product(range(m + 1), repeat=k) if sum(p) == m}
    assert set(law) == wanted
    for mass in law.values():
        assert mass <= Fraction(1, len(wanted)) <= mass + left


@pytest.mark.parametrize(("k", "epsilon"), [(2, Fraction(2)), (3, Fraction(3))])
def test_all_strings_of_bits_enclose_the_law(k: int, epsilon: Fraction) -> None:
    law, left = explored(lambda source: tuple(sum_zero.lattice(source, k, epsilon)), 16)
    assert left < Fraction(1, 4)
    noise = LatticeNoise(k, float(epsilon))
    for z, mass in law.items():
        exact = math.exp(float(log_mass(noise, np.array([z]))[0]))
        assert float(mass) - 1e-15 <= exact <= float(mass + left) + 1e-15


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("sampler", [sum_zero.lattice, sum_zero.lattice_by_coins])
def test_draws_fit_the_law_and_not_one_a_quarter_wider_or_narrower(
    sampler: Callable[..., list[int]], k: int
) -> None:
    source = SeededBits(20)
    draws = np.array([sampler(source, k, Fraction(1)) for _ in range(3000)])
    assert not draws.sum(axis=1).any()
    right, *wrong = (
        misfit(draws, lambda z, e=e: np.exp(log_mass(LatticeNoise(k, e), z)))
        for e in (1.0, 0.8, 1.25)
    )
    assert right < ALPHA_LIMIT < min(wrong)


@pytest.mark.parametrize("k", [20, 50, 100])
def test_many_categories_have_the_sizes_of_the_law(k: int) -> None:
    # |z|_1 / 2 has a known law, and its mean over many draws is that of the law.
    source, noise = SeededBits(4), LatticeNoise(k, 1.0)
    draws = np.array([sum_zero.lattice(source, k, Fraction(1)) for _ in range(400)])
    tails = np.array([noise.outside(m) for m in range(12 * k)])
    mean = float(tails.sum())
    spread = math.sqrt(2.0 * float(np.arange(12 * k) @ tails) + mean - mean**2)
    sizes = np.abs(draws).sum(axis=1) / 2
    assert abs(sizes.mean() - mean) < 5.0 * spread / math.sqrt(400)
    assert spread < 0.3 * mean


def test_a_number_on_a_border_asks_for_more_bits_and_digits() -> None:
    k, epsilon = 3, Fraction(1)
    ladder = sum_zero.Ladder.of(k, epsilon, 512)
    border = (ladder.low[0] << 400) // ladder.low[-1]

    class Border:
        """The first 160 bits of the border between m = 0 and 1, then zeros or ones."""

        def __init__(self, then: int) -> None:
            self.then, self.asked = then, 0

        def bits(self, count: int) -> int:
            self.asked += count
            if self.asked <= 160:
                return (border >> (400 - self.asked)) & ((1 << count) - 1)
            return self.then & ((1 << count) - 1)

    low, high = Border(0), Border(-1)
    assert sum_zero.half_size(low, k, epsilon) == 0
    assert sum_zero.half_size(high, k, epsilon) == 1
    assert low.asked > 160


def test_the_work_is_linear_in_the_number_of_categories() -> None:
    used = {}
    for k in (20, 200):
        source = SeededBits(1)
        for _ in range(50):
            sum_zero.lattice(source, k, Fraction(1))
        used[k] = source.used
    assert 5.0 < used[200] / used[20] < 25.0


def test_tiny_and_enormous_epsilon() -> None:
    source = SeededBits(3)
    tiny = [sum_zero.lattice(source, 2, Fraction(1, 10**6)) for _ in range(40)]
    assert 10**5 < np.mean(np.abs(tiny)) < 10**7
    for _ in range(20):
        assert sum_zero.lattice(source, 4, Fraction(10**9)) == [0] * 4
