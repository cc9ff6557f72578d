"""Quantiles and tail probabilities from exact draws, with an error that is stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpbayes import _validate
from dpbayes.laws.estimate import CONFIDENCE, Drawable, drawn_distances, rank_error
from dpbayes.laws.metrics import Yardstick


@dataclass(frozen=True)
class TailProbability:
    """A probability estimated from draws; `low` to `high` contains it but for 10^-6."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SimulatedDistances:
    """Increasing distances of independent exact draws, shape (runs,)."""

    distances: NDArray[np.float64]

    @property
    def rank_error(self) -> float:
        """Largest error of the empirical distribution function but for probability 10^-6.

        sqrt(ln(2/alpha) / (2 runs)), Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
        """
        return rank_error(self.distances.size)

    def quantile(self, q: float) -> float:
        """Return the smallest drawn distance with at least the share q of draws at or below it."""
        level = _validate.closed_unit("q", q)
        rank = int(np.ceil(level * self.distances.size)) - 1
        return float(self.distances[max(rank, 0)])

    def quantile_interval(self, q: float) -> tuple[float, float]:
        """Return the interval that contains the q-quantile but for probability 10^-6."""
        level = _validate.closed_unit("q", q)
        low, high = level - self.rank_error, level + self.rank_error
        return self.quantile(low) if low > 0 else 0.0, self.quantile(high) if high < 1 else 1.0

    def tail(self, distance: float) -> TailProbability:
        """Return P(H > distance) with its Clopper-Pearson interval of level 1 - 10^-6."""
        beyond = _validate.non_negative("distance", distance)
        runs = self.distances.size
        hits = runs - int(np.searchsorted(self.distances, beyond, side="right"))
        low = 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, CONFIDENCE / 2))
        high = 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - CONFIDENCE / 2))
        return TailProbability(hits / runs, low, high)


def simulate_distances(law: Drawable, metric: Yardstick) -> SimulatedDistances:
    """Return the distances of the draws behind `estimate.drawn_quantile`: the same every time."""
    return SimulatedDistances(np.asarray(_validate.frozen(np.sort(drawn_distances(law, metric)))))
