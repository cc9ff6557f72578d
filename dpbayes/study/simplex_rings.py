"""The data at one number of replaced records from an answer, and the ways of each further in."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dpbayes.study.simplex import ring
from dpbayes.study.simplex_windows import Array, inward_edges


class Ring:
    """The steps z that replace d records, and the ways of each to the ring d - 1.

    A way leads from the step `start` to the step `end` further in; `straight` is its part of the
    straight line to 0. All three have one entry a way, ordered by `end`.
    """

    def __init__(self, k: int, d: int) -> None:
        self.steps, inner = ring(k, d), ring(k, max(d - 1, 0))
        edges = inward_edges(inner, self.steps)
        start, end, weight = (np.concatenate(part) for part in zip(*edges, strict=True))
        shape = (len(inner), len(self.steps))
        ways = sparse.csr_array((weight, (end, start)), shape=shape)
        self.start, self.straight = ways.indices, ways.data
        self.end = np.repeat(np.arange(len(inner)), np.diff(ways.indptr))
        self._rows, self._shape = ways.indptr, shape
        # Straight parts over their sum for each step; ring 0 has no ways.
        self.even = self.of_each(self.straight) if d else self.straight

    def of_each(self, weights: Array) -> Array:
        """Return the weights of ways, over their sum for each step."""
        return np.asarray(weights / np.bincount(self.start, weights, self._shape[1])[self.start])

    def moved(self, shares: Array, given: Array) -> Array:
        """Return what each step further in gets of what is `given`, (steps, B)."""
        ways = sparse.csr_array((shares, self.start, self._rows), shape=self._shape)
        return np.asarray(ways @ given)

    def reached(self, shares: Array, held: Array) -> Array:
        """Return for each step the sum over its shares of what is `held` further in, (steps, B)."""
        ways = sparse.csr_array((shares, self.start, self._rows), shape=self._shape)
        return np.asarray(ways.T @ held)
