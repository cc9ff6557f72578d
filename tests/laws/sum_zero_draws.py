"""The sum-zero discrete Gaussian law by a list of its points, and how far draws are from it."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray


def enumerated(k: int, variance: float, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    free = np.array(list(product(range(-size, size + 1), repeat=k - 1)))
    points = np.column_stack((free, -free.sum(axis=1)))
    weights = np.exp(-0.5 * (points**2).sum(axis=1) / variance)
    return points, weights


def deviation(drawn: NDArray[np.int64], k: int, variance: float) -> float:
    """Return the largest deviation of the draws from the law, in standard errors."""
    points, weights = enumerated(k, variance, 25)
    mass = weights / weights.sum()
    common = mass * len(drawn) > 20
    index = {tuple(z): i for i, z in enumerate(points.tolist())}
    found = np.bincount([index[tuple(z)] for z in drawn.tolist()], minlength=len(mass))
    error = np.sqrt(len(drawn) * mass * (1 - mass))
    deviations = np.abs(found - len(drawn) * mass)[common] / error[common]
    return float(deviations.max())
