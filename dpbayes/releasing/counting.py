"""What the posteriors of counts share: the prior's factor, marginals, draws by weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Marginal = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Possible values of one count, and their probabilities."""
Joint = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Possible values of one count and of the total, and the probability of each pair."""


def log_prior_factor(alpha: float, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln(Gamma(alpha + x) / x!), the factor of one category in the Dirichlet-multinomial."""
    return np.asarray(gammaln(alpha + values) - gammaln(values + 1.0))


def pick(rng: np.random.Generator, weights: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return `size` indices, each drawn with a probability proportional to its weight."""
    cumulative = np.cumsum(weights)
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, weights.size - 1))


def added_up(values: NDArray[np.int64], weights: NDArray[np.float64]) -> Marginal:
    """Return the different values and the sum of the weights of each."""
    places, inverse = np.unique(values, return_inverse=True)
    return places, np.bincount(inverse.ravel(), weights).astype(np.float64)
