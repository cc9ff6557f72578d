"""Where the densities of a proportion are to be drawn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

_EVEN = 401  # points from 0 to 1
_NARROW = 0.01  # a deviation below this is not seen on an axis from 0 to 1


def proportions_for(concentrations: Iterable[ArrayLike]) -> NDArray[np.float64]:
    """Return points in [0, 1] that show every Beta(a, b) of `concentrations`,
    increasing.

    They are even, with more of them around the mean of each law that is too narrow for
    even points.

    >>> proportions_for([[8, 4]]).size, proportions_for([[8, 4], [1000001, 13]]).size
    (401, 530)
    """
    points = [np.linspace(0.0, 1.0, _EVEN)]
    for concentration in concentrations:
        mean, deviation = _spread(concentration)
        if deviation * _EVEN < 4.0:
            around = mean + deviation * np.linspace(-6.0, 6.0, 161)
            points.append(np.clip(around, 0.0, 1.0))
    return np.unique(np.concatenate(points))


def stretch(concentration: ArrayLike) -> tuple[float, float]:
    """Return the part of the axis on which Beta(a, b) is seen: all of it, or six
    deviations about the mean of a narrow law.

    >>> stretch([8, 4])
    (0.0, 1.0)
    """
    mean, deviation = _spread(concentration)
    if deviation >= _NARROW:
        return 0.0, 1.0
    return max(0.0, mean - 6.0 * deviation), min(1.0, mean + 6.0 * deviation)


def _spread(concentration: ArrayLike) -> tuple[float, float]:
    a, b = np.asarray(concentration, dtype=np.float64)
    mean = a / (a + b)
    return float(mean), float(np.sqrt(mean * (1.0 - mean) / (a + b + 1.0)))
