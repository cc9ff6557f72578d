"""An exact law by enumeration: every output listed with its probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.divergences import hellinger
from dpbayes.laws.estimate import (
    SAME_DISTANCE,
    Yardstick,
    affinity_by_value,
    distances_of,
    largest_distance,
    metric_function,
    row_sums,
)
from dpbayes.laws.law import Answers
from dpbayes.laws.numbers import (
    Estimate,
)

# Relative error that no distance and no ln p exceeds, unless a law says otherwise.
ROUNDING = 2.0**-49
# so small is what is added where a division by 0 or an error of 0 has no sense
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class FiniteLaw(ByValue, Answers):
    """The distribution of a released histogram, listed output by output.

    `outputs` (N, k) are released counts, `log_probabilities` (N,) their natural
    logarithms. The released posterior is prior + output; distances are taken to prior +
    counts. `mass_outside` bounds the probability of all outputs that are not listed (0
    for a complete law), so that every expectation of a distance in [0, 1] is right
    within `mass_outside`. Book: `def-law`.
    """

    prior: Floats
    counts: Whole
    outputs: Whole
    log_probabilities: Floats
    mass_outside: float = 0.0
    _distances: Floats | None = field(default=None, repr=False, compare=False)
    rounding: float = field(default=ROUNDING, repr=False, compare=False)

    def _shown(self) -> Mapping[str, object]:
        listed, outside = len(self.outputs), self.mass_outside
        return {
            "counts": self.counts,
            "prior": self.prior,
            "outputs": f"{listed} listed"
            + (f", {outside:.2g} outside" * (outside > 0)),
        }

    def __post_init__(self) -> None:
        for name in ("outputs", "log_probabilities"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))

    @cached_property
    def error_bound(self) -> float:
        """Largest error of each probability and of the mean of a distance.

        What is not listed, and rounding: every distance and every ln p is right to a
        relative error of `rounding`, which moves a mean by at most twice that times the
        mean of 4 + |ln p|; where totals differ, distances lose what cancels between the
        categories and the total.
        """
        # Below e^-745 a probability is 0, and its logarithm counts for nothing.
        spread = float(
            (
                self.probabilities * np.abs(np.maximum(self.log_probabilities, -745.0))
            ).sum()
        )
        return (
            self.mass_outside + 2.0 * self.rounding * (4.0 + spread) + self._cancelled()
        )

    def _cancelled(self) -> float:
        # ln BC = sum of psi_i - psi(totals) is right to ROUNDING times psi(totals), and
        # H = sqrt(1 - BC) then to that over 2 H, or to its root where H is smaller.
        n, totals = int(self.counts.sum()), row_sums(self.outputs)
        if not np.any(totals != n):
            return 0.0
        loss = (
            4.0
            * ROUNDING
            * np.abs(affinity_by_value(float(self.prior.sum()), n, totals))
        )
        lost = loss / np.maximum(self.distances, np.sqrt(loss) + SMALLEST)
        return float((self.probabilities * lost).sum())

    @cached_property
    def probabilities(self) -> Floats:
        """Probability of each output, shape (N,), right within `error_bound`."""
        return np.asarray(_validate.frozen(np.exp(self.log_probabilities)))

    @cached_property
    def distances(self) -> Floats:
        """Hellinger distance of each output's posterior to the true one, shape (N,)."""
        if self._distances is not None:
            return np.asarray(_validate.frozen(self._distances))
        return np.asarray(_validate.frozen(distances_of(self, self.outputs, hellinger)))

    def _distances_by(self, metric: Yardstick) -> Floats:
        if metric_function(metric) is hellinger:
            return self.distances
        return distances_of(self, self.outputs, metric)

    def _estimate(self, value: float) -> Estimate:
        how = "window" if self.mass_outside > 0.0 else "listed"
        return Estimate(value, self.error_bound, how)

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        # Added pairwise; a dot product of ten million terms is off by 1e-12.
        """Return E[distance^order] = sum of p d^order over the list, order 1 or 2."""
        value = (self.probabilities * self._distances_by(metric) ** order).sum()
        return self._estimate(float(value))

    def distance_distribution(
        self, metric: Yardstick = "hellinger"
    ) -> tuple[Floats, Floats]:
        """Return the distinct distances (m,), increasing, and the probability of each
        (m,).

        Distances that differ by at most `SAME_DISTANCE`, 1e-12, from the one before are
        one: several outputs often lie at the same distance, up to rounding.
        """
        distances = self._distances_by(metric)
        order = np.argsort(distances, kind="stable")
        ranked = distances[order]
        starts = np.flatnonzero(np.diff(ranked, prepend=-1.0) > SAME_DISTANCE)
        return ranked[starts], np.add.reduceat(self.probabilities[order], starts)

    def quantile(self, q: float, metric: Yardstick = "hellinger") -> Estimate:
        """Return the smallest distance c with P(distance <= c) >= q, for q in [0, 1].

        Where P jumps at a q that is within its own error of it, the error reaches to
        the next distance.
        """
        level = _validate.closed_unit("q", q)
        distances, masses = self.distance_distribution(metric)
        cumulative, rounding = np.cumsum(masses), self.error_bound

        def at(share: float) -> float:
            # Rounding in the sum may leave the last value just below 1.
            index = np.searchsorted(cumulative, share * (1.0 - 1e-15) * cumulative[-1])
            return float(distances[min(int(index), distances.size - 1)])

        value, low, high = at(level), at(level - rounding), at(level + rounding)
        if self.mass_outside > 0.0 and level + rounding >= 1.0:
            high = largest_distance(metric)  # of what is not listed
        how = "window" if self.mass_outside > 0.0 else "listed"
        error = max(value - low, high - value) + 4.0 * self.rounding * value
        return Estimate(value, error, how)

    def distribution_at(self, distance: float, metric: Yardstick) -> Estimate:
        """Return P(the distance is at most `distance`), the sum over the list; 1e-12
        more counts as equal.
        """
        distances, masses = self.distance_distribution(metric)
        within = distances <= distance + SAME_DISTANCE
        return self._estimate(float(masses[within].sum()))

    def one_probability(self, counts_out: Whole) -> Estimate:
        """Return the probability of one output (k,), 0 where it is not listed.

        An output that comes twice in the list has the sum of both entries. The error is
        `error_bound`, which what is not listed at all is within.
        """
        found = self.probabilities[np.all(self.outputs == counts_out, axis=1)].sum()
        return self._estimate(float(found))

    def each_probability(self, rows: Whole) -> Floats:
        """Return the probability of each row of a checked table (m, k), shape (m,)."""
        stacked = np.concatenate((self.outputs, rows))
        _, place = np.unique(stacked, axis=0, return_inverse=True)
        place, own = place.ravel(), len(self.outputs)
        sums = np.bincount(place[:own], self.probabilities, int(place.max()) + 1)
        return np.asarray(sums[place[own:]], dtype=np.float64)

    def draws(self, rng: np.random.Generator, size: int) -> Whole:
        """Return `size` outputs (size, k), drawn from the list by inversion of its
        sums.

        Floats are good enough for experiments; releases are drawn by `Draws.draw`.
        """
        cumulative = np.cumsum(self.probabilities)
        rows = np.searchsorted(
            cumulative, rng.random(size) * cumulative[-1], side="right"
        )
        return np.asarray(self.outputs[np.minimum(rows, len(self.outputs) - 1)])


def normalised(log_weights: NDArray[Any]) -> Floats:
    """Return log-probabilities proportional to exp(log_weights), finite or -inf, shape
    (N,).

    The largest weights are counted and not added: ln of the sum keeps its digits near
    0.

    >>> normalised(np.array([0.0, 0.0])).round(6)
    array([-0.693147, -0.693147])
    """
    logs = np.asarray(log_weights, dtype=np.float64) - np.max(log_weights)
    largest = logs == 0.0
    copies = float(np.count_nonzero(largest))
    others = float(np.where(largest, 0.0, np.exp(logs)).sum())
    return np.asarray(logs - (np.log1p(others / copies) + np.log(copies)))
