"""Projection to the nearest histogram, by comparing with all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.sum_zero import LatticeNoise, project
from dpbayes.samplers.bits import SystemBits


def paid_in_rounds(y):
    """The rule of `def-projection`, one record at a time: the largest pay first, then the earlier.

    Each round takes one record from every count that is left, until nothing is owed.
    """
    result, owed = np.maximum(y, 0), int(np.maximum(-y, 0).sum())
    order = sorted(range(y.size), key=lambda i: (-y[i], i))
    while owed:
        for i in order:
            if owed and result[i] > 0:
                result[i] -= 1
                owed -= 1
    return result


@given(
    st.sampled_from([2, 3, 4]).flatmap(
        lambda k: st.lists(st.integers(-4, 6), min_size=k, max_size=k)
    ),
    st.sampled_from(["l1", "l2"]),
)
def test_projection_is_a_nearest_histogram(row, how):
    noisy = np.array([row])
    if noisy.sum() < 0:
        noisy[0, 0] -= noisy.sum()
    n, k = int(noisy.sum()), noisy.shape[1]
    found = project(noisy, how)[0]
    assert found.sum() == n
    assert found.min() >= 0
    steps = dp.compositions(n, k) - noisy
    assert np.abs(found - noisy[0]).sum() == np.abs(steps).sum(axis=1).min()
    if how == "l2":
        assert ((found - noisy[0]) ** 2).sum() == (steps**2).sum(axis=1).min()


@pytest.mark.slow
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=7), st.randoms(use_true_random=False))
def test_records_are_paid_in_rounds_whatever_the_order(row, random):
    y = np.array(row)
    y[0] += max(0, -int(y.sum()))
    found = project(y[None, :])[0]
    assert found.tolist() == paid_in_rounds(y).tolist()
    places = list(range(y.size))
    random.shuffle(places)
    # Only equal counts can be told apart by their places, and then by one record.
    assert sorted(project(y[None, places])[0].tolist()) == sorted(found.tolist())


def test_law_draws_and_releases_share_the_rule():
    counts, prior, epsilon = np.array([1, 2, 2, 0]), np.ones(4), 0.8
    mechanism = dp.mechanism("lattice", epsilon)
    law = mechanism.law(counts, prior)
    shifts = LatticeNoise(4, 1.0).points(20)
    weights = np.exp(-0.5 * epsilon * np.abs(shifts).sum(axis=1))
    weights *= np.exp(-LatticeNoise(4, epsilon).log_normaliser)
    reached: dict[tuple[int, ...], float] = {}
    for y, weight in zip(counts + shifts, weights, strict=True):
        end = tuple(paid_in_rounds(y).tolist())
        reached[end] = reached.get(end, 0.0) + weight
    outside = LatticeNoise(4, epsilon).outside(20)
    assert outside < 1e-4
    for end in ((5, 0, 0, 0), (2, 2, 1, 0), (0, 3, 2, 0), (0, 2, 2, 1)):
        output = np.array(end)
        assert law.probability(output) == pytest.approx(reached[end], abs=outside)
    assert set(map(tuple, law.sample(np.random.default_rng(0), 300).tolist())) <= set(reached)
    for _ in range(20):
        noisy, released = mechanism.draw(counts, prior, SystemBits())
        assert released.tolist() == paid_in_rounds(noisy).tolist()
