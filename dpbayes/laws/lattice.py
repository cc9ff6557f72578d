"""Laws of counts with sum-zero noise, projected back to histograms: lattice or Gaussian noise.

All outputs are listed while they are few. Beyond, the affinity is a product over the categories,
and so is the weight of the noise: where no noisy count is negative the mean is a short sum of
convolutions read at 0. What is clamped is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.affinities import row_sums
from dpbayes.laws.convolution import AffinityProduct, Tilted, TooWide
from dpbayes.laws.estimate import MOST_ENTRIES, RELATIVE, SEED, Estimate, distances_of, drawn_mean
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.gaussian import GaussianNoise
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, power_of_affinity
from dpbayes.laws.powers import DEPTH, root_powers
from dpbayes.laws.projection import project
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_OUTPUTS = 400_000
"""Up to so many outputs all are listed."""

LARGEST_LIST = 8_000_000
"""Most numbers (noise vectors times categories) that are listed and projected, 64 MB."""

TAIL = 1e-13
"""Largest probability of noise that is not listed."""

COMPLETE_TAIL = 1e-16
"""The same where all histograms are: an audit asks for less than 1e-12 of the least likely one."""

NEGLIGIBLE = 1e-9
"""So small a probability of a negative count is halved, and its half stated as the error."""

_MOSTLY = 0.5  # mean number of negative counts from which on everything is drawn
_BLOCK = 4_096  # numbers that are added one by one
_FIRST = 4_000  # draws of what is clamped, doubled until they are enough


SumZeroNoise = LatticeNoise | GaussianNoise
"""Noise z with sum 0 whose weight is a product over the categories of e^(-fall(z_i))."""


def log_mass(noise: SumZeroNoise, shifts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln of the probability of each noise vector (N, k)."""
    total = np.zeros(len(shifts))
    for column in shifts.T:
        total -= noise.fall(column)
    return total - noise.log_normaliser


def listed_law(
    prior: NDArray[np.float64], counts: NDArray[np.int64], noise: SumZeroNoise, projection: str
) -> FiniteLaw | None:
    """Return the law of the projected noisy counts output by output, or None if it is too long.

    All histograms are listed where they are few, else the outputs within reach of the noise; what
    is not listed has probability at most `mass_outside`.
    """
    n, k = int(counts.sum()), counts.size
    if n == 0:  # nothing else can be released
        return FiniteLaw(prior, counts, counts[None], np.zeros(1))
    reach = noise.reach(TAIL)
    if number_of_candidates(n, k) <= LARGEST_OUTPUTS:
        # Reaching n further makes the share of far corners right to relative accuracy too.
        for size in (noise.reach(COMPLETE_TAIL) + n, reach + n, reach):
            if int(counts.min()) >= size or noise.number_of_points(size) * k <= LARGEST_LIST:
                return _complete(prior, counts, noise, projection, size)
        return None
    if noise.number_of_points(reach) > LARGEST_OUTPUTS:
        return None
    shifts = noise.points(reach)
    rows, place = np.unique(project(counts + shifts, projection), axis=0, return_inverse=True)
    logs = np.log(np.bincount(place.ravel(), np.exp(log_mass(noise, shifts)), len(rows)))
    return FiniteLaw(prior, counts, rows, logs, noise.outside(reach))


def _complete(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    noise: SumZeroNoise,
    projection: str,
    size: int,
) -> FiniteLaw:
    outputs = compositions(int(counts.sum()), counts.size)
    logs = log_mass(noise, outputs - counts)
    if int(counts.min()) < size:
        noisy = counts + noise.points(size)
        noisy = noisy[(noisy < 0).any(axis=1)]
        landed = row_of(project(noisy, projection))
        # Relative to the output's own noise, so that far corners do not leave the range of floats.
        shares = np.exp(log_mass(noise, noisy - counts) - logs[landed])
        logs = logs + np.log1p(_sums(landed, shares, len(outputs)))
    return FiniteLaw(prior, counts, outputs, logs, noise.outside(size))


def _sums(places: NDArray[np.int64], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    # In blocks: millions of numbers added one by one lose a digit more.
    found, step = np.zeros(size), max(size, _BLOCK)
    for first in range(0, places.size, step):
        some = slice(first, first + step)
        found += np.bincount(places[some], values[some], size)
    return found


def row_of(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each histogram in the lexicographic table of its total.

    >>> row_of(np.array([[0, 0, 2], [2, 0, 0]])).tolist()
    [0, 5]
    """
    # C(a + p, p + 1) counts what starts lower, for a records left and p places after this one.
    k, left = rows.shape[1], row_sums(rows)
    index = np.zeros(len(rows))
    for column in range(k - 1):
        after, rest = k - column - 1, left - rows[:, column]
        index += _rising(left, after) - _rising(rest, after)
        left = rest
    return np.rint(index).astype(np.int64)


def _rising(records: NDArray[np.int64], places: int) -> NDArray[np.float64]:
    value = np.ones(records.size)
    for i in range(1, places + 1):
        value = value * (records + i) / i
    return value


@dataclass(frozen=True)
class SumZeroLaw(Unlisted):
    """The law of projected sum-zero noise on counts too many to list; book: `thm-lattice-mean`.

    Where noise makes no count negative the mean is a series; the rest, whose probability `clamped`
    is known, is bounded by it or drawn, with a standard error.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
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
        # The exponent of a product over k categories is rounded in proportion to k.
        return max(1e-12, 1e-14 * self.counts.size)

    @cached_property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        inside = 1.0 - self._moment(0.0)
        return inside if inside > self._rounding else 0.0

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 1)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        return self._mean(metric, 2)

    def _mean(self, metric: Yardstick, order: int) -> Estimate:
        exponent = power_of_affinity(metric, float(self.prior.sum() + self.counts.sum()))
        strata = None if exponent is None else self._strata
        if exponent is None or strata is None or sum(part.mean for part in strata) > _MOSTLY:
            return drawn_mean(self, metric, order)
        value, error = self._unclamped(exponent, order)
        if self.clamped <= NEGLIGIBLE:
            half = 0.5 * self.clamped
            return Estimate(value + half, error + half, "series")
        rest = self._clamped_mean(strata, metric, order, value)
        return Estimate(value + rest, error + rest.error, "drawn")

    def _unclamped(self, exponent: float, order: int) -> tuple[float, float]:
        """Return E[distance^order; no noisy count is negative] and its largest error."""
        inside = self._moment(0.0)
        if order == 2:
            return max(inside - self._moment(exponent), 0.0), self._rounding
        found = root_powers(self._product.gap, exponent)
        missing = [inside - self._moment(power) for power in found.powers.tolist()]
        value = max(float(found.weights[0] @ missing), 0.0)
        return value, value * float(found.errors[0]) + self._rounding

    @cached_property
    def _strata(self) -> list[Stratum] | None:
        # None where the tables are too large: then everything is drawn.
        try:
            self._moment(0.0)
            return [
                stratum
                for x in np.unique(self.counts).tolist()
                if self.noise.fall(np.array([x]))[0] <= 2.0 * DEPTH
                and (stratum := Stratum.of(self.noise, self.counts, x)).mean > 1e-18
            ]
        except TooWide:
            return None

    def _clamped_mean(
        self, strata: list[Stratum], metric: Yardstick, order: int, other: float
    ) -> Estimate:
        """Return E[distance^order; some noisy count is negative], drawn.

        It is P(clamped) less the sum over the categories of P(its count is negative) times the
        mean, given that, of (1 - distance^order) over the number of negative counts. What none of
        m draws showed may have probability 1 / m: the standard error allows for it.
        """
        rng, values = np.random.default_rng(SEED), [np.zeros(0) for _ in strata]
        total, size = sum(stratum.mean for stratum in strata), _FIRST
        while True:
            for place, stratum in enumerate(strata):
                wanted = int(np.ceil(size * stratum.mean / total)) + 30 - values[place].size
                noisy = self.counts + stratum.draw(rng, self.counts, max(wanted, 0))
                near = 1.0 - distances_of(self, project(noisy, self.projection), metric) ** order
                values[place] = np.append(values[place], near / (noisy < 0).sum(axis=1))
            parts = list(zip(strata, values, strict=True))
            mean = self.clamped - sum(s.mean * v.mean() for s, v in parts)
            square = sum(s.mean**2 * (v.var(ddof=1) + 1.0 / v.size) / v.size for s, v in parts)
            error = float(np.sqrt(square))
            if error <= RELATIVE * (mean + other) or size * self.counts.size >= MOST_ENTRIES:
                return Estimate(float(mean), error, "drawn")
            size *= 2

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability that exactly these counts are released.

        A positive output comes from one noise vector only; an output with an empty category from
        many, which are not added up: ValueError.
        """
        if counts_out.sum() != self.counts.sum():
            return Estimate(0.0, 0.0, "listed")
        if counts_out.min() == 0:
            raise ValueError(
                f"counts_out must be positive at this size, got {counts_out.tolist()}: an output "
                "with an empty category collects noise that was clamped, which is only listed for "
                "smaller n or k"
            )
        value = float(np.exp(log_mass(self.noise, (counts_out - self.counts)[None])[0]))
        return Estimate(value, self._rounding * value, "listed")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        return project(self.counts + self.noise.draw(generator, number), self.projection)


@dataclass(frozen=True)
class Stratum:
    """Noise that makes a category of `count` records negative; `mean` such categories there are."""

    count: int
    mean: float
    tilted: Tilted

    @classmethod
    def of(cls, noise: SumZeroNoise, counts: NDArray[np.int64], count: int) -> Stratum:
        """Return the stratum of a count, its probability from one convolution read at 0."""
        k, reach = counts.size, 2 * count + 8
        while True:
            d = np.arange(-reach, reach + 1)
            free = -noise.fall(d)
            rows = np.stack((free, np.where(d < -count, free, -np.inf)))
            tilted = Tilted(rows, -reach, np.array([k - 1, 1]))
            if tilted.outside <= np.exp(-DEPTH):
                break
            reach *= 2
        probability = float(np.exp(tilted.log_at_zero() - noise.log_normaliser))
        return cls(count, probability * np.count_nonzero(counts == count), tilted)

    def draw(
        self, rng: np.random.Generator, counts: NDArray[np.int64], size: int
    ) -> NDArray[np.int64]:
        """Return noise (size, k) with one of the categories of this count, at random, negative."""
        drawn = self.tilted.draw(rng, size)
        chosen = rng.choice(np.flatnonzero(counts == self.count), size)
        row = np.arange(size)
        drawn[row, -1], drawn[row, chosen] = drawn[row, chosen], drawn[row, -1]
        return drawn
