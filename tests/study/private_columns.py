"""The second road for prices of a bound: linear programs over all private columns."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dpbayes.mechanisms.optimum import distance_table


def least_values(rows, prices, epsilon):
    """Return for each answer in order the least of sum (H - price) P over its private columns."""
    losses = distance_table(int(rows[0].sum()), [1.0] * rows.shape[1])
    apart = np.abs(rows[:, None] - rows[None]).sum(axis=2) // 2
    first, second = np.nonzero(apart == 1)
    each, shape = np.arange(first.size), (first.size, len(rows))
    private = sparse.coo_array((np.ones(first.size), (each, first)), shape) - sparse.coo_array(
        (np.full(first.size, np.exp(epsilon)), (each, second)), shape
    )
    for s in np.flatnonzero(np.all(np.diff(rows, axis=1) >= 0, axis=1)):
        bounds = [(1.0, 1.0) if x == s else (0.0, None) for x in range(len(rows))]
        worst = linprog(
            losses[:, s] - prices, private, np.zeros(first.size), bounds=bounds, method="highs"
        )
        yield worst.fun
