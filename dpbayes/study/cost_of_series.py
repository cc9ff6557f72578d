"""What an exact law without enumeration costs, and how exact it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpbayes import _validate
from dpbayes.accuracy import split
from dpbayes.divergences import affinity_exponent
from dpbayes.laws.series.candidate_sums import log_number_of_candidates
from dpbayes.laws.series.expansions import expand_weight
from dpbayes.laws.series.law import SeriesLaw
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.guarantees import own
from dpbayes.posteriors import number_of_candidates


def series_law(mechanism: ExponentialMechanism, counts: ArrayLike, prior: ArrayLike) -> SeriesLaw:
    """Return the law of an exponential mechanism as a series, however small the data are.

    >>> from dpbayes.mechanisms import mechanism
    >>> series_law(mechanism("expMech", 1.0), [3, 4], [1, 1]).terms
    112
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    if own(mechanism, "rates") is None:
        raise TypeError(f"mechanism must be an exponential mechanism, got {mechanism!r}")
    exponent = affinity_exponent(mechanism.metric, float(alpha.sum() + x.sum()))
    return SeriesLaw(alpha, x, mechanism.rate(x, alpha), exponent)


def uneven(n: int, k: int) -> NDArray[np.int64]:
    """Return n records over k categories with shares from 0.7/k to 1.3/k.

    No two counts are equal where 3 n > 5 k (k - 1).

    >>> uneven(100, 4)
    array([18, 23, 27, 32])
    """
    shares = np.linspace(0.7, 1.3, _validate.integer("k", k, minimum=2))
    return split(n, shares / shares.sum())


@dataclass(frozen=True)
class Work:
    """Per data set: terms of the series, numbers that are transformed, numbers in the list of R."""

    terms: NDArray[np.int64]
    transformed: NDArray[np.float64]
    log10_listed: NDArray[np.float64]


def work(mechanism: ExponentialMechanism, data: Sequence[NDArray[np.int64]]) -> Work:
    """Return what the series costs for each count vector, uniform prior, and what a list would.

    The list of R holds k C(n+k-1, k-1) numbers. Counting numbers rather than seconds gives the
    same table on every machine.
    """
    laws = [series_law(mechanism, counts, np.ones(len(counts))) for counts in data]
    listed = [
        log_number_of_candidates(int(counts.sum()), counts.size) + np.log(counts.size)
        for counts in data
    ]
    return Work(
        np.array([law.terms for law in laws]),
        np.array([float(law.transformed) for law in laws]),
        np.array(listed) / np.log(10.0),
    )


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Return the slope of ln y against ln x by least squares, both positive of shape (m,), m > 1.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 9)
    2.0
    """
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def slopes(x: ArrayLike, costs: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Return the slope of each cost that is positive at two places at least, over those places.

    >>> {name: round(value, 9) for name, value in slopes(
    ...     [1, 2, 4], {"grows": [3, 6, 12], "stops": [3, 6, 0], "free": [3, 0, 0]}
    ... ).items()}
    {'grows': 1.0, 'stops': 1.0}
    """
    at = np.asarray(x, dtype=np.float64)
    paid = {name: np.asarray(cost, dtype=np.float64) for name, cost in costs.items()}
    return {
        name: slope(at[cost > 0], cost[cost > 0])
        for name, cost in paid.items()
        if np.count_nonzero(cost > 0) > 1
    }


@dataclass(frozen=True)
class Agreement:
    """One data set's mean distance and ln Z by list and by series, and what the series promises."""

    candidates: int
    listed: float
    mean_error: float
    partition_error: float
    bound: float


def agreement(mechanism: ExponentialMechanism, counts: ArrayLike, prior: ArrayLike) -> Agreement:
    """Return how far the series is from the list of all candidates."""
    series, x = series_law(mechanism, counts, prior), _validate.counts("counts", counts)
    listed = mechanism.enumerated(counts, prior)
    mean = listed.mean_distance()
    # The weight of the true posterior is 1, so ln Z is minus its log-probability.
    own = listed.log_probabilities[np.all(listed.outputs == x, axis=1)]
    return Agreement(
        number_of_candidates(int(x.sum()), x.size),
        mean,
        abs(series.mean_distance() - mean),
        abs(series.log_partition + float(logsumexp(own))),
        series.error_bound,
    )


def expansion_errors(
    rate: float, nearest: float, log_candidates: float, nodes: Sequence[int]
) -> NDArray[np.float64]:
    """Return the largest error of the expanded weight for each number of nodes a block.

    Relative to the weight, or to the mean weight over R where that is larger, over all affinities
    z <= exp(-nearest); see `dpbayes.laws.series.expansions`.
    """
    log_floor = -_validate.non_negative("log_candidates", log_candidates)
    expansions = [expand_weight(rate, nearest, log_candidates, size) for size in nodes]
    return np.array([max(expansion.errors(nearest, log_floor)) for expansion in expansions])
