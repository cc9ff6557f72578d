"""How well released posteriors can be trusted: coverage and errors.

Exact for two categories: the analyst takes the release r for the truth (plug-in) or
mixes over x by P(x | r) (noise-aware), or reads what was drawn as the report does
(`BinaryReport`). By simulation for more, through the report's reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, betaln
from scipy.stats import betabinom, binom

from dpbayes import _validate
from dpbayes.divergences import hellinger
from dpbayes.laws.law import listed
from dpbayes.mechanisms.capabilities import Draws, own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.example_table import SeededBits
from dpbayes.tables.count_noise import count_noise_of
from dpbayes.tables.drawn import Release
from dpbayes.tables.shares import Shares

Array = NDArray[np.float64]

_NODES = 600  # the posterior of 2000 records is four times as wide as their spacing


@dataclass(frozen=True)
class Reading:
    """One value for each way to read a release."""

    plug_in: float
    noise_aware: float


@dataclass(frozen=True)
class BinaryRelease:
    """A mechanism's table for n records of two categories, under a Beta prior (2,)."""

    mechanism: Mechanism
    n: int
    prior: Array

    @cached_property
    def likelihood(self) -> Array:
        """P(r | x), rows x = 0 … n, columns r = 0 … n (counts of the first
        category)."""
        table = np.zeros((self.n + 1, self.n + 1))
        for x, row in enumerate(table):
            law = listed(self.mechanism.law([x, self.n - x], self.prior), "coverage")
            np.add.at(row, law.outputs[:, 0], law.probabilities)
        return table

    @cached_property
    def prior_masses(self) -> Array:
        """P(x) before the release: the beta-binomial distribution."""
        return np.asarray(betabinom(self.n, *self.prior).pmf(np.arange(self.n + 1)))

    @cached_property
    def _joint(self) -> Array:
        return (self.prior_masses[:, None] * self.likelihood).T

    @cached_property
    def weights(self) -> Array:
        """P(x | r), rows r, columns x."""
        return np.asarray(self._joint / self._joint.sum(axis=1, keepdims=True))

    @cached_property
    def _parameters(self) -> tuple[Array, Array]:
        x = np.arange(self.n + 1)
        return self.prior[0] + x, self.prior[1] + self.n - x

    def noise_aware_intervals(self, level: float) -> Array:
        """Return the central interval of the mixture for each r, shape (n+1, 2)."""
        low, high = np.zeros((self.n + 1, 2)), np.ones((self.n + 1, 2))
        a, b = self._parameters
        for _ in range(45):
            middle = (low + high) / 2
            mixed = (self.weights[:, None, :] * betainc(a, b, middle[:, :, None])).sum(
                axis=2
            )
            reached = mixed >= _edges(level)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def coverage(self, level: float = 0.95) -> Reading:
        """Return the probability that the interval contains theta, over prior, data and
        noise.
        """
        a, b = self._parameters

        def covered(intervals: Array) -> float:
            inside = betainc(a, b, intervals[:, 1:]) - betainc(a, b, intervals[:, :1])
            return float((self._joint * inside).sum())

        plug_in: Array = betaincinv(a[:, None], b[:, None], _edges(level)).astype(
            np.float64
        )
        return Reading(covered(plug_in), covered(self.noise_aware_intervals(level)))

    @cached_property
    def _affinities(self) -> Array:
        # BC between the mixture of r (rows) and Beta(prior + x) (columns), by Gauss's
        # rule in phi with theta = sin^2 phi, where the integrands are smooth up to the
        # ends.
        at, parts = np.polynomial.legendre.leggauss(_NODES)
        phi = 0.25 * np.pi * (1.0 + at)
        theta = np.sin(phi) ** 2
        a, b = self._parameters
        logs = np.outer(a - 1, np.log(theta)) + np.outer(b - 1, np.log1p(-theta))
        jacobian = np.sin(2 * phi) * 0.25 * np.pi * parts
        root = np.exp(logs - betaln(a, b)[:, None]) * jacobian
        return np.asarray(np.sqrt(self.weights @ root) @ np.sqrt(root).T)

    def mean_error(self, power: int = 1) -> Reading:
        """Return E[H^power] over prior, data and noise, H the distance to the true
        posterior.
        """
        both = np.stack(self._parameters, axis=1)
        plug = hellinger(both[:, None, :], both[None, :, :])
        aware = np.sqrt(np.clip(1.0 - self._affinities, 0.0, 1.0))
        plug_in, noise_aware = (
            float((self._joint * h**power).sum()) for h in (plug, aware)
        )
        return Reading(plug_in, noise_aware)


@dataclass(frozen=True)
class BinaryReport:
    """Releases of n records of two categories as the report reads them.

    `likelihood` (n+1, Y) is the probability of each draw given the true count of the
    first category, `intervals` (Y, 2) are those of its share in the population,
    `table_intervals` (Y, 2) those in the table.
    """

    n: int
    likelihood: Array
    intervals: Array
    table_intervals: Array

    @classmethod
    def of(cls, mechanism: Mechanism, n: int, level: float = 0.95) -> BinaryReport:
        """Return the readings of everything a mechanism may draw."""
        noise, x = count_noise_of(mechanism, 2), np.arange(n + 1)
        if noise is None:
            likelihood = BinaryRelease(mechanism, n, np.ones(2)).likelihood
            drawn = np.stack([x, n - x], axis=1)
        else:
            law = noise.law(frozenset({0}))
            y = np.arange(law.start, n + law.start + law.weights.size)
            likelihood = law.at(y - x[:, None])
            drawn = np.stack([y, n - y], axis=1)[:, : noise.noisy]
        shares = [Shares(mechanism, one, n, 2).read([0]) for one in drawn]
        ends = [(one.interval(level), one.table_interval(level)) for one in shares]
        population, table = np.array(ends).transpose(1, 0, 2)
        return cls(n, likelihood, population, table)

    def coverage(self, prior: tuple[float, float] = (1.0, 1.0)) -> float:
        """Return the probability that the population's share is covered, if it is drawn
        from Beta(prior) and the records at random.
        """
        x, (low, high) = np.arange(self.n + 1), self.intervals.T
        a, b = (prior[0] + x)[:, None], (prior[1] + self.n - x)[:, None]
        inside = betainc(a, b, high) - betainc(a, b, low)
        chances = betabinom(self.n, *prior).pmf(x)
        return float(chances @ (self.likelihood * inside).sum(axis=1))

    def coverage_at(self, share: float) -> float:
        """Return the probability that the population's share is covered where it is
        `share`, over samples and noise.
        """
        chances = binom(self.n, share).pmf(np.arange(self.n + 1))
        low, high = self.intervals.T
        held = (self.likelihood * ((low <= share) & (share <= high))).sum(axis=1)
        return float(chances @ held)

    def table_coverage(self) -> Array:
        """Return the coverage of the table's own share for each true count (n+1,)."""
        own = (np.arange(self.n + 1) / self.n)[:, None]
        low, high = self.table_intervals.T
        inside = (low <= own + 1e-12) & (own <= high + 1e-12)
        return np.asarray((self.likelihood * inside).sum(axis=1))


@dataclass(frozen=True)
class Simulated:
    """How often simulated releases cover some shares: one value a share, shape (c,).

    `population` and `table` are coverages of both intervals, `width` the mean width of
    the first, `marked` how often the report doubts it, `missed` how often it neither
    covers nor is doubted.
    """

    population: Array
    table: Array
    width: Array
    marked: Array
    missed: Array


def simulated(
    mechanism: Mechanism,
    shares: ArrayLike,
    n: int,
    categories: Sequence[int],
    rng: np.random.Generator,
    runs: int,
    prior: ArrayLike | None = None,
    level: float = 0.95,
) -> Simulated:
    """Return the coverage of the shares of some categories over samples and noise.

    `shares` (k,) are those of the population; each run draws n records, releases them
    with seeded bits and reads them as the report does, with the `prior` (k,) stated in
    the plan, if any.
    """
    truth, size = np.asarray(shares, dtype=np.float64), len(categories)
    draws = own(mechanism, Draws)
    bits, flat = SeededBits(rng), np.ones(truth.size)
    if draws is None:
        raise ValueError(f"mechanism must have an exact sampler, got {mechanism.name}")
    found = np.zeros((5, runs, size))
    for run in range(runs):
        x = rng.multinomial(n, truth)
        noisy, counts = draws.draw(x, flat, bits)
        private = Release(mechanism, flat, n, noisy, counts)
        free, read = private.shares(), private.shares(prior)
        for place, i in enumerate(categories):
            one = read.read([i])
            low, high = one.interval(level)
            first, last = one.table_interval(level)
            held = low <= truth[i] <= high
            inside = first <= x[i] / n + 1e-12 and x[i] / n <= last + 1e-12
            other = one if prior is None else free.read([i])
            marked = one.doubt(other, level) != ""
            found[:, run, place] = (
                held, inside, high - low, marked, not held and not marked
            )  # fmt: skip
    return Simulated(*found.mean(axis=1))


def _edges(level: float) -> Array:
    inside = _validate.open_unit("level", level)
    return np.array([(1 - inside) / 2, (1 + inside) / 2])
