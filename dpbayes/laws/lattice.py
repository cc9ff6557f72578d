"""Laws of counts with sum-zero noise, projected back to histograms: lattice or Gaussian
noise.

All outputs are listed while they are few. Beyond, the affinity is a product over the
categories, and so is the weight of the noise: where no noisy count is negative the mean
is a short sum of convolutions read at 0. What is clamped is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import factorial, inf

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.laws import estimate
from dpbayes.laws.convolution import AffinityProduct, TooWide
from dpbayes.laws.estimate import (
    Yardstick,
    distances_of,
    drawn_mean,
    power_of_affinity,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.landing import landings, number_of_vectors
from dpbayes.laws.law import Unlisted
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.powers import mean_from_moments
from dpbayes.laws.sum_zero import LatticeNoise, project
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_OUTPUTS = 400_000  # up to so many outputs all are listed
# Most numbers (noise or landing vectors, times categories) that are listed, 64 MB.
LARGEST_LIST = 8_000_000
LARGEST_SUM = 60_000_000  # most landing vectors times levels: some seconds
MOST_LEVELS = 5_000
TAIL = 1e-13  # largest probability of noise that is not listed
# The same where all histograms are: an audit asks for less than 1e-12 of the least
# likely one.
COMPLETE_TAIL = 1e-16

# Noise z with sum 0 whose weight is a product over the categories of e^(-fall(z_i)).
SumZeroNoise = LatticeNoise | GaussianNoise


def log_mass(noise: SumZeroNoise, shifts: Whole) -> Floats:
    """Return ln P(Z = z) of each noise vector z in `shifts` (N, k), shape (N,).

    -sum_i fall(z_i) - ln of the sum of all weights.
    """
    total = np.zeros(len(shifts))
    for column in shifts.T:
        total -= noise.fall(column)
    return total - noise.log_normaliser


def listed_law(
    prior: Floats, counts: Whole, noise: SumZeroNoise, projection: str
) -> FiniteLaw | None:
    """Return the law of the projected noisy counts output by output, or None if it is
    too long.

    Where there are few histograms all are listed, with all the noise that lands on
    each; else those that noise of probability 1 - `TAIL` leads to.
    """
    n, k = int(counts.sum()), counts.size
    if n == 0:  # nothing else can be released
        return FiniteLaw(prior, counts, counts[None], np.zeros(1))
    if number_of_candidates(n, k) <= LARGEST_OUTPUTS:
        depth = depth_of(n, noise, projection)
        return None if depth is None else _all(prior, counts, noise, projection, depth)
    reach = noise.reach(TAIL)
    if noise.number_of_points(reach) > LARGEST_OUTPUTS:
        return None
    shifts = noise.points(reach)
    rows, logs = counts + shifts, log_mass(noise, shifts)
    if int(counts.min()) < reach:
        rows, place = np.unique(project(rows, projection), axis=0, return_inverse=True)
        logs = np.log(np.bincount(place.ravel(), np.exp(logs), len(rows)))
    return FiniteLaw(prior, counts, rows, logs, noise.outside(reach))


@lru_cache(maxsize=64)  # asked for the same n by each law of an audit
def depth_of(n: int, noise: SumZeroNoise, projection: str) -> int | None:
    """Return how many records noise may clamp in a list of all n, or None if it is too
    long.

    "l2" has no limit, and 0 is returned. For "l1" the depth decides how far corners are
    right to relative accuracy.
    """
    if projection == "l2":
        vectors = number_of_vectors(n, noise.k, projection, 0)
        few = vectors * noise.k <= LARGEST_LIST and noise.levels() <= MOST_LEVELS
        return 0 if few and vectors * noise.levels() <= LARGEST_SUM else None
    for depth in (noise.reach(COMPLETE_TAIL) + n, noise.reach(TAIL)):
        vectors = number_of_vectors(n, noise.k, projection, depth)
        if vectors * noise.k <= LARGEST_LIST:
            return depth
    return None


def partitions(n: int, k: int) -> list[int]:
    """Return in how many ways 0, 1, ..., n are sums of k counts in no order.

    >>> partitions(5, 2)
    [1, 1, 2, 2, 3, 3]
    """
    ways = [1] + [0] * n
    for part in range(1, k + 1):
        for total in range(part, n + 1):
            ways[total] += ways[total - part]
    return ways


def seconds_of_all(n: int, noise: SumZeroNoise, projection: str) -> float:
    """Return about how many processor seconds the laws of all data sets of n records
    take, with all pairs compared; inf where they cannot be listed.

    From times measured at k = 3 to 15, right within a factor of two. The sums over
    levels are taken once for data sets that differ in the order of their categories,
    the weight of what is clamped once for each choice of counts, by convolutions that
    are as long as there are levels, and each data set lists its outputs.
    """
    depth, k = depth_of(n, noise, projection), noise.k
    if depth is None:
        return inf
    sets = number_of_candidates(n, k)
    vectors = number_of_vectors(n, k, projection, depth)
    levels, sums = noise.levels(), 1
    if projection == "l1":
        levels, sums = 1, depth
    unordered = partitions(n, k)[n]
    rests = sum(
        sum(partitions(n, b))
        * max(k - b, sums)
        * (1e-5 + 4e-11 * (b - 2) * (b * levels) ** 2)
        for b in range(2, k)
    )
    summed = unordered * (4e-9 * vectors * k + 1e-5 * k) + rests
    reordered = 2e-7 * vectors * min(sets, factorial(k))
    return levels * summed + reordered + sets * (4e-8 * (vectors + sets) + 2e-4)


def _all(
    prior: Floats, counts: Whole, noise: SumZeroNoise, projection: str, depth: int
) -> FiniteLaw:
    """Return the law with all histograms listed, and on each all the noise that lands
    there.
    """
    n = int(counts.sum())
    outputs = compositions(n, counts.size)
    logs, landing = (
        log_mass(noise, outputs - counts),
        landings(n, noise, projection, depth),
    )
    # Relative to the output's own noise, so that far corners do not leave the range of
    # floats. What lands on an output without empty categories is that noise alone.
    here = landing.log_weights(counts) - noise.log_normaliser - logs[landing.landed]
    sums = np.bincount(landing.landed, np.exp(here), len(outputs))
    empty = sums > 0.0
    logs[empty] += np.log(sums[empty])
    outside = 0.0 if projection == "l2" else noise.outside(depth)
    return FiniteLaw(prior, counts, outputs, logs, outside)


@dataclass(frozen=True, eq=False, repr=False)
class SumZeroLaw(ByValue, Unlisted):
    """The law of projected sum-zero noise on counts too many to list; book:
    `thm-lattice-mean`.

    Where noise makes no count negative the mean is a series; the rest, whose
    probability `clamped` is known, is bounded by it or drawn, with a standard error.
    """

    prior: Floats
    counts: Whole
    noise: SumZeroNoise
    projection: str = "l2"

    @cached_property
    def _product(self) -> AffinityProduct:
        return AffinityProduct(self.prior, self.counts, self.noise.fall)

    @cached_property
    def _found(self) -> dict[float, float]:
        return {}

    def _moment(self, power: float) -> float:
        """Return E[BC^power; no noisy count is negative]; the power inf asks for the
        truth.
        """
        if power not in self._found:
            log = 0.0 if np.isinf(power) else self._product.tilted(power).log_at_zero()
            self._found[power] = float(np.exp(log - self.noise.log_normaliser))
        return self._found[power]

    @property
    def _rounding(self) -> float:
        return max(
            1e-12, 1e-14 * self.counts.size
        )  # an exponent is a sum over k categories

    @cached_property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative; 1 where no table holds
        the sums.
        """
        try:
            clamped = 1.0 - self._moment(0.0)
        except TooWide:
            return 1.0
        return clamped if clamped > self._rounding else 0.0

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        """Return E[distance^order]: a series where nothing is clamped, what is clamped
        is bounded by its probability or drawn.
        """
        exponent = power_of_affinity(
            metric, float(self.prior.sum() + self.counts.sum())
        )
        if exponent is None or self.clamped > 0.5:
            return drawn_mean(self, metric, order)
        value, error = mean_from_moments(
            self._moment, order, self._product.gap, exponent
        )
        error += self._rounding
        if self.clamped <= estimate.NEGLIGIBLE:
            half = 0.5 * self.clamped
            return Estimate(value + half, error + half, "series")
        rest = self._clamped_mean(metric, order, value)
        return Estimate.drawn(value + rest, rest.standard_error, error)

    def _clamped_mean(self, metric: Yardstick, order: int, other: float) -> Estimate:
        """Return E[distance^order; some noisy count is negative], drawn.

        It is P(clamped) times the mean of the draws that are. What none of m of them
        showed may have probability 1 / m; of less than two nothing is known but that it
        lies in [0, 1].
        """
        rng, size, values = np.random.default_rng(estimate.SEED), 0, np.zeros(0)
        while True:
            noisy = self.counts + self.noise.draw(rng, estimate.BLOCK)
            noisy = noisy[(noisy < 0).any(axis=1)]
            far = distances_of(self, project(noisy, self.projection), metric) ** order
            size, values = size + estimate.BLOCK, np.append(values, far)
            mean, error = 0.5, 0.5
            if values.size > 1:
                mean = float(values.mean())
                error = float(
                    np.sqrt((values.var(ddof=1) + 1.0 / values.size) / values.size)
                )
            found = Estimate.drawn(self.clamped * mean, self.clamped * error)
            most = size * self.counts.size >= estimate.MOST_ENTRIES
            if most or found.standard_error <= estimate.RELATIVE * (found + other):
                return found

    def one_probability(self, counts_out: Whole) -> Estimate:
        """Return the probability that exactly these counts are released.

        A positive output comes from one noise vector only; an output with an empty
        category from many, which are not added up: ValueError.
        """
        if counts_out.sum() != self.counts.sum():
            return Estimate(0.0, 0.0, "listed")
        if counts_out.min() == 0:
            raise ValueError(
                f"counts_out must be positive at this size, got {counts_out.tolist()}:"
                " an output with an empty category collects noise that was clamped,"
                " which is only listed for smaller n or k"
            )
        value = float(np.exp(log_mass(self.noise, (counts_out - self.counts)[None])[0]))
        return Estimate(value, self._rounding * value, "listed")

    def draws(self, rng: np.random.Generator, size: int) -> Whole:
        """Return `size` draws (size, k) of project(x + Z): noise on the counts, then
        projected.
        """
        return project(self.counts + self.noise.draw(rng, size), self.projection)
