"""The exact law of sum-zero noise on counts too many to list: means and single outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import (
    affinity_exponent,
    distance_from_log_affinity,
    hellinger,
    hellinger_published,
)
from dpbayes.laws.estimate import Estimate, drawn_mean
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.clamped import ClampedPart
from dpbayes.laws.lattice.few import LARGEST_K, FewCategories
from dpbayes.laws.lattice.listed import log_mass
from dpbayes.laws.lattice.projection import project
from dpbayes.laws.lattice.unclamped import LONGEST_SERIES, TAIL, UnclampedPart
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function
from dpbayes.laws.square_root import square_root_series

_NEGLIGIBLE = 1e-12
_UNSURE = 1e-6  # a sum this wrong has lost its digits
_SMALL = 1e-4
_ROUNDING = 1e-12


@dataclass(frozen=True)
class LatticeLaw(Unlisted):
    """The law of sum-zero noise on counts too many to list; book: `thm-lattice-mean`.

    With BC a product over categories, E[BC^j] is a sum of products over the vectors that sum to
    0, that is a convolution read at 0. Where noise makes a count negative, which has probability
    `clamped`, the l2 projection is followed level by level (`thm-clamped`); at two to four
    categories all outputs are summed by panels (`thm-few-categories`). Other projections, and noise
    too wide for the levels, are averaged over draws there, with a stated error.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float
    projection: str

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected distance between released and true posterior."""
        distance = metric_function(metric)
        if distance is hellinger or distance is hellinger_published:
            exponent = self._exponent_of(distance)
            if self._few is not None:
                root = partial(distance_from_log_affinity, exponent=exponent)
                return self._few.mean(root, exponent)
            if self._to_be_drawn:
                return drawn_mean(self, metric)
            value, clamped, doubt = self._series(exponent)
            if clamped <= _NEGLIGIBLE:
                return Estimate(value + 0.5 * clamped, 0.5 * clamped + doubt, "series")
            if self.projection == "l2":
                rest, error = self._part.mean_root(exponent, self.clamped)
                if error <= _UNSURE:
                    return Estimate(value + rest, error + doubt, "series")
            if clamped <= _SMALL:
                return Estimate(value + 0.5 * clamped, 0.5 * clamped + doubt, "series")
        return drawn_mean(self, metric)

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the expected square of the distance, 1 - E[BC^kappa]."""
        distance = metric_function(metric)
        if distance is hellinger or distance is hellinger_published:
            if self._few is not None:
                exponent = self._exponent_of(distance)
                return self._few.mean(lambda logs: -np.expm1(exponent * logs), exponent)
            inside = float(self._free.means(np.zeros(1))[0])
            affinity, doubt = self._free.moment(self._exponent_of(distance))
            value, clamped = inside - affinity, max(1.0 - inside, 0.0)
            doubt += self._rounding
            if clamped > _NEGLIGIBLE and self.projection == "l2":
                power, error = self._part.mean_power(self._exponent_of(distance), clamped)
                if error <= _UNSURE:
                    value += clamped - power
                    return Estimate(value, error + doubt, "series")
            if clamped <= _SMALL:
                return Estimate(value + 0.5 * clamped, 0.5 * clamped + doubt, "series")
        return drawn_mean(self, lambda a, b: distance(a, b) ** 2)

    @property
    def error_bound(self) -> float:
        """Largest error of the mean Hellinger distance."""
        return self.mean_distance().error

    @property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        if self._few is not None:
            return self._few.clamped
        return max(0.0, 1.0 - float(self._free.means(np.zeros(1))[0]))

    @property
    def _few(self) -> FewCategories | None:
        """The sum over all outputs, where there are few categories and a series would not do."""
        k = self.counts.size
        if k > min(LARGEST_K, int(self.counts.sum())) or self.projection != "l2":
            return None
        far = noise.radius(k, self.epsilon, TAIL) > LONGEST_SERIES
        if far or self._part.possible:
            return FewCategories(self.prior, self.counts, self.epsilon)
        return None

    @property
    def _to_be_drawn(self) -> bool:
        """Whether too much is clamped to be bounded, and too wide to be followed."""
        part = self._part
        followed = self.projection == "l2" and (part.affordable or part.wide.possible)
        return not followed and self.clamped > _SMALL

    @property
    def _rounding(self) -> float:
        # The exponent of a product over k categories is rounded in proportion to k.
        return max(_ROUNDING, 2e-15 * self.counts.size)

    @property
    def _part_lost(self) -> float:
        # Of a probability: ln Z is a sum of values of ln Gamma that grow with k.
        return max(_ROUNDING, 1e-14 * self.counts.size)

    @property
    def _free(self) -> UnclampedPart:
        return UnclampedPart(self.prior, self.counts, self.epsilon)

    @property
    def _part(self) -> ClampedPart:
        return ClampedPart(self.prior, self.counts, self.epsilon)

    def _exponent_of(self, metric: Yardstick) -> float:
        return affinity_exponent(metric, float(self.prior.sum() + self.counts.sum()))

    def _series(self, exponent: float) -> tuple[float, float, float]:
        """Return the mean where no noisy count is negative, P(not so), and what is in doubt."""
        at_truth = np.exp(-noise.log_normaliser(self.counts.size, self.epsilon))
        if self._free.wide:
            inside = float(self._free.means(np.zeros(1))[0])
            value, doubt = self._free.mean_root(exponent, inside, float(at_truth))
            return value, max(0.0, 1.0 - inside), doubt + self._rounding
        series = square_root_series(40.0 / (exponent * self._free.nearest))
        means = self._free.means(np.concatenate(([0.0], exponent * series.powers)))
        inside = means[0]
        value = series.mean_root(inside - means[1:], inside - at_truth)
        return value, max(0.0, 1.0 - float(inside)), self._rounding

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability that exactly these counts are released.

        A positive output comes from one noisy vector only, an output with an empty category from
        many; these are summed for the l2 projection and refused with a ValueError for l1.
        """
        if counts_out.sum() != self.counts.sum():
            return Estimate(0.0, 0.0, "sum")
        direct = float(np.exp(log_mass((counts_out - self.counts)[None, :], self.epsilon)[0]))
        if counts_out.min() > 0:
            return Estimate(direct, self._part_lost * direct, "sum")
        if self._few is not None:
            found = self._few.probability(counts_out)
            return Estimate(found, max(1e-15, 1e-12 * found), "quadrature")
        if self.projection != "l2":
            raise ValueError(
                f"counts_out must be positive at this size, got {counts_out.tolist()}: with "
                f"projection {self.projection!r} at epsilon = {self.epsilon!r} outputs with an "
                "empty category are only listed for smaller n or k"
            )
        found = direct + self._part.probability(counts_out)
        return Estimate(found, self._part_lost * found, "series")

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` independent released histograms, shape (size, k), for experiments."""
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        shifts = noise.draw(generator, self.counts.size, self.epsilon, number)
        return project(self.counts + shifts, self.projection)
