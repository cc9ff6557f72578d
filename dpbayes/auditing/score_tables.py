"""Distances from one posterior to every candidate, row by row, from tables shared by all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_exponent, affinity_of_counts, distance_from_log_affinity
from dpbayes.log_gamma import stirling_remainder

Array = NDArray[np.float64]

_CLOSE = 0.25  # of d/m; beyond it differences of logarithms keep all but two digits


@dataclass(frozen=True)
class Scores:
    """Row i: the distances of all histograms in `counts` from the posterior of the i-th.

    The log-affinity is a sum of psi over the categories. With two categories `tables` are those of
    `psi_row`; with more they hold psi of all pairs of counts.
    """

    counts: NDArray[np.int64]
    exponent: float
    tables: tuple[Array, ...]

    @classmethod
    def of(cls, metric: str, counts: NDArray[np.int64], prior: Array) -> Scores:
        """Return the scores by "hellinger" or "published"; `counts` are all of n records."""
        n = int(counts[0].sum())
        exponent = affinity_exponent(metric, float(prior.sum() + n))
        if prior.size == 2:
            return cls(counts, exponent, tuple(half_steps(float(alpha), n) for alpha in prior))
        at = np.arange(n + 1)
        tables = {a: affinity_of_counts(a, at[:, None], at[None, :]) for a in set(prior.tolist())}
        return cls(counts, exponent, tuple(tables[a] for a in prior.tolist()))

    def __call__(self, i: int) -> Array:
        x = self.counts[i]
        if x.size == 2:
            first, second = (psi_row(t, int(one)) for t, one in zip(self.tables, x, strict=True))
            logs = first + second[::-1]
        else:
            logs = np.zeros(len(self.counts))
            for table, count, column in zip(self.tables, x, self.counts.T, strict=True):
                logs += table[count].take(column)
        logs = np.minimum(logs, 0.0)
        logs[i] = 0.0
        return distance_from_log_affinity(logs, self.exponent)


def half_steps(alpha: float, n: int) -> Array:
    """Return z = alpha, alpha + 1/2, …, alpha + n, their logarithms and Stirling's remainders."""
    z = alpha + 0.5 * np.arange(2 * n + 1, dtype=np.float64)
    return np.stack((z, np.log(z), stirling_remainder(z)))


def psi_row(table: Array, x: int) -> Array:
    """Return psi(alpha + x, alpha + r) for r = 0 … n.

    Half of a + b, a and b all lie on the grid of `half_steps`, so what is left of Stirling's
    formula is looked up; logarithms are, too, but where a and b are so close that they cancel.
    """
    grid, logarithms, remainders = table
    n = grid.size // 2
    middle = slice(x, x + n + 1)
    m, own = grid[middle], grid[::2]
    rest = remainders[middle] - 0.5 * (remainders[2 * x] + remainders[::2])
    # |r - x| < _CLOSE (2 alpha + x + r), solved for r on either side.
    a, stretch = float(grid[2 * x]), (1.0 + _CLOSE) / (1.0 - _CLOSE)
    low = max(0, int(np.ceil(a / stretch - grid[0])))
    high = min(n, int(np.floor(a * stretch - grid[0]))) + 1
    d = 0.5 * (np.arange(low, high) - x)
    u = d / m[low:high]
    main = np.empty(n + 1)
    main[low:high] = (m[low:high] - 0.5) * np.log1p(-u * u) + 2.0 * d * np.arctanh(u)
    for far in (slice(0, low), slice(high, n + 1)):
        log_m = logarithms[middle][far]
        main[far] = (own[far] - 0.5) * (logarithms[::2][far] - log_m)
        main[far] += (a - 0.5) * (logarithms[2 * x] - log_m)
    return np.asarray(rest - 0.5 * main)
