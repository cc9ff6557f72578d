"""The exact law of an exponential mechanism over all candidates, listed only where that is asked.

Means and single probabilities are sums over candidates that are made a piece at a time; outputs,
distances and probabilities come into being when they are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity, hellinger, hellinger_published
from dpbayes.laws.affinities import CandidateAffinities, log_affinity_of_outputs
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.metrics import Yardstick, metric_function, reported_exponent
from dpbayes.laws.sums import AT_ONCE
from dpbayes.posteriors import compositions


@dataclass(frozen=True)
class Moments:
    """The logarithm of the sum of all weights, and the means of d and of d^2 under them."""

    log_partition: float
    mean: float
    square: float


@dataclass(frozen=True)
class Weights:
    """The weights exp(-rate sqrt(1 - BC^exponent)) of all candidates."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    rate: float
    exponent: float

    @cached_property
    def affinities(self) -> CandidateAffinities:
        """Ln BC of all candidates."""
        return CandidateAffinities(self.prior, self.counts)

    def moments(self, reported: float) -> Moments:
        """Return the moments of d = sqrt(1 - BC^reported).

        A piece stays in the cache from its affinities to its sums, and is added pairwise. The
        largest weights, which are 1, are counted and not added: ln Z keeps its digits near 0.
        """
        size, copies, sums = self.affinities.size, 0, []
        rooms = [np.empty(min(size, AT_ONCE)) for _ in range(3)]
        for first in range(0, size, AT_ONCE):
            logs, squares, weights = (room[: size - first] for room in rooms)
            self.affinities.piece(first, first + logs.size, out=logs)
            _squared(logs, self.exponent, out=squares)
            np.exp(np.multiply(np.sqrt(squares, out=weights), -self.rate, out=weights), out=weights)
            if reported != self.exponent:
                _squared(logs, reported, out=squares)
            square = np.multiply(weights, squares, out=logs).sum()
            mean = np.multiply(weights, np.sqrt(squares, out=squares), out=squares).sum()
            if weights.max() == 1.0:
                copies += int(np.count_nonzero(weights == 1.0))
                weights[weights == 1.0] = 0.0
            sums.append((weights.sum(), mean, square))
        others, mean, square = (math.fsum(column) for column in zip(*sums, strict=True))
        log_partition = float(np.log1p(others / copies) + np.log(float(copies)))
        return Moments(log_partition, mean / (others + copies), square / (others + copies))


def _squared(
    logs: NDArray[np.float64], exponent: float, out: NDArray[np.float64]
) -> NDArray[np.float64]:
    # 1 - BC^exponent
    if exponent != 1.0:
        logs = np.multiply(logs, exponent, out=out)
    return np.negative(np.expm1(logs, out=out), out=out)


class EnumeratedLaw(FiniteLaw):
    """P[r] proportional to exp(-rate sqrt(1 - BC^exponent)) over all candidates r.

    A changed copy (`dataclasses.replace`) is a `FiniteLaw` with its own list. Book: `def-expmech`.
    """

    _weights: Weights
    _found: dict[float, Moments]

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Return a law without a list, or the list itself where its fields are given."""
        return FiniteLaw(*given, **named) if given or named else super().__new__(cls)

    @classmethod
    def of(cls, weights: Weights) -> EnumeratedLaw:
        """Return the law of these weights.

        >>> law = EnumeratedLaw.of(Weights(np.ones(2), np.array([3, 1]), 2.0, 1.0))
        >>> round(float(law.mean_distance()), 6), "outputs" in vars(law)
        (0.272722, False)
        """
        law: EnumeratedLaw = cls.__new__(cls)
        known = {"prior": weights.prior, "counts": weights.counts, "conserved": True}
        for name, value in {**known, "_weights": weights, "_found": {}}.items():
            object.__setattr__(law, name, value)
        return law

    @cached_property
    def outputs(self) -> NDArray[np.int64]:
        """Every candidate, in lexicographic order, shape (N, k)."""
        return compositions(int(self.counts.sum()), self.counts.size)

    @cached_property
    def log_probabilities(self) -> NDArray[np.float64]:
        """Natural logarithm of the probability of each candidate, shape (N,)."""
        return np.asarray(_validate.frozen(self._lists[1]))

    @cached_property
    def _lists(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Distances and ln p of all candidates, in as few arrays as can be.
        every, weights = self._weights.affinities, self._weights
        log_bc = every.piece(0, every.size)
        distances = scores = distance_from_log_affinity(log_bc)
        if weights.exponent != 1.0:
            scores = distance_from_log_affinity(log_bc, weights.exponent)
        return distances, normalised(np.multiply(scores, -weights.rate, out=log_bc), reuse=True)

    @cached_property
    def error_bound(self) -> float:
        """Largest error of each probability and of the mean of a distance, as for every list."""
        # The mean of |ln p| is that of the scores, and ln Z.
        spread = self._weights.rate * self._own.mean + self._own.log_partition
        return 2.0 * self.rounding * (4.0 + spread)

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected distance between released and true posterior."""
        exponent = self._exponent(metric)
        if exponent is None:
            return super().mean_distance(metric)
        return Estimate(self._moments(exponent).mean, self.error_bound, "sum")

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected square of the distance."""
        exponent = self._exponent(metric)
        if exponent is None:
            return super().mean_square(metric)
        return Estimate(self._moments(exponent).square, self.error_bound, "sum")

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability that exactly these counts, shape (k,), are released."""
        return Estimate(float(self.each_probability(counts_out[None])[0]), self.error_bound, "sum")

    def each_probability(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability of each output of a checked table (m, k)."""
        logs = log_affinity_of_outputs(self.prior, self.counts, rows)
        scores = distance_from_log_affinity(logs, self._weights.exponent)
        found = np.exp(-self._weights.rate * scores - self._own.log_partition)
        return np.where(rows.sum(axis=1) == self.counts.sum(), found, 0.0)

    @property
    def _own(self) -> Moments:
        return self._moments(self._weights.exponent)

    def _moments(self, exponent: float) -> Moments:
        if exponent not in self._found:
            self._found[exponent] = self._weights.moments(exponent)
        return self._found[exponent]

    def _exponent(self, metric: Yardstick) -> float | None:
        # Only powers of the affinity are sums over the categories.
        if metric_function(metric) not in (hellinger, hellinger_published):
            return None
        return reported_exponent(metric, float(self.prior.sum() + self.counts.sum()))

    def _hellinger(self) -> NDArray[np.float64]:
        return self._lists[0]

    def _distances_by(self, metric: Yardstick) -> NDArray[np.float64]:
        exponent = self._exponent(metric)
        if exponent is None:
            return super()._distances_by(metric)
        if exponent == 1.0:
            return self.distances
        every = self._weights.affinities
        return distance_from_log_affinity(every.piece(0, every.size), exponent)
