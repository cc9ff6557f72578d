"""What the posteriors of counts share: the prior's factor, marginals, draws by weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpbayes.log_gamma import stirling_series

Marginal = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Possible values of one count, and their probabilities."""
Joint = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Possible values of one count and of the total, and the probability of each pair."""


_LARGE = 1e4  # from here on lnGamma(alpha + x) has lost digits that its change with x needs
_TINY = 1e-290  # below it lnGamma overflows; there Gamma(alpha) is 1 / alpha


def log_prior_factor(alpha: float, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return ln(Gamma(alpha + x) / x!), the factor of one category in the Dirichlet-multinomial.

    Up to a constant, for `alpha` of at least 10^4 less lnGamma(alpha), which would drown the rest.

    >>> [log_prior_factor(alpha, np.array([2]))[0].round(3) for alpha in (1.0, 1e300)]
    [np.float64(0.0), np.float64(1380.858)]
    """
    if alpha < _LARGE:
        gammas = gammaln(alpha + values)
        if alpha < _TINY:
            gammas = np.where(values == 0, -np.log(alpha), gammas)
        return np.asarray(gammas - gammaln(values + 1.0))
    start, steps = np.array([alpha]), values.astype(np.float64)
    rise = (alpha + steps - 0.5) * np.log1p(steps / alpha) + steps * (np.log(alpha) - 1.0)
    rise += stirling_series(alpha + steps) - stirling_series(start)
    return np.asarray(rise - gammaln(steps + 1.0))


def pick(rng: np.random.Generator, weights: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return `size` indices, each drawn with a probability proportional to its weight."""
    cumulative = np.cumsum(weights)
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, weights.size - 1))


def added_up(values: NDArray[np.int64], weights: NDArray[np.float64]) -> Marginal:
    """Return the different values and the sum of the weights of each."""
    places, inverse = np.unique(values, return_inverse=True)
    return places, np.bincount(inverse.ravel(), weights).astype(np.float64)
