"""Projection to the nearest histogram, by comparing with all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.lattice.projection import project


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
