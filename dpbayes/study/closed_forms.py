"""The left sides of the equations of document D, section 6.3."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.mechanisms import mechanism


def balanced_step_probabilities(
    sizes: ArrayLike, prior: ArrayLike, epsilon: float, steps: ArrayLike
) -> NDArray[np.float64]:
    """Return the expMech-smooth probability of each step up on balanced data, shape (sizes, steps).

    `sizes` are even and at least twice the largest of `steps`.

    >>> balanced_step_probabilities([600], [1, 1], 1.0, [0]).round(6)
    array([[0.120252]])
    """
    smooth, ahead = mechanism("expMech-smooth", epsilon), np.atleast_1d(np.asarray(steps))
    rows = []
    for n in np.atleast_1d(np.asarray(sizes)):
        half = int(n) // 2
        moved = np.column_stack((half + ahead, half - ahead))
        rows.append(smooth.law([half, half], prior).probability(moved))
    return np.array(rows)
