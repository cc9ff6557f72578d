"""Distances from one posterior to every candidate, row by row, from tables shared by all rows.

With k = 2 the log-affinity of counts x and candidate r is psi(a, b) of the first category plus the
same of the second, a = prior + x, b = prior + r. Half of a + b, a and b all lie on one grid of
half steps, so the three remainders of Stirling's formula in psi are looked up, not computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dpbayes.log_gamma import stirling_remainder

# Below this ratio d/m logarithms of m +- d would cancel; above it they keep all but two digits.
_CLOSE = 0.25


@dataclass(frozen=True)
class CategoryTable:
    """psi(alpha + x, alpha + r) of one category for all 0 <= x, r <= n, one row at a time."""

    alpha: float
    n: int
    grid: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    remainders: NDArray[np.float64]

    def row(self, x: int) -> NDArray[np.float64]:
        """Return psi(alpha + x, alpha + r) for r = 0 … n."""
        middle = slice(x, x + self.n + 1)
        m = self.grid[middle]
        rest = self.remainders[middle] - 0.5 * (self.remainders[2 * x] + self.remainders[::2])
        main = np.empty(self.n + 1)
        low, high = self._close(x)
        d = 0.5 * (np.arange(low, high) - x)
        u = d / m[low:high]
        main[low:high] = (m[low:high] - 0.5) * np.log1p(-u * u) + 2.0 * d * np.arctanh(u)
        for far in (slice(0, low), slice(high, self.n + 1)):
            log_m = self.logarithms[middle][far]
            b, log_b = self.grid[::2][far], self.logarithms[::2][far]
            main[far] = (b - 0.5) * (log_b - log_m)
            main[far] += (self.grid[2 * x] - 0.5) * (self.logarithms[2 * x] - log_m)
        return np.asarray(rest - 0.5 * main)

    def rows(self) -> NDArray[np.float64]:
        """Return `row(x)` for x = 0 … n, shape (n + 1, n + 1)."""
        size = self.n + 1
        x = np.arange(size)
        low, high = np.array([self._close(one) for one in range(size)])[:, :, None].swapaxes(0, 1)
        close = (low <= x) & (x < high)
        m, log_m, rest = (
            sliding_window_view(table, size)
            for table in (self.grid, self.logarithms, self.remainders)
        )
        own, log_own = self.grid[::2], self.logarithms[::2]
        result = (own - 0.5) * (log_own - log_m)
        result += (own[:, None] - 0.5) * (log_own[:, None] - log_m)
        d = 0.5 * (x - x[:, None])[close]
        u = d / m[close]
        result[close] = (m[close] - 0.5) * np.log1p(-u * u) + 2.0 * d * np.arctanh(u)
        result *= -0.5
        result += rest - 0.5 * (self.remainders[::2, None] + self.remainders[::2])
        return result

    def steps(self, by: int, low: int = 0, high: int | None = None) -> NDArray[np.float64]:
        """Return psi(alpha + x, alpha + x + by) for x = low … high - 1, with `by` at least 1.

        `high` is at most n + 1 - by, and that where it is left out.
        """
        size = (self.n + 1 - by if high is None else high) - low
        a, b = (slice(2 * start, 2 * (start + size), 2) for start in (low, low + by))
        middle = slice(2 * low + by, 2 * (low + size) + by, 2)
        m = self.grid[middle]
        rest = self.remainders[middle] - 0.5 * (self.remainders[a] + self.remainders[b])
        d, main = 0.5 * by, np.empty(size)
        first = min(size, max(0, int(np.ceil(d / _CLOSE - d - self.alpha)) - low))
        u = d / m[first:]
        main[first:] = (m[first:] - 0.5) * np.log1p(-u * u) + 2.0 * d * np.arctanh(u)
        log_m = self.logarithms[middle][:first]
        main[:first] = (self.grid[b][:first] - 0.5) * (self.logarithms[b][:first] - log_m)
        main[:first] += (self.grid[a][:first] - 0.5) * (self.logarithms[a][:first] - log_m)
        return np.asarray(rest - 0.5 * main)

    def _close(self, x: int) -> tuple[int, int]:
        # |r - x| < _CLOSE (2 alpha + x + r), solved for r on either side.
        a = self.alpha + x
        low = np.ceil(a * (1 - _CLOSE) / (1 + _CLOSE) - self.alpha)
        high = np.floor(a * (1 + _CLOSE) / (1 - _CLOSE) - self.alpha)
        return max(0, int(low)), min(self.n, int(high)) + 1


def category_table(alpha: float, n: int) -> CategoryTable:
    """Return the shared tables of a category with prior parameter `alpha` in data of n records."""
    grid = alpha + 0.5 * np.arange(2 * n + 1, dtype=np.float64)
    return CategoryTable(alpha, n, grid, np.log(grid), stirling_remainder(grid))


@dataclass(frozen=True)
class TwoCategories:
    """ln BC between the posterior of (x, n - x) and every candidate (r, n - r), row by row."""

    first: CategoryTable
    second: CategoryTable

    def row(self, x: int) -> NDArray[np.float64]:
        """Return ln BC for r = 0 … n, at most 0 and exactly 0 at r = x."""
        n = self.first.n
        result = np.minimum(self.first.row(x) + self.second.row(n - x)[::-1], 0.0)
        result[x] = 0.0
        return np.asarray(result)

    def rows(self) -> NDArray[np.float64]:
        """Return `row(x)` for x = 0 … n, shape (n + 1, n + 1)."""
        first = self.first.rows()
        second = first if self.second is self.first else self.second.rows()
        result = np.minimum(first + second[::-1, ::-1], 0.0)
        np.fill_diagonal(result, 0.0)
        return result

    def steps(self, by: int, low: int = 0, high: int | None = None) -> NDArray[np.float64]:
        """Return ln BC between x and the candidate x + by, for x = low … high - 1 (or n - by)."""
        room = self.first.n + 1 - by
        last = room if high is None else high
        second = self.second.steps(by, room - last, room - low)[::-1]
        return np.asarray(np.minimum(self.first.steps(by, low, last) + second, 0.0))


def two_categories(n: int, prior: NDArray[np.float64]) -> TwoCategories:
    """Return the rows of log-affinities for n records and a prior of two parameters."""
    first = category_table(float(prior[0]), n)
    same = float(prior[0]) == float(prior[1])
    return TwoCategories(first, first if same else category_table(float(prior[1]), n))
