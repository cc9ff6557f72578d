"""Sum-zero noise: how many vectors there are, and the normaliser."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from dpbayes.laws.lattice import noise


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_number_of_vectors_by_listing(k):
    listed = noise.points(k, 6)
    assert np.all(listed.sum(axis=1) == 0)
    assert len(np.unique(listed, axis=0)) == len(listed)
    positive = np.maximum(listed, 0)
    sizes, parts = positive.sum(axis=1), (positive > 0).sum(axis=1)
    counted = np.exp(noise.log_numbers(k, np.arange(1, 7)))
    for m, j in itertools.product(range(1, 7), range(1, k)):
        assert counted[m - 1, j - 1] == pytest.approx(np.sum((sizes == m) & (parts == j)))
    assert noise.number_of_points(k, 6) == pytest.approx(len(listed))


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.5), (4, 2.0), (7, 1.0)])
def test_normaliser_against_characteristic_function(k, epsilon):
    # sum over z of q^|z| with sum z = 0 is the mean over the circle of the k-th power of
    # sum_t q^|t| e^(i t w) = (1 - q^2) / (1 - 2 q cos w + q^2).
    q = mpmath.exp(-mpmath.mpf(epsilon) / 2)
    with mpmath.workdps(30):
        mean = (
            mpmath.quad(
                lambda w: ((1 - q**2) / (1 - 2 * q * mpmath.cos(w) + q**2)) ** k,
                [0, 0.1, 1, mpmath.pi],
            )
            / mpmath.pi
        )
    assert math.exp(noise.log_normaliser(k, epsilon)) == pytest.approx(float(mean), rel=1e-12)
