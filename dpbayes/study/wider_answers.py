"""Answers that are the posterior of no data set: any Beta law, after geometric noise; k = 2.

The least mean of `thm-remap-optimal` is the least among mechanisms that answer with a histogram.
When the noise is wide, a Beta law that is wider than every posterior of n records can be nearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import hellinger
from dpbayes.mechanisms import mechanism

LARGEST = 60
"""Most records; every noisy count is answered by a search of its own."""


@dataclass(frozen=True)
class WiderAnswers:
    """Parameters of the Beta law that answers each noisy count, shape (n + 1, 2), and the mean."""

    answers: NDArray[np.float64]
    mean: float


def wider_answers(n: int, epsilon: float, prior: ArrayLike = (1.0, 1.0)) -> WiderAnswers:
    """Answer each noisy count of the geometric mechanism with the nearest Beta law found.

    The mean is that of the Hellinger distance over all data sets of n records, each with the same
    weight. It is attained by an epsilon-DP mechanism, and the search starts at the best histogram,
    so it is never above that of the geometric mechanism with Bayes remap. n at most `LARGEST`.
    Book: `def-remap`, `thm-remap-optimal`.

    >>> found = wider_answers(10, 0.1)
    >>> round(found.mean, 3), bool(found.answers[5].sum() < 12)
    (0.476, True)
    """
    size = _validate.integer("n", n, minimum=1)
    if size > LARGEST:
        raise ValueError(f"n must be at most {LARGEST} for a search of answers, got {n!r}")
    noise = mechanism("geometric", _validate.positive("epsilon", epsilon))
    alpha = _validate.prior("prior", prior, 2)
    data = np.array([[x, size - x] for x in range(size + 1)])
    table = np.array([noise.law(x, alpha).probability(data) for x in data])
    found = [_nearest(column, alpha + data) for column in table.T]
    answers, costs = zip(*found, strict=True)
    return WiderAnswers(np.array(answers), float(sum(costs)) / (size + 1))


def _nearest(
    weights: NDArray[np.float64], posteriors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    costs = [float(weights @ hellinger(posteriors, one)) for one in posteriors]
    first = posteriors[int(np.argmin(costs))]

    def cost(logs: NDArray[np.float64]) -> float:
        return float(weights @ hellinger(posteriors, first * np.exp(logs)))

    optimize: Any = import_module("scipy.optimize")
    best = np.zeros(2)
    # From the histogram itself, and from a law with a third of its parameters.
    for start in (best, best - np.log(3.0)):
        tried = optimize.minimize(cost, start, method="Nelder-Mead").x
        best = tried if cost(tried) < cost(best) else best
    return first * np.exp(best), cost(best)
