"""The worked example of the chapter: a cube of nine cells, six answers and one new query.

The history and its budgets are ours; the cube's axes (age, income) and the tax query follow the
example of E, section 2.4, whose numbers are lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen
from dpbayes.queries.workload import laplace_scales


@dataclass(frozen=True)
class WorkedExample:
    """Counts x (9,), history H (6, 9), budgets alpha, scales and answers y (6,), query q (9,).

    >>> example = worked_example()
    >>> example.H.shape, example.scales, example.names[3]
    ((6, 9), array([20., 10., 10., 10., 10., 20.]), 'tax')
    """

    x: NDArray[np.int64]
    H: NDArray[np.float64]
    alpha: NDArray[np.float64]
    scales: NDArray[np.float64]
    y: NDArray[np.float64]
    q: NDArray[np.float64]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    names: tuple[str, ...]


def worked_example() -> WorkedExample:
    """Return the example: three age groups by three income groups, with six answered queries.

    >>> example = worked_example()
    >>> int(example.q @ example.x)
    73
    """
    grid = np.zeros((6, 3, 3))
    grid[0] = 1.0
    grid[1, 0] = 1.0
    grid[2, 1] = 1.0
    grid[3, :, 1:] = 2.0
    grid[4, 2] = 1.0
    grid[5, :, 0] = 1.0
    H = frozen(grid.reshape(6, 9))
    alpha = frozen(np.array([0.05, 0.1, 0.1, 0.2, 0.1, 0.05]))
    return WorkedExample(
        x=frozen(np.array([10, 21, 37, 20, 0, 0, 53, 0, 0], dtype=np.int64)),
        H=H,
        alpha=alpha,
        scales=frozen(laplace_scales(H, alpha)),
        y=frozen(np.array([140.0, 70.0, 22.0, 118.0, 50.0, 85.0])),
        q=frozen(np.array([0.0, 0, 0, 1, 1, 1, 1, 1, 1])),
        rows=("age 20-34", "age 35-49", "age 50-64"),
        columns=("income 0-9", "income 10-19", "income 20-29"),
        names=("everyone", "age 20-34", "age 35-49", "tax", "age 50-64", "income 0-9"),
    )
