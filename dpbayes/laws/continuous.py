"""The law of independent continuous noise on each posterior update, cut to [0, n]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity, hellinger
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function

_TAIL = 45.0  # noise beyond 45 scales has probability e^-45
_RULES = {2: (16, 10, 2.0**-9, 12), 3: (6, 4, 2.0**-4, 4)}
"""Gauss nodes of a panel, those of the check, the first panel in scales, more panels in a check."""


@dataclass(frozen=True)
class ContinuousLaw(Unlisted):
    """Updates min(max(x_i + Y_i, 0), n) with Y_i independent Laplace(scale); density and two atoms.

    The released parameters are prior + update, so they stay positive, and their total is free. The
    mean is a product of Gauss rules for two and three categories, drawn beyond. Panels shrink
    towards the truth, where the distance has a cone, and towards 0, where parameters are small.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    scale: float

    def __post_init__(self) -> None:
        x, alpha = _validate.counts_and_prior(self.counts, self.prior)
        object.__setattr__(self, "counts", x)
        object.__setattr__(self, "prior", alpha)
        _validate.positive("scale", self.scale)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 1)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 2)

    def _mean(self, metric: Yardstick, order: int) -> Estimate:
        """Return E[distance^order]; the error is four times the largest difference to two others.

        Those are rules of lower order, one of them with other panels that end closer to the truth:
        measured, not proved.
        """
        if self.counts.size not in _RULES or metric_function(metric) is not hellinger:
            return drawn_mean(self, metric, order)
        high, low, _, _ = _RULES[self.counts.size]
        value = self._integral(high, order)
        others = [self._integral(low, order, finer) for finer in (False, True)]
        error = 4.0 * max(abs(value - other) for other in others)
        return Estimate(value, error + 1e-13, "series")

    def _integral(self, nodes: int, order: int, finer: bool = False) -> float:
        (first, masses), *rest = [self._rule(i, nodes, finer) for i in range(self.counts.size)]
        return float(sum(
            mass * self._row(np.array([point]), rest, order)
            for point, mass in zip(first, masses, strict=True)
        ))  # fmt: skip

    def _row(self, point: NDArray[np.float64], rest: list[Any], order: int) -> float:
        # All other updates beside one value of the first.
        log_bc = affinity_of_counts(self.prior[0], self.counts[0], point)
        total, weights = point, np.ones(1)
        for i, (points, masses) in enumerate(rest, 1):
            own = affinity_of_counts(self.prior[i], self.counts[i], points)
            log_bc = (log_bc[:, None] + own).ravel()
            total, weights = (total[:, None] + points).ravel(), np.outer(weights, masses).ravel()
        log_bc = log_bc - affinity_of_counts(float(self.prior.sum()), self.n, total)
        return float(weights @ distance_from_log_affinity(np.minimum(log_bc, 0.0)) ** order)

    def _rule(
        self, i: int, nodes: int, finer: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Points of one coordinate with their probabilities, the two atoms last.
        truth, top = float(self.counts[i]), float(self.n)
        edges = self._edges(i, finer)
        points, shares = np.polynomial.legendre.leggauss(nodes)
        middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        points = (middle[:, None] + half[:, None] * points).ravel()
        density = np.exp(-np.abs(points - truth) / self.scale) / (2.0 * self.scale)
        inside = (half[:, None] * shares).ravel() * density
        atoms = 0.5 * np.exp(-np.array([truth, top - truth]) / self.scale)
        return np.append(points, [0.0, top]), np.append(inside, atoms)

    def _edges(self, i: int, finer: bool) -> NDArray[np.float64]:
        truth, top = float(self.counts[i]), float(self.n)
        finest = self.scale * _RULES[self.counts.size][2]
        reach = min(max(truth, top - truth), _TAIL * self.scale)
        away = finest * 2.0 ** np.arange(max(1, int(np.ceil(np.log2(reach / finest)))))
        if finer:
            more = np.arange(1.0, _RULES[self.counts.size][3] + 1.0)
            away = np.append(0.75 * away, finest * 4.0**-more)
        small = float(self.prior[i])
        growth = int(np.ceil(np.log2(1.0 + top / small)))
        near_zero = small * (2.0 ** np.arange(1, max(growth, 1)) - 1.0)
        low, high = max(0.0, truth - reach), min(top, truth + reach)
        edges = np.concatenate((truth - away, truth + away, near_zero, [truth, low, high]))
        return np.unique(edges[(edges >= low) & (edges <= high)])

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability of exactly this update: 0 unless every entry is 0 or n."""
        if not np.all((counts_out == 0) | (counts_out == self.n)):
            return Estimate(0.0, 0.0, "listed")
        value = float(np.prod(0.5 * np.exp(-np.abs(counts_out - self.counts) / self.scale)))
        return Estimate(value, 1e-15 * value, "listed")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Return `size` float updates, shape (size, k); the released parameters add the prior."""
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        noise = generator.laplace(scale=self.scale, size=(number, self.counts.size))
        return np.asarray(np.clip(self.counts + noise, 0.0, float(self.n)))
