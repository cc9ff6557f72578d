"""The part of a lattice law in which some noisy count is negative, without a list of outputs.

The projection lowers all counts to a level t and lets the e largest pay one more. So a noisy
vector y is described by t, the categories that end at 0, and the place where paying stops: the
last payer p and its height y_p. Given these the categories are independent but for two sums, which
two generating functions carry: w counts the released records, sigma the records that clamped
categories were short of. Book: `thm-clamped`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws import growing_root
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.heights import Heights
from dpbayes.laws.lattice.one_output import OneOutput
from dpbayes.laws.lattice.pivots import LARGEST_ARRAY, Level, equal_runs
from dpbayes.laws.lattice.shortening import largest
from dpbayes.laws.lattice.smooth_sums import LONGEST_RULE, smooth_sum
from dpbayes.laws.lattice.wide import NotFollowed, WideNoise
from dpbayes.laws.series.candidate_sums import nearest_gap
from dpbayes.laws.square_root import fitted_root

NEGLECTED = 1e-12
"""Probability of noise beyond the windows, all categories together."""

ALIASES = 3e-14
"""Largest part of a level that lands on a wrong power of a generating function."""

LARGEST_K = 64
"""Products over more categories leave the range of floats."""

LARGEST_WORK = 200_000_000
"""Numbers multiplied for all levels, nodes and powers at once; with more, one by one is sooner."""

LONGEST_REACH = 3_500
"""Beyond this so many levels count that their rounding does."""

_MISSED = 2e-10  # by the powers
_EVALUATED = 400  # longer stretches of levels or heights cost no more, being smooth
_LEVELS_END = 1e-12
_FIRST_LEVELS = 1  # then about twice as many, and so on
_DOUBT = 1e-13  # of each level
_ROUNDING = 1e-11  # of a probability


@dataclass(frozen=True)
class ClampedPart:
    """Moments of the outputs whose noise was clamped, and probabilities of such outputs."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float

    @property
    def reach(self) -> int:
        """How far from its count a noisy count is followed.

        |Z_i| is stochastically smaller than a discrete Laplace variable, whose tail beyond m is
        2 rho^(m+1) / (1 + rho) with rho = e^(-epsilon/2).
        """
        k = self.counts.size
        return int(np.ceil(2.0 / self.epsilon * np.log(2.0 * k / NEGLECTED)))

    @property
    def possible(self) -> bool:
        """Whether any count lies within reach of zero."""
        return int(self.counts.min()) < self.reach

    @cached_property
    def gap(self) -> float:
        """A number c > 0 with BC <= e^-c wherever clamped noise does not end at the truth.

        Some count is released as zero. If all true ones are positive, that alone moves the
        posterior: each category's factor of BC is at most 1.
        """
        if self.counts.min() == 0:
            return nearest_gap(self.prior, self.counts)
        return float(-affinity_of_counts(self.prior, self.counts, np.zeros_like(self.counts)).max())

    @property
    def affordable(self) -> bool:
        """Whether all powers at once take less than one by one, with a check by their sum."""
        k, total = self.counts.size, int(self.counts.sum())
        if k > LARGEST_K or self.reach > LONGEST_REACH or self.wide.quick:
            return False
        levels = min(8 * self.reach // k, _EVALUATED)
        heights, window = min(self.reach, total, _EVALUATED), min(2 * self.reach, total)
        nodes = min(self.reach, k * total)
        powers = fitted_root(self.gap).powers.size if self.possible else 1
        each = heights * self._products_at_a_height() + window * len(self._runs)
        return levels * nodes * powers * each <= LARGEST_WORK

    def _products_at_a_height(self) -> float:
        """Return how many products a height takes, in the mean over those that two windows share.

        Equal categories side by side are multiplied by doubling, three products for each bit.
        """
        first = [i for i, _ in self._runs]
        copies = [copies for _, copies in self._runs]
        products = [3 * c.bit_length() if c > 1 else 1 for c in copies]
        low = np.maximum(self.counts[first] - self.reach, 1)
        ends = self.counts[first] + self.reach + 1
        places = np.unique(np.concatenate((low, ends)))
        met = (low[:, None] <= places[:-1]) & (places[:-1] < ends[:, None])
        lengths = np.diff(places) * (np.array(copies) @ met > 1)
        return float(np.array(products) @ met @ lengths) / max(int(lengths.sum()), 1)

    @property
    def _runs(self) -> list[tuple[int, int]]:
        return equal_runs(self.prior, self.counts)

    @cached_property
    def wide(self) -> WideNoise:
        """The same noise, power by power."""
        return WideNoise(self.prior, self.counts, self.epsilon, self.reach)

    def mean_root(self, exponent: float, mass: float) -> tuple[float, float]:
        """Return E[sqrt(1 - BC^exponent); clamped] and its error; `mass` is that of clamping.

        The error is infinite where the sums would take minutes.
        """
        if self.affordable:
            root = fitted_root(exponent * self.gap)
            moments, each = self.moments(exponent * root.powers, mass)
            return root.mean_root(mass, self._at_truth, moments, each)
        if not self.wide.renewed().possible:
            return mass, np.inf
        try:
            return growing_root.mean_root(
                lambda s: self._wide_moment(exponent * s, mass),
                exponent * self.gap,
                mass,
                lambda: self._at_truth,
                _MISSED,
            )
        except NotFollowed:
            return mass, np.inf

    def mean_power(self, exponent: float, mass: float) -> tuple[float, float]:
        """Return E[BC^exponent; clamped] and its error, as `mean_root` does."""
        if self.affordable:
            moments, error = self.moments([exponent], mass)
            return float(moments[0]), error
        if not self.wide.renewed().possible:
            return 0.0, np.inf
        try:
            return self._wide_moment(exponent, mass)
        except NotFollowed:
            return 0.0, np.inf

    def _wide_moment(self, exponent: float, mass: float) -> tuple[float, float]:
        """Return a moment and its error, unless P(BC = 1) alone is more or P(clamped) less."""
        found, error = self.wide.moment(exponent)
        if not (1.0 - _ROUNDING) * self._at_truth - error <= found <= mass + error + _ROUNDING:
            raise NotFollowed
        return found, error

    @cached_property
    def _at_truth(self) -> float:
        return self.probability(self.counts)

    def moments(self, powers: ArrayLike, mass: float) -> tuple[NDArray[np.float64], float]:
        """Return E[BC^s; clamped] for each power s > 0, and a bound on the error of each.

        `mass` is the probability of clamping; levels are added until it is reached.
        """
        exponents = np.concatenate(([0.0], np.atleast_1d(np.asarray(powers, dtype=np.float64))))
        totals, error = np.zeros(exponents.size), NEGLECTED
        if not self.possible:
            return totals[1:], mass
        first, last = 0, self.reach + int(self.counts.max())
        while first < last and mass - totals[0] > _LEVELS_END:
            end = min(2 * first + _FIRST_LEVELS, last)
            inner = [int(x) for x in np.unique(self.counts) if first < x < end]
            panels = list(pairwise([first, *inner, end]))
            errors = [0.0]
            levels = partial(self._levels, exponents, errors)
            sums, doubt = smooth_sum(levels, panels, _DOUBT * (end - first))
            totals += sums
            error += doubt + max(errors) * (end - first)
            first = end
        return totals[1:], error + abs(mass - float(totals[0]))

    def _levels(
        self, exponents: NDArray[np.float64], errors: list[float], levels: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        found = [self._level(t, exponents) for t in levels.tolist()]
        errors.extend(bound for _, bound in found)
        return np.stack([sums for sums, _ in found], axis=1)

    def _level(self, t: int, exponents: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        total = int(self.counts.sum())
        heights = Heights(self.counts - self.reach, self.counts + self.reach, t, total)
        level = Level(self.prior, self.counts, self.epsilon, t, heights)
        shortfall = level.shortfall_circle()
        records = level.record_circle(0.0, shortfall, None)
        bounds = level.bounds(exponents, records, shortfall) * self._scale
        found, error = np.zeros(exponents.size), ALIASES
        wanted = np.flatnonzero(bounds.sum(axis=1) > ALIASES)
        order = wanted[np.argsort(exponents[wanted], kind="stable")]
        kinks = np.concatenate((self.counts, self.counts + t, self.counts + t + 1))
        while order.size:
            kept, dropped = largest(bounds[order[0]], ALIASES)
            records = level.record_circle(float(exponents[order[0]]), shortfall, kept)
            panels = heights.panels(kept, kinks)
            asked = sum(min(b - a, LONGEST_RULE) for a, b in panels)
            one = (records.nodes // 2 + 1) * shortfall.nodes * asked
            rows = order[: max(1, LARGEST_ARRAY // one)]
            parts = partial(level.parts, exponents[rows], records, shortfall)
            sums, doubt = smooth_sum(parts, panels, _DOUBT / self._scale)
            found[rows] = sums * self._scale
            error = max(error, dropped + 2.0 * ALIASES + doubt * self._scale)
            order = order[rows.size :]
        return found, error

    def probability(self, output: NDArray[np.int64]) -> float:
        """Return the probability that clamped noise ends at this output, right to 12 digits."""
        return OneOutput(self.counts, self.epsilon, output).probability()

    @cached_property
    def _scale(self) -> float:
        return float(np.exp(-noise.log_normaliser(self.counts.size, self.epsilon)))
