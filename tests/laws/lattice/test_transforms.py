"""Sums over zero-sum vectors by transforms, against adding them up one by one."""

from __future__ import annotations

import itertools
from math import comb, log

import numpy as np
import pytest
from scipy.special import logsumexp

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice.noise import log_normaliser
from dpbayes.laws.lattice.transforms import zero_sum_means


def test_transforms_agree_with_adding_up():
    steps, rng = np.arange(-3, 4), np.random.default_rng(2)
    weights = -np.abs(steps) * 0.7
    columns = [np.where(steps >= -2, -rng.random(7), -np.inf) for _ in range(3)]
    powers = np.array([0.0, 0.5, 1.0, 40.0])
    ours = zero_sum_means(columns, steps, weights, powers)
    for power, mean in zip(powers, ours, strict=True):
        total = 0.0
        for z in itertools.product(range(7), repeat=3):
            if steps[list(z)].sum() == 0:
                logs = [weights[i] + (power * c[i] if power else np.where(c[i] < -9, -np.inf, 0))
                        for c, i in zip(columns, z, strict=True)]  # fmt: skip
                total += np.exp(np.sum(logs))
        assert np.isclose(mean, total, rtol=1e-13, atol=1e-16)


def test_equal_columns_count_as_often_as_they_stand_there():
    steps, rng = np.arange(-2, 3), np.random.default_rng(5)
    one, other = -rng.random(5), -rng.random(5)
    ours = zero_sum_means([one, other, one.copy(), one], steps, np.zeros(5), np.array([1.5]))
    total = sum(
        np.exp(1.5 * (one[a] + other[b] + one[c] + one[d]))
        for a, b, c, d in itertools.product(range(5), repeat=4)
        if a + b + c + d == 8
    )
    assert np.isclose(ours[0], total, rtol=1e-13)


def test_many_powers_are_taken_in_blocks():
    steps = np.arange(-2, 3)
    powers = np.linspace(0, 3, 70)
    columns = [-0.1 * np.abs(steps)] * 2
    together = zero_sum_means(columns, steps, np.zeros(5), powers)
    alone = [zero_sum_means(columns, steps, np.zeros(5), np.array([p]))[0] for p in powers]
    np.testing.assert_allclose(together, alone, rtol=1e-14)
    np.testing.assert_allclose(together, [np.exp(-0.2 * p * np.abs(steps)).sum() for p in powers])


def test_a_thousand_columns_stay_in_range():
    k, steps = 1000, np.arange(-300, 301)
    vectors = sum(comb(k, j) * comb(k - j, j) for j in range(k // 2 + 1))
    weights, scale = np.where(np.abs(steps) <= 1, 3.0, -800.0), -log(vectors) - 3.0 * k
    ours = zero_sum_means([np.zeros(601)] * k, steps, weights, np.array([0.0, 2.0]), scale)
    np.testing.assert_allclose(ours, 1.0, rtol=1e-11)


@pytest.mark.parametrize("k", [200, 700])
def test_sums_of_many_columns_do_not_wrap_around(k):
    steps = np.arange(-60, 61)
    weights = -(steps**2) / 72.0
    shares = np.exp(weights - logsumexp(weights))
    wide = np.zeros(1 << 16)
    wide[steps] = shares
    exact = np.fft.irfft(np.fft.rfft(wide) ** k)[0]
    ours = zero_sum_means([np.zeros(121)] * k, steps, weights, np.zeros(1), -k * logsumexp(weights))
    assert ours[0] == pytest.approx(exact, rel=1e-11)


def test_impossible_steps_take_any_power():
    steps = np.arange(-2, 3)
    columns = [np.where(steps >= -1, -1e-13 * np.abs(steps), -np.inf)] * 2
    with np.errstate(all="raise", under="ignore"):
        ours = zero_sum_means(columns, steps, np.zeros(5), np.array([1e12]))
    np.testing.assert_allclose(ours, 1.0 + 2.0 * np.exp(-0.2), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_blocks_of_powers_against_long_transforms_of_all_steps(epsilon):
    """Each block has its own steps and length: nothing that counts is cut off or wraps around."""
    counts = np.array([50_000, 20_000, 9_000, 4_000, 2_000, 900, 900, 40])
    reach = int(80 / epsilon)
    steps = np.arange(-reach, reach + 1)
    columns = []
    for count in counts.tolist():
        allowed = steps >= -count
        column = np.full(steps.size, -np.inf)
        column[allowed] = affinity_of_counts(1.0, count, count + steps[allowed])
        columns.append(column)
    weights = -0.5 * epsilon * np.abs(steps)
    scale = -log_normaliser(counts.size, epsilon)
    powers = np.concatenate(([0.0], np.geomspace(0.1, 1e7, 90)))
    ours = zero_sum_means(columns, steps, weights, powers, scale)
    length = 1 << int(counts.size * steps.size).bit_length()
    for power, mean in zip(powers[::6].tolist(), ours[::6].tolist(), strict=True):
        product, logs = 1.0, scale
        for column in columns:
            finite = np.isfinite(column)
            masses = np.zeros(length)
            masses[steps[finite]] = np.exp(weights[finite] + power * column[finite])
            logs += np.log(masses.sum())
            product = product * np.fft.rfft(masses / masses.sum())
        known = np.fft.irfft(product)[0] * np.exp(logs)
        assert mean == pytest.approx(known, abs=1e-14)
