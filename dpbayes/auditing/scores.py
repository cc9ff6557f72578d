"""Distances between the posteriors of all data sets of n records, row by row, from
tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes._stirling import stirling_remainder
from dpbayes.divergences import (
    affinity_exponent,
    affinity_of_counts,
    distance_from_log_affinity,
)

_CLOSE = 0.25  # of d/m; beyond it differences of logarithms keep all but two digits


@dataclass(frozen=True)
class Scores:
    """Row i: the distances of all histograms in `counts` from the posterior of the
    i-th.

    With two categories `tables` are those of `psi_row`, with more psi of all pairs of
    counts.
    """

    counts: NDArray[np.int64]
    exponent: float
    tables: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(
        cls, metric: str, counts: NDArray[np.int64], prior: NDArray[np.float64]
    ) -> Scores:
        """Return the scores by "hellinger" or "published"; `counts` are all of n
        records.
        """
        n = int(counts[0].sum())
        exponent = affinity_exponent(metric, float(prior.sum() + n))
        if prior.size == 2:
            return cls(
                counts, exponent, tuple(half_steps(float(alpha), n) for alpha in prior)
            )
        at = np.arange(n + 1)
        tables = {
            a: affinity_of_counts(a, at[:, None], at[None, :])
            for a in set(prior.tolist())
        }
        return cls(counts, exponent, tuple(tables[a] for a in prior.tolist()))

    def __call__(self, i: int) -> NDArray[np.float64]:
        """Return row i, shape (N,); 0 at i itself."""
        x = self.counts[i]
        if x.size == 2:
            first, second = (
                psi_row(t, int(one)) for t, one in zip(self.tables, x, strict=True)
            )
            logs = first + second[::-1]
        else:
            logs = np.zeros(len(self.counts))
            for table, count, column in zip(self.tables, x, self.counts.T, strict=True):
                logs += table[count].take(column)
        logs = np.minimum(logs, 0.0)
        logs[i] = 0.0
        return distance_from_log_affinity(logs, self.exponent)


def half_steps(alpha: float, n: int) -> NDArray[np.float64]:
    """Return z = alpha, alpha + 1/2, …, alpha + n, their logarithms and Stirling's
    remainders.

    Shape (3, 2n + 1). Every parameter alpha + r and every mean of two is on this grid.
    """
    z = alpha + 0.5 * np.arange(2 * n + 1, dtype=np.float64)
    return np.stack((z, np.log(z), stirling_remainder(z)))


def psi_row(table: NDArray[np.float64], x: int) -> NDArray[np.float64]:
    """Return psi(a, b), a = alpha + x, b = alpha + r, for r = 0 … n, shape (n + 1,).

    psi(a, b) = lnGamma(m) - (lnGamma(a) + lnGamma(b)) / 2 with m = (a + b) / 2 is what
    one category adds to the log affinity. With Stirling's formula and its remainder s,

        psi = s(m) - (s(a) + s(b)) / 2 - L / 2,
        L = (a - 1/2) ln(a / m) + (b - 1/2) ln(b / m).

    Here a, b and m all lie on the grid `table` of `half_steps`, so that logarithms and
    remainders are looked up. Where a and b are so close that logarithms cancel, d = (b
    - a) / 2 and u = d / m give the same L as (m - 1/2) log1p(-u^2) + 2 d atanh(u).
    """
    grid, logarithms, remainders = table
    n = grid.size // 2
    # The grid has half steps: place 2x is a, every other place is a b, and the means of
    # a with each b are the n + 1 places from x on.
    at_a, at_b, at_m = 2 * x, slice(None, None, 2), slice(x, x + n + 1)
    a, b, m = float(grid[at_a]), grid[at_b], grid[at_m]
    log_a, log_b, log_m = logarithms[at_a], logarithms[at_b], logarithms[at_m]
    rest = remainders[at_m] - 0.5 * (remainders[at_a] + remainders[at_b])

    # Close are the b with |d| < _CLOSE m: those from a / stretch to a stretch.
    stretch = (1.0 + _CLOSE) / (1.0 - _CLOSE)
    low = max(0, int(np.ceil(a / stretch - grid[0])))
    high = min(n, int(np.floor(a * stretch - grid[0]))) + 1
    close, far = slice(low, high), (slice(0, low), slice(high, n + 1))

    main = np.empty(n + 1)  # L of the formula
    d = 0.5 * (np.arange(low, high) - x)
    u = d / m[close]
    main[close] = (m[close] - 0.5) * np.log1p(-u * u) + 2.0 * d * np.arctanh(u)
    for side in far:
        main[side] = (b[side] - 0.5) * (log_b[side] - log_m[side])
        main[side] += (a - 0.5) * (log_a - log_m[side])
    return np.asarray(rest - 0.5 * main)
