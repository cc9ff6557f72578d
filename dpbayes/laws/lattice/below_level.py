"""Empty categories alike that the projection takes to 0: what they were below its level together.

It weighs the same for all powers of BC. Book: `thm-clamped`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.circles import log_bound
from dpbayes.laws.lattice.shortfalls import readings, short, shortfall_circle

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass
class Lower:
    """What empty categories that end at 0 give at each level, the same for all powers.

    For q that end above it and e records paid: binomial(copies, q) times the weight of all noise
    that takes the other copies - q to the level at most, and to (full + q) level + e below 0
    together, where `full` others are above it. q more factors are rho^level.
    """

    full: int
    copies: int
    rho: float
    exponent: float = math.inf
    known: dict[int, Floats] = field(default_factory=dict)

    def start(self, exponent: float) -> None:
        """Forget what is known if it may be read too coarsely for such a small power."""
        if exponent < self.exponent:
            self.known.clear()
            self.exponent = exponent

    def at(self, levels: Whole) -> Floats:
        """Return these weights, shape (levels, copies, full + copies - 1): q from 0, e from 1."""
        return np.array([self.known[t] for t in levels.tolist()])

    def add(self, level: int, weights: Floats, alias: float, scale: float) -> None:
        """Compute them at one level, so exactly that `alias` of a sum is read wrongly at most.

        The sum is that of the products with `weights`, one for each q and e, times `scale`.
        """

        def log_bounds(places: Floats) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                below, owed = self._factors(level, np.exp(places))
                sums = ((below * (owed @ weights.T)) @ self._ways).real
                return np.asarray(log_bound(sums) + np.log(scale))

        degree = (level + 1) * (self.full + self.copies) + 1
        circle = shortfall_circle(log_bounds, self.rho, level, degree, alias)
        below, owed = self._factors(level, circle.places())
        self.known[level] = self._ways[:, None] * (below.T @ owed).real / circle.nodes

    @cached_property
    def _ways(self) -> Floats:
        return np.array([float(math.comb(self.copies, q)) for q in range(self.copies)])

    def _factors(self, level: int, zeta: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        q, paid = np.arange(self.copies), np.arange(1, self.full + self.copies)
        owed = 1.0 / zeta + self.rho
        one, lowered = short(self.rho, level, 0, zeta), (self.rho * owed) ** level
        below = one[:, None] ** (self.copies - q) * lowered[:, None] ** q
        below = below * (readings(self.rho, zeta) * owed ** (level * self.full))[:, None]
        return below, owed[:, None] ** paid
