"""Mean error as the data grow, the way D's Figures 5 and 6 show it: simulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.accuracy import simulate, split
from dpbayes.divergences import Metric, hellinger
from dpbayes.mechanisms.protocol import Mechanism


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
