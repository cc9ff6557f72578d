"""Laws of projected discrete Gaussian noise: every output listed, or the mean by a series."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, hellinger
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import gaussian, landing
from dpbayes.laws.lattice.projection import project
from dpbayes.laws.lattice.transforms import zero_sum_means
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function
from dpbayes.laws.square_root import square_root_series
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_LIST = 8_000_000
"""Most numbers (noise vectors times categories) that are listed."""

_DEPTH = 40.0
_TINY = 1e-250  # some millions of terms below the floats are no digit of it
_ENTRIES_AT_ONCE = 1 << 22


def listed_law(
    prior: NDArray[np.float64], counts: NDArray[np.int64], variance: float, projection: str
) -> FiniteLaw | None:
    """Return the law of the projected noisy counts output by output, or None if it is too long.

    Every histogram of n records is listed, the far ones to relative accuracy, where that fits;
    what noise beyond the list weighs is in `mass_outside`.
    """
    n, k = int(counts.sum()), counts.size
    if k == 2:
        return _two_categories(prior, counts, variance)
    top = gaussian.reach(variance * (1.0 - 1.0 / k), _DEPTH + np.log(2.0 * k))
    for size in (top + n, top):
        if number_of_candidates(n, k) * k <= LARGEST_LIST and _points(k, size) * k <= LARGEST_LIST:
            return _complete(prior, counts, variance, projection, size)
    return None


def _points(k: int, size: int) -> float:
    return float(2 * size + 1) ** (k - 1)


def _two_categories(
    prior: NDArray[np.float64], counts: NDArray[np.int64], variance: float
) -> FiniteLaw | None:
    # Noise (z, -z) weighs e^(-z^2/v); the ends of 0 … n collect what is clamped to them.
    n, first = int(counts.sum()), int(counts[0])
    width = gaussian.reach(0.5 * variance, 90.0)
    whole = n <= 400_000
    low, high = (0, n) if whole else (max(first - width, 0), min(first + width, n))
    released = np.arange(low, high + 1)
    logs = -((released - first).astype(np.float64) ** 2) / variance
    extra = np.arange(1, width + 1)
    if low == 0:
        logs[0] = logsumexp(np.append(logs[0], -((first + extra) ** 2.0) / variance))
    if high == n:
        logs[-1] = logsumexp(np.append(logs[-1], -((n - first + extra) ** 2.0) / variance))
    logs -= gaussian.log_normaliser(2, variance)
    if n == 0:
        logs = np.zeros(1)
    outside = 0.0 if released.size == n + 1 else float(np.exp(-80.0))
    return FiniteLaw(prior, counts, np.column_stack((released, n - released)), logs, outside)


def _noise_points(k: int, size: int) -> NDArray[np.int64]:
    grid = np.indices((2 * size + 1,) * (k - 1), dtype=np.int64) - size
    free = grid.reshape(k - 1, -1).T
    points = np.column_stack((free, -free.sum(axis=1)))
    return np.asarray(points[np.abs(points[:, -1]) <= size])


def _log_mass(shifts: NDArray[np.int64], variance: float) -> NDArray[np.float64]:
    norms = (shifts.astype(np.float64) ** 2).sum(axis=1)
    return np.asarray(-0.5 * norms / variance - gaussian.log_normaliser(shifts.shape[1], variance))


def _complete(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    variance: float,
    projection: str,
    size: int,
) -> FiniteLaw:
    n, k = int(counts.sum()), counts.size
    outputs = compositions(n, k)
    logs = _log_mass(outputs - counts, variance)
    if int(counts.min()) < size:
        if landing.has_table(n, k, size):
            table = landing.table(n, k, size, k * size, projection)
            landed = table[_shared_cells(n, k, size) + landing.offset(counts, size)]
            moved = landed != landing.STAYED
            rows: NDArray[np.integer[Any]] = landed[moved]
            masses = _shared_masses(k, size, variance)[moved]
        else:
            noisy = counts + _noise_points(k, size)
            noisy = noisy[(noisy < 0).any(axis=1)]
            rows = landing.row_of(project(noisy, projection))
            masses = _log_mass(noisy - counts, variance)
        logs = np.logaddexp(logs, _log_sums(rows, masses, len(outputs)))
    far = size**2 / (2.0 * variance * (1.0 - 1.0 / k))
    return FiniteLaw(prior, counts, outputs, logs, float(2 * k * np.exp(-far)))


def _log_sums(
    rows: NDArray[np.integer[Any]], logs: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return for each of `size` rows the log of the sum of e^logs there, -inf where nothing is.

    Sums are formed as numbers where what floats lose below is none of their digits, else as logs.
    """
    sums = np.bincount(rows, np.exp(logs), size)
    with np.errstate(divide="ignore"):
        result = np.log(sums)
    tiny = (sums < _TINY)[rows]
    if tiny.any():
        rows, logs = rows[tiny], logs[tiny]
        order = np.argsort(rows, kind="stable")
        starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
        result[rows[order][starts]] = np.logaddexp.reduceat(logs[order], starts)
    return np.asarray(result)


@functools.lru_cache(maxsize=2)
def _shared_cells(n: int, k: int, size: int) -> NDArray[np.int64]:
    return _validate.frozen(landing.cells(_noise_points(k, size), n, size))


@functools.lru_cache(maxsize=2)
def _shared_masses(k: int, size: int, variance: float) -> NDArray[np.float64]:
    return _validate.frozen(_log_mass(_noise_points(k, size), variance))


def _rounding(k: int) -> float:
    # The exponent of a product over k categories is rounded in proportion to k.
    return max(1e-12, 2e-15 * k)


@dataclass(frozen=True)
class GaussianLatticeLaw(Unlisted):
    """The law where the outputs are too many to list; the mean as in `thm-lattice-mean`.

    `clamped` is the probability that some noisy count is negative; what the projection does then
    is covered by the stated error.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    noise_variance: float
    projection: str

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected distance between released and true posterior."""
        if metric_function(metric) is hellinger:
            value, clamped = self._series()
            if clamped <= 1e-4:
                return self._estimate(value, clamped)
        return drawn_mean(self, metric)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected square of the distance."""
        distance, clamped = metric_function(metric), self.clamped
        if distance is not hellinger or clamped > 1e-4:
            return drawn_mean(self, lambda a, b: distance(a, b) ** 2)
        inside, affinity = self._means(*self._columns(), np.array([0.0, 1.0]))
        return self._estimate(inside - affinity, clamped)

    def _estimate(self, inside: float, clamped: float) -> Estimate:
        # What is clamped is between 0 and 1 away. A distance is not negative, whatever rounding is.
        error = 0.5 * clamped + _rounding(self.counts.size)
        return Estimate(max(inside + 0.5 * clamped, 0.0), error, "series")

    @property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        return self._series()[1]

    def _columns(self) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
        top = gaussian.reach(self.noise_variance, _DEPTH)
        steps = np.arange(-top, top + 1)
        return [self._affinities(i, steps) for i in range(self.counts.size)], steps

    def _series(self) -> tuple[float, float]:
        columns, steps = self._columns()
        least = -max(float(column[steps != 0].max()) for column in columns)
        series = square_root_series(40.0 / least)
        means = self._means(columns, steps, np.concatenate(([0.0], series.powers)))
        at_truth = np.exp(-gaussian.log_normaliser(self.counts.size, self.noise_variance))
        value = series.mean_root(means[0] - means[1:], float(means[0]) - at_truth)
        return value, max(0.0, 1.0 - float(means[0]))

    def _affinities(self, i: int, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        logs = np.full(steps.size, -np.inf)
        allowed = steps >= -self.counts[i]
        logs[allowed] = affinity_by_step(float(self.prior[i] + self.counts[i]), steps[allowed])
        return logs

    def _means(
        self,
        columns: list[NDArray[np.float64]],
        steps: NDArray[np.int64],
        powers: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        weights = gaussian.log_weights(self.noise_variance, steps)
        scale = -gaussian.log_normaliser(len(columns), self.noise_variance)
        return zero_sum_means(columns, steps, weights, powers, scale)

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability of these counts; all must be positive, as in `LatticeLaw`."""
        if counts_out.sum() != self.counts.sum():
            return Estimate(0.0, 0.0, "sum")
        if counts_out.min() == 0:
            raise ValueError(
                f"counts_out must be positive at this size, got {counts_out.tolist()}: outputs "
                "with an empty category are only listed for smaller n or k"
            )
        shift = (counts_out - self.counts)[None, :]
        value = float(np.exp(_log_mass(shift, self.noise_variance)[0]))
        return Estimate(value, 1e-12 * value, "sum")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return independent released histograms, shape (size, k), for experiments."""
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        shifts = draw(generator, self.counts.size, self.noise_variance, number)
        return project(self.counts + shifts, self.projection)


def draw(rng: np.random.Generator, k: int, variance: float, size: int) -> NDArray[np.int64]:
    """Return `size` draws of the noise, shape (size, k), in blocks of rows that fit into memory."""
    top = gaussian.reach(variance, _DEPTH)
    steps = np.arange(-top, top + 1)
    weights = np.exp(gaussian.log_weights(variance, steps))
    rows = max(_ENTRIES_AT_ONCE // k, 1)
    drawn = np.empty((size, k), dtype=np.int64)
    for first in range(0, size, rows):
        block = drawn[first : first + rows]
        _fill(rng, block, np.zeros(len(block), dtype=np.int64), weights / weights.sum())
    return drawn


def _fill(
    rng: np.random.Generator,
    rows: NDArray[np.int64],
    totals: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> None:
    """Fill rows with independent steps, given that they sum to `totals`.

    Half of the entries are drawn as they come and kept in proportion to the probability that the
    others make up the total; then these are drawn in the same way. About half of all draws are
    kept, however many entries there are.
    """
    k, top = rows.shape[1], weights.size // 2
    if k == 1:
        rows[:, 0] = totals
        return
    half, cumulative = k // 2, np.cumsum(weights)
    others = _sum_law(weights, k - half)
    wanted, missing = np.empty_like(totals), np.arange(len(rows))
    while missing.size:
        uniform = rng.random((missing.size, half)) * cumulative[-1]
        steps = np.searchsorted(cumulative, uniform, side="right") - top
        left = totals[missing] - steps.sum(axis=1)
        within = np.abs(left) <= others.size // 2
        chances = np.where(within, others[np.where(within, left, 0) + others.size // 2], 0.0)
        kept = rng.random(missing.size) * others.max() < chances
        rows[missing[kept], :half], wanted[missing[kept]] = steps[kept], left[kept]
        missing = missing[~kept]
    _fill(rng, rows[:, half:], wanted, weights)


def _sum_law(weights: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the probabilities of the sum of k steps, from its least value to its largest."""
    if k == 1:
        return weights
    size = k * (weights.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    return np.maximum(np.fft.irfft(np.fft.rfft(weights, length) ** k, length)[:size], 0.0)
