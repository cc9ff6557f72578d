"""The area that two densities share is their affinity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import dpbayes as dp
from dpbayes.figures.pictures import overlap

X = np.linspace(0.0, 1.0, 201)


def test_the_shaded_area_is_the_affinity() -> None:
    a, b = np.array([13.0, 9.0]), np.array([10.0, 12.0])
    distance = float(dp.hellinger(a, b))
    figure, alt = overlap(X, beta(*a).pdf(X), {"3 moved": beta(*b).pdf(X)}, [distance])
    outline = figure.axes[0].collections[0].get_paths()[0].vertices
    x, y = outline[:, 0], outline[:, 1]
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    assert area == pytest.approx(1 - distance**2, abs=1e-3)
    assert f"the area is {1 - distance**2:.3f}" in alt
    with pytest.raises(ValueError, match="one for each"):
        overlap(X, X, {"a": X}, [])
