"""Noise that reaches much farther than there are records."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.product.law import ProductLaw, product_grid


@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "draft-laplace"])
def test_noise_far_wider_than_the_data_is_clamped_to_their_range(name):
    # The windows end at n: no reach of the noise is too wide for a few records.
    mechanism = dp.mechanism(name, 1e-6)
    counts = [0, 0, 26, 5, 14, 0, 7, 0, 0, 40]
    law = mechanism.law(counts, [1.0] * 10)
    assert law.mass_outside == 0.0
    assert law.mean_distance().error <= 1e-9
    few = np.array([26, 5, 14])
    windows = tuple(mechanism.window(int(count), 45, 3) for count in few[:-1])
    found = ProductLaw(np.ones(3), few, windows).mean_distance()
    listed = product_grid(np.ones(3), few, windows).mean_distance()
    assert abs(found - listed) <= 1e-11
