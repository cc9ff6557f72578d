"""The law of independent discrete Laplace noise on every count, cut off at zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function

_TAIL = 46.0


@dataclass(frozen=True)
class CountWindow:
    """ln P(released count = low, low + 1, …) of one count, less a tail of probability e^-46."""

    low: int
    log_probabilities: NDArray[np.float64]


def count_window(count: int, epsilon: float) -> CountWindow:
    """Return the law of max(count + Z, 0), P(Z = z) proportional to e^(-epsilon |z|)."""
    reach = int(np.ceil(_TAIL / epsilon)) + 1
    low = max(count - reach, 0)
    logs = log_released(count, np.arange(low, count + reach + 1), epsilon)
    return CountWindow(low, logs)


def log_released(count: int, released: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Return ln P(max(count + Z, 0) = r) for each r >= 0; what falls below 0 is collected there."""
    shared = np.log1p(np.exp(-epsilon))
    inside = np.log(-np.expm1(-epsilon)) - epsilon * np.abs(released - count) - shared
    # P(Z <= -count) is e^(-epsilon count) / (1 + e^-epsilon).
    return np.asarray(np.where(released == 0, -epsilon * count - shared, inside))


def listed_law(
    prior: NDArray[np.float64], counts: NDArray[np.int64], windows: list[CountWindow]
) -> FiniteLaw:
    """Return the joint law of all counts as a list."""
    axes = [np.arange(w.low, w.low + w.log_probabilities.size) for w in windows]
    grids = np.meshgrid(*axes, indexing="ij")
    outputs = np.column_stack([grid.reshape(-1) for grid in grids])
    logs = np.zeros(grids[0].shape)
    for axis, window in enumerate(windows):
        shape = [1] * len(windows)
        shape[axis] = -1
        logs = logs + window.log_probabilities.reshape(shape)
    outside = len(windows) * float(np.exp(-_TAIL))
    return FiniteLaw(prior, counts, outputs, logs.reshape(-1), outside)


@dataclass(frozen=True)
class IndependentLaw(Unlisted):
    """The law where the outputs are too many to list: exact probabilities, means over draws."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected distance between released and true posterior, over draws."""
        return drawn_mean(self, metric)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected square of the distance, over draws."""
        distance = metric_function(metric)
        return drawn_mean(self, distance, 2)

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability that exactly these counts, shape (k,), are released."""
        pairs = zip(self.counts.tolist(), counts_out, strict=True)
        logs = [log_released(x, np.array([r]), self.epsilon)[0] for x, r in pairs]
        value = float(np.exp(np.sum(logs)))
        return Estimate(value, 1e-12 * value, "listed")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` independent released count vectors, shape (size, k), for experiments."""
        generator = _validate.generator("rng", rng)
        shape = (_validate.integer("size", size, minimum=0), self.counts.size)
        share = -np.expm1(-self.epsilon)
        noise = generator.geometric(share, shape) - generator.geometric(share, shape)
        return np.asarray(np.maximum(self.counts + noise, 0))
