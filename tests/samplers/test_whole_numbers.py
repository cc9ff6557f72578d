"""Exact samplers: laws from all bit streams, chi-square with power, no growth with the noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpbayes.accuracy import laplace_step_probability
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.samplers import whole_numbers as samplers
from dpbayes.samplers.bits import SystemBits, below
from tests.samplers.sources import SeededBits, law_of_bits


def check_law(sampler, depth, probability, largest_left):
    """Each value's mass lies between what the scripts give and that plus what they leave open."""
    masses, left = law_of_bits(sampler, depth)
    assert sum(masses.values()) + left == 1
    assert left < largest_left
    for value, mass in masses.items():
        assert float(mass) - 1e-15 <= probability(value) <= float(mass + left) + 1e-15


def test_uniform_numbers_below_a_bound():
    check_law(lambda source: below(source, 5), 15, lambda value: 0.2, 1e-2)
    check_law(lambda source: below(source, 1), 1, lambda value: 1.0, 1e-9)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 4), Fraction(1), Fraction(3, 2)])
def test_exponential_coin(gamma):
    p = math.exp(-gamma)
    check_law(
        lambda source: samplers.bernoulli_exp(source, gamma),
        14,
        lambda value: p if value else 1 - p,
        0.05,
    )


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2), Fraction(3, 2)])
def test_geometric(rate):
    q = math.exp(-rate)
    check_law(lambda source: samplers.geometric(source, rate), 15, lambda g: (1 - q) * q**g, 0.25)


@pytest.mark.slow
def test_two_sided_geometric():
    q = math.exp(-1)
    check_law(
        lambda source: samplers.two_sided_geometric(source, Fraction(1)),
        16,
        lambda z: (1 - q) / (1 + q) * q ** abs(z),
        0.35,
    )


def test_floored_and_rounded_laplace():
    check_law(
        lambda source: samplers.floored_laplace(source, Fraction(1)),
        16,
        lambda t: float(laplace_step_probability(t, 1.0, 1.0)),
        0.35,
    )
    half = math.exp(-0.5)
    check_law(
        lambda source: samplers.rounded_laplace(source, Fraction(1)),
        16,
        lambda t: 1 - half if t == 0 else half * (1 - half**2) * half ** (2 * abs(t) - 2) / 2,
        0.5,
    )


@pytest.mark.slow
def test_lattice_by_bit_streams():
    # Zero has probability 1/Z; only its order relative to the neighbours is decided this early.
    masses, left = law_of_bits(
        lambda source: tuple(samplers.lattice_by_coins(source, 2, Fraction(4))), 14
    )
    q = math.exp(-4)
    exact = (1 - q) / (1 + q)
    assert float(masses[0, 0]) <= exact <= float(masses[0, 0] + left)
    assert left < 0.6


def statistic(values, probability, cells):
    draws = len(values)
    observed = np.array([np.sum(values == t) for t in cells])
    expected = draws * np.array([probability(t) for t in cells])
    rest = (draws - observed.sum() - (draws - expected.sum())) ** 2 / (draws - expected.sum())
    return ((observed - expected) ** 2 / expected).sum() + rest


CASES = {
    "geometric": (
        samplers.geometric,
        lambda t, rate: (1 - math.exp(-rate)) * math.exp(-rate * t),
        range(12),
    ),
    "two-sided": (
        samplers.two_sided_geometric,
        lambda t, rate: math.tanh(rate / 2) * math.exp(-rate * abs(t)),
        range(-9, 10),
    ),
    "floored": (
        samplers.floored_laplace,
        lambda t, rate: float(laplace_step_probability(t, rate, 1.0)),
        range(-9, 10),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_chi_square_accepts_the_truth_and_sees_ten_percent(name):
    # Mean d and deviation sqrt(2 d) for d cells: six deviations either way.
    sampler, probability, cells = CASES[name]
    source, rate = SeededBits(20), Fraction(1, 2)
    values = np.array([sampler(source, rate) for _ in range(15_000)])
    limit = len(cells) + 6 * math.sqrt(2 * len(cells))
    assert statistic(values, lambda t: probability(t, 0.5), cells) <= limit
    wrong = np.array([sampler(source, rate * Fraction(11, 10)) for _ in range(15_000)])
    assert statistic(wrong, lambda t: probability(t, 0.5), cells) > limit


@pytest.mark.slow
def test_lattice_noise_chi_square():
    source, cells = SeededBits(7), list(itertools.product(range(-3, 4), repeat=2))
    scale = math.exp(-LatticeNoise(3, 1.0).log_normaliser)

    def probability(cell):
        return scale * math.exp(-(abs(cell[0]) + abs(cell[1]) + abs(sum(cell))) / 2)

    def chi_square(epsilon):
        draws = [tuple(samplers.lattice_by_coins(source, 3, epsilon)) for _ in range(6_000)]
        assert all(sum(z) == 0 for z in draws)
        coded = np.array([z[0] * 1000 + z[1] for z in draws])
        codes = [a * 1000 + b for a, b in cells]
        return statistic(coded, lambda code: probability(cells[codes.index(code)]), codes)

    limit = len(cells) + 6 * math.sqrt(2 * len(cells))
    assert chi_square(Fraction(1)) <= limit
    assert chi_square(Fraction(9, 10)) > limit


def test_work_does_not_follow_the_size_of_the_noise():
    # A loop over the steps of the noise would take a thousand times the bits; here the bits grow
    # with the length of the numbers only.
    used = {}
    for scale in (1, 10**3, 10**6):
        source = SeededBits(3)
        for _ in range(300):
            samplers.two_sided_geometric(source, Fraction(1, scale))
        used[scale] = source.used / (scale.bit_length() + 2)
    assert max(used.values()) < 6 * min(used.values())


def test_system_bits_are_in_range_and_differ():
    source = SystemBits()
    drawn = [source.bits(64) for _ in range(8)]
    assert all(0 <= value < 2**64 for value in drawn)
    assert len(set(drawn)) == 8


@pytest.mark.slow
def test_mironov_attack_separates_floats_but_not_these():
    # A float draw x + scale * Laplace() is rounded to a multiple of the spacing around it; the
    # event "not a multiple of 2^-53" betrays that the answer was 0 and not 1.
    rng = np.random.default_rng(0)

    def naive(answer):
        uniform = rng.random(20_000) - 0.5
        noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        return np.mean((answer + noise) * 2.0**53 % 1 != 0)

    assert naive(0.0) > 0.1
    assert naive(1.0) == 0.0
    source = SeededBits(1)
    for answer in (0, 1):
        outputs = [answer + samplers.floored_laplace(source, Fraction(1)) for _ in range(2000)]
        assert all(isinstance(value, int) for value in outputs)
        assert {-1, 0, 1, 2} <= set(outputs)


def test_weighted_choice_has_its_weights_exactly():
    weights = [Fraction(1, 4), Fraction(0), Fraction(5, 8), Fraction(1, 8)]
    law, left = law_of_bits(lambda source: samplers.weighted(source, weights), 6)
    assert left == 0
    assert law == {0: Fraction(1, 4), 2: Fraction(5, 8), 3: Fraction(1, 8)}


def test_plain_numbers_are_cut_where_arrays_end():
    assert samplers.plain([-(2**70), -3, 2**70]).tolist() == [-(2**62), -3, 2**62]
