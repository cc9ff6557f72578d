"""Exact samplers: laws from all strings of bits, draws with power, no growth with the
noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpbayes.accuracy import laplace_step_probability
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.lattice import log_mass
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.samplers import whole_numbers as samplers
from dpbayes.samplers.bits import SystemBits, below
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.samplers.sources import SeededBits, explored

Q, HALF = math.exp(-1), math.exp(-0.5)


def gaussian(variance):
    total = sum(math.exp(-z * z / (2 * variance)) for z in range(-40, 41))
    return lambda z: math.exp(-z * z / (2 * float(variance))) / total


LAWS = {
    "below 5": (lambda b: below(b, 5), 15, lambda value: 0.2, 1e-2),
    "below 1": (lambda b: below(b, 1), 1, lambda value: 1.0, 1e-9),
    **{
        f"coin {gamma}": (
            lambda b, g=gamma: samplers.bernoulli_exp(b, g),
            14,
            lambda heads, g=gamma: math.exp(-g) if heads else -math.expm1(-g),
            0.05,
        )
        for gamma in (Fraction(0), Fraction(1, 4), Fraction(1), Fraction(3, 2))
    },
    **{
        f"geometric {rate}": (
            lambda b, r=rate: samplers.geometric(b, r),
            15,
            lambda g, r=rate: -math.expm1(-r) * math.exp(-r * g),
            0.25,
        )
        for rate in (Fraction(1), Fraction(2), Fraction(3, 2))
    },
    "two-sided": (
        lambda b: samplers.two_sided_geometric(b, Fraction(1)),
        16,
        lambda z: (1 - Q) / (1 + Q) * Q ** abs(z),
        0.35,
    ),
    "floored": (
        lambda b: samplers.floored_laplace(b, Fraction(1)),
        16,
        lambda t: float(laplace_step_probability(t, 1.0, 1.0)),
        0.35,
    ),
    "rounded": (
        lambda b: samplers.rounded_laplace(b, Fraction(1)),
        16,
        lambda t: (
            1 - HALF if t == 0 else HALF * (1 - HALF**2) * HALF ** (2 * abs(t) - 2) / 2
        ),
        0.5,
    ),
    "lattice": (
        lambda b: samplers.lattice_by_coins(b, 2, Fraction(4))[0],
        14,
        lambda z: math.tanh(2) * math.exp(-4 * abs(z)),
        0.6,
    ),
    **{
        f"Gaussian {v}": (
            lambda b, v=v: samplers.discrete_gaussian(b, v),
            15,
            gaussian(v),
            0.75,
        )
        for v in (Fraction(1, 4), Fraction(5, 2))
    },
}


@pytest.mark.parametrize("name", LAWS)
def test_all_strings_of_bits_enclose_the_law(name):
    # Each value's mass lies between what the strings give and that plus what they leave
    # open.
    sampler, depth, probability, most = LAWS[name]
    masses, left = explored(sampler, depth)
    assert left < most
    for value, mass in masses.items():
        assert float(mass) - 1e-15 <= probability(value) <= float(mass + left) + 1e-15


DRAWN = {
    "geometric": (
        samplers.geometric,
        lambda t, rate: (1 - np.exp(-rate)) * np.exp(-rate * t),
    ),
    "two-sided": (
        samplers.two_sided_geometric,
        lambda t, r: np.tanh(r / 2) * np.exp(-r * np.abs(t)),
    ),
    "floored": (
        samplers.floored_laplace,
        lambda t, rate: laplace_step_probability(t, rate, 1.0),
    ),
    "Gaussian": (
        lambda b, rate: samplers.discrete_gaussian(b, 1 / rate),
        lambda t, rate: (
            np.exp(-0.5 * rate * t.astype(float) ** 2)
            / np.exp(-0.5 * rate * np.arange(-99, 100.0) ** 2).sum()
        ),
    ),
    "lattice": (
        lambda b, rate: samplers.lattice_by_coins(b, 3, rate),
        lambda z, rate: np.exp(log_mass(LatticeNoise(3, rate), z)),
    ),
    "sum-zero Gaussian": (
        lambda b, rate: samplers.sum_zero_gaussian(b, 3, 1 / rate),
        lambda z, rate: np.exp(log_mass(GaussianNoise(3, 1 / rate), z)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_draws_fit_the_law_and_not_one_a_few_percent_away(name):
    sampler, probability = DRAWN[name]
    source = SeededBits(20)
    draws = np.array([sampler(source, Fraction(1, 2)) for _ in range(9000)])
    right, wrong = (misfit(draws, lambda z, r=r: probability(z, r)) for r in (0.5, 0.6))
    assert right < ALPHA_LIMIT < wrong


def test_work_does_not_follow_the_size_of_the_noise():
    # A loop over the steps of the noise would take a thousand times the bits; here the
    # bits grow with the length of the numbers only.
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
    assert {source.bits(3) for _ in range(2000)} == set(range(8))


def test_mironov_attack_separates_floats_but_not_these():
    # Noise near 0 is often no multiple of 2^-53: it betrays that the answer was 0 and
    # not 1, to which it is rounded. Whole numbers have no last bits.
    uniform = np.random.default_rng(0).random(20_000) - 0.5
    noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    betrayed = [np.mean((answer + noise) * 2.0**53 % 1 != 0) for answer in (0.0, 1.0)]
    assert betrayed[0] > 0.1
    assert betrayed[1] == 0.0
    drawn = [samplers.floored_laplace(SeededBits(i), Fraction(1)) for i in range(200)]
    assert {type(one) for one in drawn} == {int}


def test_weighted_choice_has_its_weights_exactly():
    weights = [Fraction(1, 4), Fraction(0), Fraction(5, 8), Fraction(1, 8)]
    law, left = explored(lambda source: samplers.weighted(source, weights), 6)
    assert left == 0
    assert law == {0: Fraction(1, 4), 2: Fraction(5, 8), 3: Fraction(1, 8)}


def test_plain_numbers_are_cut_where_arrays_end():
    assert samplers.plain([-(2**70), -3, 2**70]).tolist() == [-(2**62), -3, 2**62]
