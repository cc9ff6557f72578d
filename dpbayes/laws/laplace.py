"""The law of independent noise on all counts but the last, which takes what is left of
n.

Where the noisy counts sum to at most n the steps of all categories add up to zero, and
the affinity is a product over them: E[BC^s] is the coefficient of w^0 of a product of
p_i BC_i^s. Where they exceed n the released total is larger, and the affinity also
depends on it: at three categories all pairs of counts are added up, beyond the mean is
drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.divergences import (
    affinity_of_counts,
    distance_from_log_affinity,
    hellinger,
)
from dpbayes.laws.convolution import LARGEST_TABLE, AffinityProduct, Tilted, TooWide
from dpbayes.laws.estimate import (
    NEGLIGIBLE,
    Yardstick,
    drawn_mean,
    metric_function,
    power_of_affinity,
)
from dpbayes.laws.finite import ROUNDING, SMALLEST, FiniteLaw
from dpbayes.laws.law import Unlisted
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.powers import DEPTH, mean_from_moments

# Most pairs of released counts that are added up at three categories, some seconds.
LARGEST_SUM = 100_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(ByValue):
    """The distribution of one released count: ln P(start + i) = log_probabilities[i].

    `outside` bounds the probability of counts that are not listed.
    """

    start: int
    log_probabilities: Floats
    outside: float = 0.0

    @property
    def probabilities(self) -> Floats:
        """Probability of each count listed, start … stop - 1, shape (stop - start,)."""
        return np.exp(self.log_probabilities)

    @property
    def stop(self) -> int:
        """One more than the largest count listed."""
        return self.start + self.log_probabilities.size


@dataclass(frozen=True, eq=False, repr=False)
class ProductLaw(ByValue, Unlisted):
    """Counts but the last released with independent noise; the last is clamp(n - their
    sum).

    `marginals` are the k - 1 distributions of the released counts, each within [0, n]
    and the same for equal counts. Where their sum exceeds n the last count is 0 and the
    released total is the sum. Book: `thm-product-law`.
    """

    prior: Floats
    counts: Whole
    marginals: tuple[Marginal, ...]

    @property
    def mass_outside(self) -> float:
        """Bound on the probability of outputs not accounted for: the sum over the
        marginals.
        """
        return float(sum(marginal.outside for marginal in self.marginals))

    @property
    def _n(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def probability_of_excess(self) -> float:
        """Probability that the noisy counts sum to more than n; 1 where no table holds
        the sums.
        """
        try:
            return max(0.0, 1.0 - self._moment(0.0))
        except TooWide:
            return 1.0

    def _affinities(self, place: int) -> Floats:
        marginal = self.marginals[place]
        released = np.arange(marginal.start, marginal.stop)
        return affinity_of_counts(self.prior[place], int(self.counts[place]), released)

    @cached_property
    def _factors(self) -> tuple[Floats, Floats, int, Whole]:
        """Ln p and psi (kinds + 1, width), the first column's step, and the copies.

        Categories but the last with the same prior and count are one kind, with a row
        and so many copies; columns are steps of the released count from the true one.
        The last row is the last category: it has no noise of its own (ln p = 0) and
        takes what the others leave, as far as it has records, so that steps add up to
        0.
        """
        pairs = np.rec.fromarrays([self.prior[:-1], self.counts[:-1]])
        _, places, copies = np.unique(pairs, return_index=True, return_counts=True)
        # The least and the largest step of each kind.
        lows = np.array([self.marginals[i].start - self.counts[i] for i in places])
        highs = np.array([self.marginals[i].stop - 1 - self.counts[i] for i in places])
        # The last category steps by minus the sum of the others, down to 0 records.
        last = int(self.counts[-1])
        own = np.arange(-min(int(copies @ highs), last), 1 - int(copies @ lows))
        # One table has a column for every step that any row can take.
        first = min(int(lows.min()), int(own[0]))
        width = max(int(highs.max()), int(own[-1])) + 1 - first
        shape = places.size + 1, width
        if shape[0] * width > LARGEST_TABLE:
            raise TooWide(f"steps of {width} counts do not fit into a table")
        logs, psi = np.full(shape, -np.inf), np.zeros(shape)
        for row, place in enumerate(places.tolist()):
            some = slice(int(lows[row]) - first, int(highs[row]) + 1 - first)
            logs[row, some] = self.marginals[place].log_probabilities
            psi[row, some] = self._affinities(place)
        some = slice(int(own[0]) - first, int(own[-1]) + 1 - first)
        logs[-1, some] = 0.0
        psi[-1, some] = affinity_of_counts(self.prior[-1], last, last + own)
        return logs, psi, first, np.append(copies, 1)

    def _moment(self, power: float) -> float:
        """Return E[BC^power; the noisy counts sum to at most n]; inf asks for the
        truth.
        """
        if np.isinf(power):
            return float(self.one_probability(self.counts))
        logs, psi, first, copies = self._factors
        tilted = logs + power * psi
        least = tilted.max(axis=1, keepdims=True) - 2.0 * DEPTH
        columns = np.flatnonzero((tilted > least).any(axis=0))
        some = slice(int(columns[0]), int(columns[-1]) + 1)
        return float(
            np.exp(Tilted(tilted[:, some], first + some.start, copies).log_at_zero())
        )

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        """Return E[distance^order] for order 1 or 2, with its error.

        At k = 3 the Hellinger distance is summed over all pairs of the two noisy
        counts. Beyond, where the metric is a power of the affinity and the noisy counts
        almost never exceed n, it is a series: E[d] = sum_s w_s (P - E[BC^s]) with the
        weights of `powers.root_powers`. What exceeds n, of a probability q <=
        `NEGLIGIBLE`, has a distance in [0, 1]: q/2 is added and stated as an error.
        Elsewhere it is drawn.
        """
        if metric_function(metric) is hellinger and self.counts.size == 3:
            sizes = [marginal.log_probabilities.size for marginal in self.marginals]
            if sizes[0] * sizes[1] <= LARGEST_SUM:
                error = self.mass_outside + 1e-12
                return Estimate(self._sum_of_pairs(order), error, "window")
        exponent = power_of_affinity(metric, float(self.prior.sum() + self._n))
        if exponent is None or self.probability_of_excess > NEGLIGIBLE:
            return drawn_mean(self, metric, order)
        gap = AffinityProduct(self.prior, self.counts).gap
        value, error = mean_from_moments(self._moment, order, gap, exponent)
        half = 0.5 * self.probability_of_excess
        return Estimate(
            value + half, error + half + self.mass_outside + 1e-12, "series"
        )

    def _sum_of_pairs(self, order: int) -> float:
        # Both released counts with all their pairs, a row at a time; T decides the
        # third.
        n, (one, other) = self._n, self.marginals
        totals = np.arange(one.start + other.start, one.stop + other.stop - 1)
        last = int(self.counts[-1])
        of_sum = affinity_of_counts(self.prior[-1], last, np.maximum(n - totals, 0))
        beyond = totals > n
        of_sum[beyond] -= affinity_of_counts(float(self.prior.sum()), n, totals[beyond])
        first, second = self._affinities(0), self._affinities(1)
        sums, p = np.zeros(first.size), other.probabilities
        for row, psi in enumerate(first.tolist()):
            logs = np.minimum(second + psi + of_sum[row : row + second.size], 0.0)
            sums[row] = (p * distance_from_log_affinity(logs) ** order).sum()
        return float((one.probabilities * sums).sum())

    def one_probability(self, counts_out: Whole) -> Estimate:
        """Return the probability of one output: the product of its counts'
        probabilities where it sums to n.
        """
        if counts_out[-1] != min(max(self._n - int(counts_out[:-1].sum()), 0), self._n):
            return Estimate(0.0, 0.0, "listed")
        log = 0.0
        for value, marginal in zip(
            counts_out[:-1].tolist(), self.marginals, strict=True
        ):
            if not marginal.start <= value < marginal.stop:
                return Estimate(0.0, self.mass_outside, "window")
            log += float(marginal.log_probabilities[value - marginal.start])
        found = float(np.exp(log))
        rounded = found * ROUNDING * (abs(log) + 2.0 * len(self.marginals)) + SMALLEST
        return Estimate(found, self.mass_outside + rounded, "window")

    def draws(self, rng: np.random.Generator, size: int) -> Whole:
        """Return `size` draws (size, k): independent counts, the rest in the last
        category.
        """
        drawn = np.zeros((size, self.counts.size), dtype=np.int64, order="F")
        for i, marginal in enumerate(self.marginals):
            p, values = marginal.probabilities, np.arange(marginal.start, marginal.stop)
            # Independent draws are a multinomial table of repeats in random order.
            drawn[:, i] = rng.permutation(
                np.repeat(values, rng.multinomial(size, p / p.sum()))
            )
        drawn[:, -1] = np.clip(self._n - drawn.sum(axis=1), 0, self._n)
        return drawn


def product_grid(
    prior: Floats, counts: Whole, marginals: Sequence[Marginal]
) -> FiniteLaw:
    """Return the law of `ProductLaw` with every combination of listed counts as an
    output.

    P = prod_i P_i(r_i) over the k - 1 noisy counts; the last category gets clamp(n -
    their sum, 0, n). The outputs number the product of the sizes of the marginals.
    """
    n = int(counts.sum())
    axes = np.meshgrid(*[np.arange(m.start, m.stop) for m in marginals], indexing="ij")
    columns = [axis.ravel() for axis in axes]
    columns.append(np.clip(n - np.sum(columns, axis=0), 0, n))
    logs = np.asarray(marginals[0].log_probabilities)
    for following in marginals[1:]:
        logs = (logs[:, None] + following.log_probabilities[None, :]).ravel()
    outside = float(sum(marginal.outside for marginal in marginals))
    return FiniteLaw(prior, counts, np.array(columns).T, logs, outside)
