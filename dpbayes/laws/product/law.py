"""The exact law of independent noise on all counts but the last, without a grid of outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity, hellinger
from dpbayes.laws.estimate import Estimate, rank_error
from dpbayes.laws.finite import ROUNDING as FINITE
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.growing_root import mean_root
from dpbayes.laws.inversion import steps_at
from dpbayes.laws.law import Unlisted
from dpbayes.laws.metrics import Yardstick, metric_function, reported_exponent
from dpbayes.laws.product.convolution import Factor, convolve, wrap_length
from dpbayes.laws.product.excess import ExcessMoments, excess_gap
from dpbayes.laws.product.panelled import PanelledProduct
from dpbayes.laws.series.candidate_sums import nearest_gap
from dpbayes.laws.series.expansions import LAST
from dpbayes.laws.simulated import SimulatedDistances, simulate_distances
from dpbayes.laws.square_root import fitted_root, square_root_series

ROUNDING = 1e-12
"""Stated for rounding in the transforms; tests find less than a hundredth of it."""

_AT_ONCE = 1 << 20  # numbers of one array
_MISSED = 1e-11  # by a few powers, where that is enough
_LONG = 30_000_000  # numbers transformed for all powers: more take a second
_TRANSFORMED = 1e-15  # by transforms of one power
_NEGLECTED = 1e-15  # of each of them
_CLOSEST = 1e-18  # no gap is followed further: powers beyond lose their digits
_SMALLEST = 1e-300
_WIDE = 50_000  # counts beyond which panels take less than transforms
_GOOD = 3e-10  # where a moment is costly
_CLOSE = 8.0, 12.0  # powers closer together than need be
_UNSURE = 1e-6  # a sum this wrong has lost its digits


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
        blocks = range(0, logs.size, _AT_ONCE)
        total = sum(float(np.exp(logs[first : first + _AT_ONCE]).sum()) for first in blocks)
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
    sum exceeds n the last count is 0 and the released total is the sum. Every power of BC is a
    product over categories, coupled through the sum alone, so E[H] = sum_j c_j (1 - E[BC^j]) needs
    one convolution per power. Book: `thm-product-law`, `thm-lattice-mean`.
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

    @cached_property
    def _factors(self) -> list[Factor]:
        alike: dict[tuple[float, int, int, bytes], list[int]] = {}
        digests: dict[int, bytes] = {}
        for place, marginal in enumerate(self.marginals):
            # Of wide noise these are most of the memory: a digest stands for what has been seen.
            if id(marginal) not in digests:
                digests[id(marginal)] = sha256(marginal.log_probabilities.tobytes()).digest()
            seen = digests[id(marginal)]
            key = (float(self.prior[place]), int(self.counts[place]), marginal.start, seen)
            alike.setdefault(key, []).append(place)
        groups = list(alike.values())
        factors = [Factor(0, np.zeros(1), np.zeros(1))] * len(groups)
        # The longest first, as where they come from.
        sizes = [self.marginals[places[0]].log_probabilities.size for places in groups]
        for number in np.argsort(sizes, kind="stable")[::-1].tolist():
            place = groups[number][0]
            marginal, count = self.marginals[place], int(self.counts[place])
            steps = np.arange(marginal.start, marginal.stop) - count
            log_affinity = affinity_of_counts(self.prior[place], count, count + steps)
            first, logs = int(steps[0]), marginal.log_probabilities
            factors[number] = Factor(first, logs, log_affinity, len(groups[number]))
        return factors

    @cached_property
    def _reach(self) -> tuple[int, int]:
        return wrap_length(self._factors)

    @cached_property
    def _panelled(self) -> PanelledProduct | None:
        """The sum over all outputs of few categories, where noise is too wide for a series."""
        if (
            self.counts.size > PanelledProduct.MOST
            or max(m.stop - m.start for m in self.marginals) <= _WIDE
        ):
            return None
        panelled = PanelledProduct(self.prior, self.counts, self.marginals)
        return panelled if panelled.smooth else None

    @cached_property
    def _last(self) -> NDArray[np.float64]:
        # psi of the last category at each step of the sum that leaves the total at n.
        down, up = self._reach
        steps = np.arange(-down, min(up, int(self.counts[-1])) + 1)
        last = int(self.counts[-1])
        return affinity_of_counts(self.prior[-1], last, last - steps)

    def affinity_moments(self, powers: ArrayLike) -> NDArray[np.float64]:
        """Return E[BC^j; sum at most n] for each power j >= 0, shape (m,)."""
        exponents = np.atleast_1d(np.asarray(powers, dtype=np.float64))
        down, up = self._reach
        last = self._last
        moments = np.empty(exponents.size)
        some = max(1, _AT_ONCE // (down + up + 1))
        for first in range(0, exponents.size, some):
            batch = exponents[first : first + some]
            sums = convolve(self._factors, batch, down, up)[:, : last.size]
            moments[first : first + some] = np.einsum(
                "ij,ij->i", sums, np.exp(batch[:, None] * last)
            )
        return moments

    @cached_property
    def probability_of_excess(self) -> float:
        """Probability that the noisy counts sum to more than n, so that the last one is 0."""
        highest = sum(marginal.stop - 1 for marginal in self.marginals)
        if highest <= self.counts.sum():
            return 0.0
        return max(0.0, 1.0 - float(self.affinity_moments(0.0)[0]))

    def _at_truth(self) -> float:
        return float(self.one_probability(self.counts))

    def _equal_part(self, exponent: float) -> tuple[float, float]:
        """Return E[sqrt(1 - BC^exponent); sum at most n], and what is left out of it."""
        gap = exponent * nearest_gap(self.prior, self.counts)
        root = square_root_series(LAST / gap)
        inside, at_truth = float(self.affinity_moments(0.0)[0]), self._at_truth()
        work = root.powers.size * (sum(self._reach) + 1) * (len(self._factors) + 1)
        if work > _LONG:
            powers = fitted_root(gap).powers.tolist()
            moment = self._equal_moment(exponent)
            found = mean_root(moment, gap, inside, self._at_truth, _MISSED, powers)
            if found[1] <= 3.0 * _MISSED:
                return found
        moments = self.affinity_moments(exponent * root.powers)
        return root.mean_root(inside - moments, inside - at_truth), 0.0

    def _equal_moment(self, exponent: float) -> Callable[[float], tuple[float, float]]:
        return lambda power: (float(self.affinity_moments(exponent * power)[0]), _TRANSFORMED)

    def mean_distance(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the mean distance; `metric` is hellinger or hellinger_published, or its name.

        Wide noise on two or three categories is summed output by output, by panels. Else outputs
        with a total of n are summed exactly, and so are those with a larger total, by tilted
        transforms (`thm-excess`), for the Hellinger distance, unless that takes more than a
        quarter of a minute. Then, and for the published distance, which is no power of the affinity
        there, their share, exactly known, is averaged over draws.
        """
        if self._panelled is not None and metric_function(metric) is hellinger:
            value, doubt = self._panelled.mean(distance_from_log_affinity)
            return Estimate(value, doubt + self.mass_outside, "quadrature")
        exponent = reported_exponent(metric, float(self.prior.sum() + self.counts.sum()))
        (exact, missed), share = self._equal_part(exponent), self.probability_of_excess
        error = ROUNDING + missed + self.mass_outside
        if share <= ROUNDING:
            return Estimate(exact + 0.5 * share, error + 0.5 * share, "series")
        if metric_function(metric) is hellinger:
            rest, more = self._excess_mean(share)
            if more <= _UNSURE:
                return Estimate(exact + rest, error + more, "series")
        distances = self._excess_distances(metric)
        if distances.size == 0:
            return Estimate(exact + 0.5 * share, error + 0.5 * share, "series")
        bound = rank_error(distances.size)
        value = exact + share * float(distances.mean())
        return Estimate(value, error + share * min(bound, 1.0), "draws")

    @cached_property
    def _excess(self) -> ExcessMoments:
        return ExcessMoments(self._factors, self.prior, self.counts, _NEGLECTED, self._reach)

    def _excess_mean(self, share: float) -> tuple[float, float]:
        known = excess_gap(self.prior, self.counts, self._reach[1])
        root, moment = fitted_root(max(known, _CLOSEST)), lru_cache(self._excess.renewed().moment)
        # Few powers are enough where the mean is nowhere near 0.
        powers, near = root.powers.tolist(), known < _CLOSEST
        some = powers
        first, doubt = moment(1.0)
        if costly := self._excess.costly:
            if 0.25 * first + doubt <= _GOOD:  # z / 2 <= 1 - sqrt(1 - z) <= z
                return share - 0.75 * first, 0.25 * first + doubt
            some = [power for power in powers if not _CLOSE[0] < power < _CLOSE[1]]
        gap = max(known, _CLOSEST)
        found = mean_root(moment, gap, share, lambda: 0.0, _MISSED, some, closer=near)
        if found[1] <= (_GOOD if costly else 3.0 * _MISSED):
            return found
        nearer = root.error_below(_CLOSEST) if near else 0.0
        moments, rounding = np.array([moment(power) for power in root.powers.tolist()]).T
        carried = float(np.abs(root.weights) @ rounding)
        value, error = root.mean_root(share, 0.0, moments, 0.0)
        # P(-ln z <= c) <= e^(s c) E[z^s], here for c = _CLOSEST.
        most = float((np.exp(root.powers * _CLOSEST) * (moments + rounding)).min())
        return value, error + carried + nearer * min(most, share)

    def _excess_distances(self, metric: Yardstick) -> NDArray[np.float64]:
        draws = self.sample(np.random.default_rng(20_190), 200_000)
        excess = draws[draws.sum(axis=1) > self.counts.sum()]
        distance = metric_function(metric)
        return np.asarray(distance(self.prior + self.counts, self.prior + excess))

    def mean_square(self, metric: Yardstick = "hellinger") -> Estimate:
        """Return the mean square of the distance, as `mean_distance` returns the mean."""
        if self._panelled is not None and metric_function(metric) is hellinger:
            value, doubt = self._panelled.mean(lambda logs: -np.expm1(logs))
            return Estimate(value, doubt + self.mass_outside, "quadrature")
        exponent = reported_exponent(metric, float(self.prior.sum() + self.counts.sum()))
        inside, affinity = self.affinity_moments([0.0, exponent])
        exact, share = float(inside - affinity), self.probability_of_excess
        error = ROUNDING + self.mass_outside
        if share <= ROUNDING:
            return Estimate(exact + 0.5 * share, error + 0.5 * share, "series")
        if metric_function(metric) is hellinger:
            moment, rounding = self._excess.renewed().moment(1.0)
            if rounding <= _UNSURE:
                return Estimate(exact + share - moment, error + rounding, "series")
        squares = self._excess_distances(metric) ** 2
        if squares.size == 0:
            return Estimate(exact + 0.5 * share, error + 0.5 * share, "series")
        value = exact + share * float(squares.mean())
        return Estimate(value, error + share * min(rank_error(squares.size), 1.0), "draws")

    @cached_property
    def error_bound(self) -> float:
        """Largest error of the mean Hellinger distance."""
        return self.mean_distance().error

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability that exactly these counts, shape (k,), are released."""
        n, wanted = int(self.counts.sum()), counts_out
        if wanted[-1] != min(max(n - int(wanted[:-1].sum()), 0), n):
            return Estimate(0.0, 0.0, "sum")
        result = 1.0
        for value, marginal in zip(wanted[:-1], self.marginals, strict=True):
            at = slice(value - marginal.start, value - marginal.start + 1)
            inside = marginal.start <= value < marginal.stop
            result *= float(np.exp(marginal.log_probabilities[at])[0]) if inside else 0.0
        return Estimate(result, self.mass_outside + self._rounded(result), "sum")

    def _rounded(self, probability: float) -> float:
        # Each ln p is right to a part of FINITE, and each product loses one rounding more.
        size = abs(float(np.log(max(probability, _SMALLEST))))
        return probability * FINITE * (size + 2.0 * len(self.marginals)) + _SMALLEST

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` independent released histograms, shape (size, k), for experiments."""
        generator = _validate.generator("rng", rng)
        number = _validate.integer("size", size, minimum=0)
        drawn = np.zeros((number, self.counts.size), dtype=np.int64, order="F")
        for i, marginal in enumerate(self.marginals):
            cumulative = np.cumsum(marginal.probabilities)
            levels = generator.random(number) * cumulative[-1]
            places = steps_at(cumulative, levels)
            drawn[:, i] = marginal.start + np.minimum(places, cumulative.size - 1)
        n = int(self.counts.sum())
        drawn[:, -1] = np.clip(n - drawn.sum(axis=1), 0, n)
        return drawn

    def simulated(self, metric: Yardstick = "hellinger") -> SimulatedDistances:
        """Return distances of exact draws of a fixed seed, with their stated error."""
        return simulate_distances(self, metric)


def product_grid(
    prior: NDArray[np.float64], counts: NDArray[np.int64], marginals: Sequence[Marginal]
) -> FiniteLaw:
    """Return the law of `ProductLaw` with every combination of listed counts as an output."""
    n, shape = int(counts.sum()), [marginal.stop - marginal.start for marginal in marginals]
    table = np.empty((counts.size, *shape), dtype=np.int64)  # a category's counts lie together
    for axis, (values, marginal) in enumerate(zip(table, marginals, strict=False)):
        one = np.arange(marginal.start, marginal.stop)
        values[...] = one.reshape(-1, *[1] * (len(shape) - axis - 1))
    np.clip(n - table[:-1].sum(axis=0), 0, n, out=table[-1])
    logs = np.asarray(marginals[0].log_probabilities)
    for following in marginals[1:]:
        logs = (logs[:, None] + following.log_probabilities[None, :]).ravel()
    outside = float(sum(marginal.outside for marginal in marginals))
    return FiniteLaw(prior, counts, table.reshape(counts.size, -1).T, logs, outside)
