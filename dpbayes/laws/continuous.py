"""The law of independent continuous noise on each posterior update, cut to [0, n]: drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick


@dataclass(frozen=True)
class ContinuousLaw(Unlisted):
    """Updates min(max(x_i + Y_i, 0), n) with Y_i independent Laplace(scale); density and two atoms.

    The released parameters are prior + update, so they stay positive, and their total is free.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    scale: float

    def __post_init__(self) -> None:
        x, alpha = _validate.counts_and_prior(self.counts, self.prior)
        object.__setattr__(self, "counts", x)
        object.__setattr__(self, "prior", alpha)
        _validate.positive("scale", self.scale)

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        return drawn_mean(self, metric)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        return drawn_mean(self, metric, 2)

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability of exactly this update: 0 unless every entry is 0 or n."""
        if not np.all((counts_out == 0) | (counts_out == self.counts.sum())):
            return Estimate(0.0, 0.0, "listed")
        value = float(np.prod(0.5 * np.exp(-np.abs(counts_out - self.counts) / self.scale)))
        return Estimate(value, 1e-15 * value, "listed")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Return `size` float updates, shape (size, k); the released parameters add the prior."""
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        noise = generator.laplace(scale=self.scale, size=(number, self.counts.size))
        return np.asarray(np.clip(self.counts + noise, 0.0, float(self.counts.sum())))
