"""Mean error as the data grow, the way D's Figures 5 and 6 show it: simulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.accuracy import simulate, split
from dpbayes.divergences import (
    METRICS,
    Metric,
    affinity_exponent,
    distance_from_log_affinity,
    hellinger,
    hellinger_published,
)
from dpbayes.mechanisms.protocol import Mechanism

_YARDSTICKS = {"hellinger": hellinger, "published": hellinger_published}


def simulated_means(
    mechanism: Mechanism,
    proportions: ArrayLike,
    prior: ArrayLike,
    sizes: Sequence[int] | NDArray[np.int64],
    seed: int,
    runs: int = 1000,
    metric: Metric = hellinger,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the average distance of `runs` releases at each size, and its standard error.

    The papers' estimate of the mean. Every mechanism and size has a generator of its own, made from
    `seed` (at least 0), so a size gives the same numbers whatever stands before it in the list.

    >>> from dpbayes.mechanisms import mechanism
    >>> means, errors = simulated_means(mechanism("geometric", 1.0), [0.5, 0.5], [1, 1], [100], 1)
    >>> bool(abs(means[0] - 0.0601) < 5 * errors[0])
    True
    """
    start = _validate.integer("seed", seed, minimum=0)
    averages = []
    for n in sizes:
        counts = split(_validate.integer("sizes", n, minimum=1), proportions)
        rng = _generator(start, mechanism, int(n))
        drawn = simulate(mechanism.law(counts, prior), counts, prior, rng, runs, metric)
        averages.append((drawn.mean, drawn.standard_error))
    means, errors = np.array(averages).reshape(-1, 2).T
    return means, errors


def _generator(seed: int, mechanism: Mechanism, cell: int) -> np.random.Generator:
    return np.random.default_rng([seed, cell, *mechanism.name.encode()])


def box_data(
    mechanism: Mechanism,
    counts: ArrayLike,
    priors: Sequence[ArrayLike],
    seed: int,
    runs: int = 1000,
    metric: str = "hellinger",
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return simulated distances and exact quartiles of one data set under several priors; k = 2.

    The samples, one array (runs,) for each prior, and the exact lower quartile, median and upper
    quartile, shape (priors, 3). `metric` is "hellinger" or "published". Source: D, Figure 6, the
    last panel; book: `accuracy/prior-boxes`.
    """
    start = _validate.integer("seed", seed, minimum=0)
    yardstick = _YARDSTICKS[_validate.choice("metric", metric, METRICS)]
    samples, quartiles = [], []
    for index, prior in enumerate(priors):
        x, alpha = _validate.counts_and_prior(counts, prior)
        _validate.prior("prior", alpha, 2)
        law = mechanism.law(x, alpha)
        rng = _generator(start, mechanism, index)
        samples.append(simulate(law, x, alpha, rng, runs, yardstick).distances)
        distances = np.array([law.quantile(q) for q in (0.25, 0.5, 0.75)])
        # Both yardsticks are increasing functions of one affinity, so quantiles carry over.
        exponent = affinity_exponent(metric, float(alpha.sum() + x.sum()))
        quartiles.append(distance_from_log_affinity(np.log1p(-(distances**2)), exponent))
    return samples, np.array(quartiles)
