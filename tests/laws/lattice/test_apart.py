"""Counts far apart beside empty ones: all levels at once, against lists and level by level."""

from itertools import product
from math import comb

import numpy as np
import pytest

from dpbayes.laws.affinities import log_affinity_of_outputs
from dpbayes.laws.lattice import apart as apart_module
from dpbayes.laws.lattice import noise, sizes
from dpbayes.laws.lattice.apart import order_in_doubt
from dpbayes.laws.lattice.below_level import Lower
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.listed import listed_law
from dpbayes.laws.lattice.survivors import sums_over_heights
from dpbayes.laws.lattice.wide import WideNoise


def noise_at(counts, epsilon, prior=None):
    x = np.array(counts)
    alpha = np.ones(x.size) if prior is None else np.array(prior)
    return ClampedPart(alpha, x, epsilon).wide


@pytest.mark.parametrize(
    ("counts", "epsilon", "prior"),
    [
        ([100, 50, 0], 3.0, [1.0, 1.0, 1.0]),
        ([0, 50, 100], 3.0, [1.0, 0.3, 7.0]),
        ([0, 62, 0], 2.0, [0.01, 5.0, 0.01]),
        ([100, 0, 0, 0], 1.5, [1.0, 1.0, 1.0, 1.0]),
        ([0, 21, 0, 43], 8.0, [30.0, 1.0, 30.0, 2.0]),
        ([14, 60, 30, 0], 12.0, [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_moments_against_the_list(counts, epsilon, prior):
    x, alpha = np.array(counts), np.array(prior)
    listed = listed_law(alpha, x, epsilon, "l2")
    direct = -0.5 * epsilon * np.abs(listed.outputs - x).sum(axis=1)
    clamped = listed.probabilities - np.exp(direct - noise.log_normaliser(x.size, epsilon))
    logs, found_by = (
        log_affinity_of_outputs(alpha, x, listed.outputs),
        noise_at(counts, epsilon, prior),
    )
    assert found_by.quick
    for power in (0.5, 1.0, 3.0, 20.0, 2000.0):
        found, error = found_by.moment(power)
        expected = float((clamped * np.exp(power * logs)).sum())
        assert error < 3e-10
        assert abs(found - expected) <= error + listed.mass_outside


@pytest.mark.parametrize(
    ("counts", "epsilon", "powers"),
    [
        ([0, 1000, 0, 0, 400, 0], 0.5, [1.0, 2.0, 30.0]),
        ([20_000, 9000, 0, 0, 0], 0.03, [1.0, 7.0, 5000.0]),
        ([10**9, 3 * 10**8, 10**8, 10**7] + [0] * 9, 0.05, [1.0, 900.0]),
        ([10**6] + [0] * 30, 0.2, [1.0, 4.0]),
    ],
)
def test_moments_against_level_by_level(monkeypatch, counts, epsilon, powers):
    found = [noise_at(counts, epsilon).moment(power) for power in powers]
    monkeypatch.setattr(WideNoise, "quick", False)
    for power, (value, error) in zip(powers, found, strict=True):
        expected, doubt = noise_at(counts, epsilon).moment(power)
        assert error < 4e-10
        assert abs(value - expected) <= error + doubt


def test_too_many_nodes_left_out_are_noticed(monkeypatch):
    counts, epsilon = [20_000, 9000, 0, 0, 0], 0.03
    expected, doubt = noise_at(counts, epsilon).moment(2.0)
    monkeypatch.setattr(apart_module, "doublings", lambda whole: 9)
    found, error = noise_at(counts, epsilon).moment(2.0)
    assert error < 4e-10
    assert abs(found - expected) <= error + doubt


def test_a_smaller_power_reads_levels_afresh():
    part = noise_at([1000, 400, 0, 0, 0], 0.5)
    part.moment(400.0)
    found, error = part.moment(0.25)
    expected, doubt = noise_at([1000, 400, 0, 0, 0], 0.5).moment(0.25)
    assert abs(found - expected) <= error + doubt


def test_sums_over_heights_against_all_heights():
    rng = np.random.default_rng(7)
    pay, keep = rng.uniform(0.1, 1.0, (2, 3, 2))
    terms = [(q, e) for q in range(5) for e in range(q + 1)]
    expected = np.zeros((len(terms), 2))
    for place, (q, e) in enumerate(terms):
        for heights in product(range(3), repeat=q):
            order = sorted(range(q), key=lambda i: (-heights[i], i))
            factors = [(pay if i in order[:e] else keep)[heights[i]] for i in range(q)]
            expected[place] += np.prod(factors, axis=0)
    assert np.allclose(sums_over_heights(pay, keep, terms), expected, rtol=1e-13)


@pytest.mark.parametrize("level", [0, 1, 4])
def test_what_is_below_a_level_against_convolutions(level):
    copies, full, rho, far = 3, 2, 0.6, 150
    lower = Lower(full, copies, rho)
    lower.start(1.0)
    lower.add(level, np.ones((copies, full + copies - 1)), 1e-15, 1.0)
    (found,) = lower.at(np.array([level]))
    one = rho ** np.abs(np.arange(level, level - far, -1))  # by how far below the level
    for q in range(copies):
        ways = np.ones(1)
        for _ in range(copies - q):
            ways = np.convolve(ways, one)
        for e in range(1, full + q + 1):
            below = (copies - q) * level + (full + q) * level + e
            expected = comb(copies, q) * rho ** (q * level) * ways[below]
            assert abs(found[q, e - 1] - expected) < 1e-13


def test_only_what_is_in_order_for_certain_is_read_at_once():
    assert not noise_at([100, 99, 0, 0], 3.0).quick
    assert not noise_at([100, 50, 1, 0], 3.0).quick
    assert not noise_at([100, 50, 0, 0], 3.0, [1.0, 1.0, 1.0, 2.0]).quick
    assert not noise_at([10**9, 0, 0], 0.01, [1.0, 1e6, 1e6]).quick  # heights are many
    assert order_in_doubt(np.ones(2), np.array([300, 700]), 1.0) == 1.0  # none is empty
    assert order_in_doubt(np.ones(2), np.zeros(2, dtype=np.int64), 1.0) == 1.0  # all are


@pytest.mark.parametrize(("k", "epsilon", "gap"), [(2, 1.0, 6), (3, 0.7, 12), (4, 2.0, 5)])
def test_doubt_about_the_order_against_all_noise(k, epsilon, gap):
    steps = np.arange(-25, 26)
    first = np.stack(np.meshgrid(*[steps] * (k - 1), indexing="ij")).reshape(k - 1, -1)
    vectors = np.vstack((first, -first.sum(axis=0)))
    weights = np.exp(-0.5 * epsilon * np.abs(vectors).sum(axis=0))
    apart = vectors.max(axis=0) - vectors.min(axis=0) >= gap
    exact = weights[apart].sum() / weights.sum()
    assert exact <= sizes.out_of_order(k, epsilon, gap) < min(300.0 * exact, 1.0) + 1e-12
