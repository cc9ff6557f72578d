"""The series of a square root at the affinities in use."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpbayes.laws.square_root import square_root_series


@pytest.mark.parametrize("largest", [1.0, 1e4, 1e8])
def test_square_root_series(largest):
    series = square_root_series(40 * largest)
    assert series.weights.sum() + series.rest == pytest.approx(1.0, abs=1e-14)
    for log_z in (-1.0 / largest, -3.7 / largest, -2.0):
        value = series.mean_root(-np.expm1(series.powers * log_z), 1.0)
        assert value == pytest.approx(float(mpmath.sqrt(-mpmath.expm1(log_z))), rel=1e-12)
