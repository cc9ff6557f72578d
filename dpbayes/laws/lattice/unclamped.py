"""Moments of BC where no noisy count is negative: a convolution read at zero.

Book: `thm-lattice-mean`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws import growing_root
from dpbayes.laws.lattice import noise, sizes, transforms
from dpbayes.laws.lattice.prefixes import Category
from dpbayes.laws.lattice.unclamped_sums import unclamped_moment
from dpbayes.laws.series.candidate_sums import nearest_gap

TAIL = 1e-16
LONGEST_SERIES = 20_000
"""The reach of noise beyond which panels are shorter than transforms."""

_FEW = 10  # categories whose sets are gone through
_MISSED = 1e-10  # by the powers
_TRANSFORMED = 1e-13  # left in doubt by a transform
_SHORTER = 4  # so much shorter windows are worth another way to the power 0


@dataclass(frozen=True)
class UnclampedPart:
    """The noise at these true counts that makes none of them negative."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float

    @property
    def reach(self) -> int:
        """How far the noise is followed."""
        return noise.radius(self.counts.size, self.epsilon, TAIL)

    def columns(self, power: float) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
        """Return ln BC of each category at steps of the noise, and these steps.

        Where BC^`power` feels only a small part of what the noise reaches, the steps end there:
        what is beyond adds at most e^-45 for each category.
        """
        steps = np.arange(-self._far(power), self._far(power) + 1)
        columns = []
        for prior, count in zip(self.prior, self.counts.tolist(), strict=True):
            logs = np.full(steps.size, -np.inf)
            allowed = steps >= -count
            logs[allowed] = affinity_of_counts(prior, count, count + steps[allowed])
            columns.append(logs)
        return columns, steps

    def _far(self, power: float) -> int:
        reach, far = self.reach, 1
        for prior, count in zip(self.prior.tolist(), self.counts.tolist(), strict=True):
            felt = Category(prior, count, reach, power)
            far = max(far, count - felt.first, felt.last - count)
        return far if _SHORTER * far < reach else reach

    @property
    def nearest(self) -> float:
        """The least -ln BC of one category that noise moves, by one record."""
        found = np.inf
        for prior, count in zip(self.prior, self.counts.tolist(), strict=True):
            moved = count + np.array([1] if count == 0 else [-1, 1])
            found = min(found, float(-affinity_of_counts(prior, count, moved).max()))
        return found

    def means(self, powers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E[BC^j; no noisy count is negative] for each power j >= 0, in rising order.

        >>> part = UnclampedPart(np.ones(3), np.array([1, 2, 3]), 1e-3)
        >>> each = part.means(np.array([0.0, 1.0]))
        >>> bool(np.allclose(each, [part.means(np.array([j]))[0] for j in (0.0, 1.0)], rtol=1e-9))
        True
        """
        some = powers > 0.0
        if some.any() and self._far(float(powers[some][0])) < self.reach:
            means = np.full(powers.size, self._inside)
            means[some] = self._transformed(powers[some])
            return means
        inside = _SHORTER * int(self.counts.sum()) < self.reach or self.wide
        if not some.any() and inside:
            return np.full(powers.size, self._inside)
        return self._transformed(powers)

    @property
    def _inside(self) -> float:
        """Probability that no noisy count is negative."""
        if self.wide and self.counts.size <= _FEW:
            return 1.0 - sizes.probability_clamped(self.counts, self.epsilon)
        return noise.probability_inside(self.counts, self.epsilon)

    @property
    def wide(self) -> bool:
        """Whether panels are shorter than transforms."""
        return self.reach > LONGEST_SERIES

    def mean_root(self, exponent: float, inside: float, at_truth: float) -> tuple[float, float]:
        """Return E[sqrt(1 - BC^exponent); no noisy count is negative], and its error.

        `inside` is the probability of that, `at_truth` that of no noise.
        """
        gap = exponent * nearest_gap(self.prior, self.counts)
        return growing_root.mean_root(
            lambda power: self.moment(exponent * power), gap, inside, lambda: at_truth, _MISSED
        )

    def moment(self, power: float) -> tuple[float, float]:
        """Return E[BC^power; no noisy count is negative] for a power > 0, and its error."""
        if not self.wide:
            return float(self.means(np.array([power]))[0]), _TRANSFORMED
        return unclamped_moment(self.prior, self.counts, self.epsilon, self.reach, power)

    def _transformed(self, powers: NDArray[np.float64]) -> NDArray[np.float64]:
        columns, steps = self.columns(float(powers[0]))
        base = -0.5 * self.epsilon * np.abs(steps)
        scale = -noise.log_normaliser(len(columns), self.epsilon)
        return transforms.zero_sum_means(columns, steps, base, powers, scale)
