"""Laws of counts with sum-zero noise, projected back to histograms: lattice or Gaussian
noise.

All outputs are listed while they are few. Beyond, the affinity is a product over the
categories, and so is the weight of the noise: where no noisy count is negative the mean
is a short sum of convolutions read at 0. What is clamped is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes.laws import estimate
from dpbayes.laws.convolution import AffinityProduct, TooWide
from dpbayes.laws.estimate import (
    Estimate,
    Yardstick,
    distances_of,
    drawn_mean,
    power_of_affinity,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.law import Unlisted
from dpbayes.laws.powers import mean_from_moments
from dpbayes.laws.sum_zero import LatticeNoise, project
from dpbayes.posteriors import compositions, number_of_candidates, row_of

LARGEST_OUTPUTS = 400_000  # up to so many outputs all are listed
# Most numbers (noise vectors times categories) that are listed and projected, 64 MB.
LARGEST_LIST = 8_000_000
TAIL = 1e-13  # largest probability of noise that is not listed
# The same where all histograms are: an audit asks for less than 1e-12 of the least
# likely one.
COMPLETE_TAIL = 1e-16
_AT_ONCE = 4_096  # numbers that are added one by one

# Noise z with sum 0 whose weight is a product over the categories of e^(-fall(z_i)).
SumZeroNoise = LatticeNoise | GaussianNoise


def log_mass(noise: SumZeroNoise, shifts: Whole) -> Floats:
    """Return ln of the probability of each noise vector (N, k)."""
    total = np.zeros(len(shifts))
    for column in shifts.T:
        total -= noise.fall(column)
    return total - noise.log_normaliser


def listed_law(
    prior: Floats, counts: Whole, noise: SumZeroNoise, projection: str
) -> FiniteLaw | None:
    """Return the law of the projected noisy counts output by output, or None if it is
    too long.
    """
    n, k = int(counts.sum()), counts.size
    if n == 0:  # nothing else can be released
        return FiniteLaw(prior, counts, counts[None], np.zeros(1))
    reach = noise.reach(TAIL)
    if number_of_candidates(n, k) <= LARGEST_OUTPUTS:
        # Reaching n further makes the share of far corners right to relative accuracy
        # too.
        for size in (noise.reach(COMPLETE_TAIL) + n, reach + n, reach):
            if (
                int(counts.min()) >= size
                or noise.number_of_points(size) * k <= LARGEST_LIST
            ):
                return _complete(prior, counts, noise, projection, size)
        return None
    if noise.number_of_points(reach) > LARGEST_OUTPUTS:
        return None
    shifts = noise.points(reach)
    rows, logs = counts + shifts, log_mass(noise, shifts)
    if int(counts.min()) < reach:
        rows, place = np.unique(project(rows, projection), axis=0, return_inverse=True)
        logs = np.log(np.bincount(place.ravel(), np.exp(logs), len(rows)))
    return FiniteLaw(prior, counts, rows, logs, noise.outside(reach))


def _complete(
    prior: Floats, counts: Whole, noise: SumZeroNoise, projection: str, size: int
) -> FiniteLaw:
    outputs = compositions(int(counts.sum()), counts.size)
    logs = log_mass(noise, outputs - counts)
    if int(counts.min()) < size:
        noisy = counts + noise.points(size)
        noisy = noisy[(noisy < 0).any(axis=1)]
        landed = row_of(project(noisy, projection))
        # Relative to the output's own noise, so that far corners do not leave the range
        # of floats.
        shares = np.exp(log_mass(noise, noisy - counts) - logs[landed])
        # In blocks: millions of numbers added one by one lose a digit more.
        sums, step = np.zeros(len(outputs)), max(len(outputs), _AT_ONCE)
        for first in range(0, landed.size, step):
            some = slice(first, first + step)
            sums += np.bincount(landed[some], shares[some], sums.size)
        logs = logs + np.log1p(sums)
    return FiniteLaw(prior, counts, outputs, logs, noise.outside(size))


@dataclass(frozen=True)
class SumZeroLaw(Unlisted):
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
        # E[BC^power; no noisy count is negative]; the power inf asks for the truth.
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
        return Estimate(value + rest, error + rest.error, "drawn")

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
            found = Estimate(self.clamped * mean, self.clamped * error, "drawn")
            most = size * self.counts.size >= estimate.MOST_ENTRIES
            if most or found.error <= estimate.RELATIVE * (found + other):
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
        return project(self.counts + self.noise.draw(rng, size), self.projection)
