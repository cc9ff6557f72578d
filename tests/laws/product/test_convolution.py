"""Sums of independent weighted steps against convolution by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dpbayes.laws.product.convolution import Factor, convolve, wrap_length


def factors():
    rng = np.random.default_rng(6)
    result = []
    for first, size in ((-3, 6), (-1, 4), (0, 2)):
        masses = rng.random(size)
        result.append(Factor(first, np.log(masses / masses.sum()), -rng.random(size)))
    return [result[0].again(), *result[1:]]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 7.0])
def test_transforms_agree_with_numpys_convolution(power):
    parts = factors()
    down, up = wrap_length(parts)
    assert (down, up) == (7, 7)
    by_hand, low = np.ones(1), 0
    for part in parts:
        for _ in range(part.copies):
            by_hand = np.convolve(by_hand, part.probabilities * np.exp(power * part.log_affinity))
            low += part.first
    ours = convolve(parts, np.array([power]), down, up)[0]
    theirs = np.zeros(down + up + 1)
    theirs[low + down : low + down + by_hand.size] = by_hand
    np.testing.assert_allclose(ours, theirs, atol=1e-15)


def test_the_reach_leaves_out_almost_nothing():
    steps = np.arange(-4000, 4001)
    logs = -0.5 * np.abs(steps)
    part = Factor(-4000, logs - np.log(np.exp(logs).sum()), -1e-3 * np.abs(steps))
    down, up = wrap_length([part])
    assert down == up < 400
    assert part.probabilities[np.abs(steps) > up].sum() < 1e-18
    kept = convolve([part], np.array([0.0]), down, up)[0]
    np.testing.assert_allclose(kept, part.probabilities[np.abs(steps) <= up], atol=1e-15)


def test_a_long_transform_holds_few_arrays_at_once():
    steps = np.arange(-30_000, 30_001)
    masses = np.exp(-np.abs(steps) / 3000.0)
    part = Factor(-30_000, np.log(masses / masses.sum()), -1e-8 * steps.astype(np.float64) ** 2)
    tracemalloc.start()
    try:
        convolve([part, part, part], np.ones(1), 60_000, 60_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 8 * 2**17  # two transforms, what is transformed, and the sums
