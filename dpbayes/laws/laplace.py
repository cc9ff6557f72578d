"""The law of independent noise on all counts but the last, which takes what is left of n.

Where the noisy counts sum to at most n the steps of all categories add up to zero, and the affinity
is a product over them: E[BC^s] is the coefficient of w^0 of a product of p_i BC_i^s. Where they
exceed n the released total is larger, and the affinity also depends on it: at three categories all
pairs of counts are added up, beyond the mean is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity, hellinger
from dpbayes.laws.convolution import LARGEST_TABLE, AffinityProduct, Tilted, TooWide
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.finite import ROUNDING, FiniteLaw
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function, power_of_affinity
from dpbayes.laws.powers import DEPTH, root_powers

LARGEST_SUM = 100_000_000
"""Most pairs of released counts that are added up at three categories, some seconds."""

NEGLIGIBLE = 1e-9
"""So small a probability of an excess is halved, and its half stated as the error."""

_SMALLEST = 1e-300


@dataclass(frozen=True)
class Marginal:
    """The distribution of one released count: ln P(start + i) = log_probabilities[i].

    `outside` bounds the probability of counts that are not listed.
    """

    start: int
    log_probabilities: NDArray[np.float64]
    outside: float = 0.0

    def __post_init__(self) -> None:
        _validate.integer("start", self.start, minimum=0)
        logs = np.asarray(self.log_probabilities, dtype=np.float64)
        if logs.ndim != 1 or logs.size < 1:
            raise ValueError(f"log_probabilities must be a vector, got shape {logs.shape}")
        object.__setattr__(self, "log_probabilities", _validate.frozen(logs))
        total = float(np.exp(logs).sum())
        if not abs(total - 1.0) <= max(1e-9, 2.0 * self.outside):
            raise ValueError(f"probabilities must sum to 1, got {total!r}")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each count listed."""
        return np.asarray(_validate.frozen(np.exp(self.log_probabilities)))

    @property
    def stop(self) -> int:
        """One more than the largest count listed."""
        return self.start + self.log_probabilities.size


@dataclass(frozen=True)
class ProductLaw(Unlisted):
    """Counts but the last released with independent noise; the last is clamp(n - their sum).

    `marginals` are the k - 1 distributions of the released counts, each within [0, n]. Where their
    sum exceeds n the last count is 0 and the released total is the sum. Book: `thm-product-law`.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    marginals: tuple[Marginal, ...]

    def __post_init__(self) -> None:
        x, alpha = _validate.counts_and_prior(self.counts, self.prior)
        object.__setattr__(self, "counts", x)
        object.__setattr__(self, "prior", alpha)
        object.__setattr__(self, "marginals", tuple(self.marginals))
        if len(self.marginals) != x.size - 1:
            raise ValueError(f"marginals must be {x.size - 1}, one less than categories")
        if any(m.stop > x.sum() + 1 for m in self.marginals):
            raise ValueError(f"marginals must stay within 0 … {int(x.sum())}")

    @property
    def mass_outside(self) -> float:
        """Bound on the probability of outputs that are not accounted for."""
        return float(sum(marginal.outside for marginal in self.marginals))

    @property
    def _n(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _affinities(self) -> list[NDArray[np.float64]]:
        return [
            affinity_of_counts(alpha, int(x), np.arange(m.start, m.stop))
            for alpha, x, m in zip(self.prior, self.counts, self.marginals, strict=False)
        ]

    @cached_property
    def probability_of_excess(self) -> float:
        """Probability that the noisy counts sum to more than n, so that the last one is 0."""
        return max(0.0, 1.0 - self._moment(0.0))

    @cached_property
    def _factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64], int, NDArray[np.int64]]:
        """Ln p and psi of the steps from the first on, a row for each kind, and its copies."""
        rows: dict[tuple[float, int, tuple[int, int]], int] = {}
        kinds = [
            (float(a), int(x), _key(m))
            for a, x, m in zip(self.prior, self.counts, self.marginals, strict=False)
        ]
        for kind in kinds:
            rows.setdefault(kind, len(rows))
        starts = [m.start - int(x) for x, m in zip(self.counts, self.marginals, strict=False)]
        stops = [m.stop - int(x) for x, m in zip(self.counts, self.marginals, strict=False)]
        # The last category moves against the sum of the others, as far as it has records.
        last, low, high = int(self.counts[-1]), sum(starts), sum(stops) - len(stops)
        own = np.arange(-min(high, last), -low + 1)
        first = min(*starts, int(own[0]))
        width = max(*stops, int(own[-1]) + 1) - first
        if (len(rows) + 1) * width > LARGEST_TABLE:
            raise TooWide(f"steps of {width} counts do not fit into a table")
        logs, psi = np.full((len(rows) + 1, width), -np.inf), np.zeros((len(rows) + 1, width))
        for i, kind in enumerate(kinds):
            some = slice(starts[i] - first, stops[i] - first)
            logs[rows[kind], some] = self.marginals[i].log_probabilities
            psi[rows[kind], some] = self._affinities[i]
        some = slice(int(own[0]) - first, int(own[-1]) + 1 - first)
        logs[-1, some], psi[-1, some] = 0.0, affinity_of_counts(self.prior[-1], last, last + own)
        copies = np.append(np.bincount([rows[kind] for kind in kinds]), 1)
        return logs, psi, first, copies

    def _moment(self, power: float) -> float:
        # E[BC^power; sum at most n]; the power inf asks for the truth.
        if np.isinf(power):
            return float(self.one_probability(self.counts))
        logs, psi, first, copies = self._factors
        tilted = logs + power * psi
        least = tilted.max(axis=1, keepdims=True) - 2.0 * DEPTH
        columns = np.flatnonzero((tilted > least).any(axis=0))
        some = slice(int(columns[0]), int(columns[-1]) + 1)
        return float(np.exp(Tilted(tilted[:, some], first + some.start, copies).log_at_zero()))

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 1)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 2)

    def _mean(self, metric: Yardstick, order: int) -> Estimate:
        distance = metric_function(metric)
        if distance is hellinger and self.counts.size == 3:
            sizes = [marginal.log_probabilities.size for marginal in self.marginals]
            if sizes[0] * sizes[1] <= LARGEST_SUM:
                return Estimate(self._sum_of_pairs(order), self.mass_outside + 1e-12, "window")
        exponent = power_of_affinity(metric, float(self.prior.sum() + self._n))
        try:
            excess = self.probability_of_excess
        except TooWide:
            excess = 1.0
        if exponent is None or excess > NEGLIGIBLE:
            return drawn_mean(self, metric, order)
        value, error = self._conserved(exponent, order)
        error += 0.5 * excess + self.mass_outside + 1e-12
        return Estimate(value + 0.5 * excess, error, "series")

    def _conserved(self, exponent: float, order: int) -> tuple[float, float]:
        """Return E[distance^order; sum at most n] and its largest error."""
        inside = self._moment(0.0)
        if order == 2:
            return max(inside - self._moment(exponent), 0.0), 0.0
        found = root_powers(AffinityProduct(self.prior, self.counts).gap, exponent)
        missing = [inside - self._moment(power) for power in found.powers.tolist()]
        value = max(float(found.weights[0] @ missing), 0.0)
        return value, value * float(found.errors[0])

    def _sum_of_pairs(self, order: int) -> float:
        # Both released counts with all their pairs, a row at a time; T decides the third.
        n, (one, other) = self._n, self.marginals
        totals = (
            one.start
            + other.start
            + np.arange(one.log_probabilities.size + other.log_probabilities.size - 1)
        )
        last = int(self.counts[-1])
        of_sum = affinity_of_counts(self.prior[-1], last, np.maximum(n - totals, 0))
        beyond = totals > n
        of_sum[beyond] -= affinity_of_counts(float(self.prior.sum()), n, totals[beyond])
        first, second = self._affinities
        sums, p = np.zeros(first.size), other.probabilities
        for row, psi in enumerate(first.tolist()):
            logs = np.minimum(second + psi + of_sum[row : row + second.size], 0.0)
            sums[row] = (p * distance_from_log_affinity(logs) ** order).sum()
        return float((one.probabilities * sums).sum())

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        if counts_out[-1] != min(max(self._n - int(counts_out[:-1].sum()), 0), self._n):
            return Estimate(0.0, 0.0, "listed")
        log = 0.0
        for value, marginal in zip(counts_out[:-1].tolist(), self.marginals, strict=True):
            if not marginal.start <= value < marginal.stop:
                return Estimate(0.0, self.mass_outside, "window")
            log += float(marginal.log_probabilities[value - marginal.start])
        found = float(np.exp(log))
        rounded = found * ROUNDING * (abs(log) + 2.0 * len(self.marginals)) + _SMALLEST
        return Estimate(found, self.mass_outside + rounded, "window")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        drawn = np.zeros((number, self.counts.size), dtype=np.int64, order="F")
        for i, marginal in enumerate(self.marginals):
            p = marginal.probabilities
            values = np.repeat(
                np.arange(marginal.start, marginal.stop), generator.multinomial(number, p / p.sum())
            )
            drawn[:, i] = generator.permutation(values)
        drawn[:, -1] = np.clip(self._n - drawn.sum(axis=1), 0, self._n)
        return drawn


def _key(marginal: Marginal) -> tuple[int, int]:
    # Equal marginals have equal keys; of wide noise a digest stands for the numbers.
    return marginal.start, hash(marginal.log_probabilities.tobytes())


def product_grid(
    prior: NDArray[np.float64], counts: NDArray[np.int64], marginals: Sequence[Marginal]
) -> FiniteLaw:
    """Return the law of `ProductLaw` with every combination of listed counts as an output."""
    n = int(counts.sum())
    axes = np.meshgrid(*[np.arange(m.start, m.stop) for m in marginals], indexing="ij")
    columns = [axis.ravel() for axis in axes]
    columns.append(np.clip(n - np.sum(columns, axis=0), 0, n))
    logs = np.asarray(marginals[0].log_probabilities)
    for following in marginals[1:]:
        logs = (logs[:, None] + following.log_probabilities[None, :]).ravel()
    outside = float(sum(marginal.outside for marginal in marginals))
    return FiniteLaw(prior, counts, np.array(columns).T, logs, outside)
