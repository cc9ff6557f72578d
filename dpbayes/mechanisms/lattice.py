"""Noise on the whole vectors that sum to zero, which keeps n: geometric and Gaussian
weights.

Noisy counts below 0 are repaired by `project` (`projection` "l2" or "l1").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws import gaussian
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import (
    LARGEST_OUTPUTS,
    SumZeroLaw,
    listed_law,
    seconds_of_all,
)
from dpbayes.laws.law import Way, choose
from dpbayes.laws.sum_zero import PROJECTIONS, LatticeNoise, project
from dpbayes.mechanisms.capabilities import Counts, Drawn
from dpbayes.mechanisms.geometric import TruncatedGeometric, best_answers
from dpbayes.mechanisms.look import DASH_DOT_DOT, LONG, SHORT, Look
from dpbayes.mechanisms.optimum import best_guesses
from dpbayes.mechanisms.protocol import Guarantee, exact_epsilon, rounded_up
from dpbayes.mechanisms.spec import Nominal, Option, Spec, words_of, yes_or_no
from dpbayes.posteriors import check_candidates, compositions, row_of
from dpbayes.samplers import sum_zero, whole_numbers
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import sum_zero_gaussian

# candidates that a remap for k >= 3 compares; their square is the work
LARGEST_REMAP = 1_000

_PROJECTION = words_of(
    PROJECTIONS,
    "the norm by which the nearest counts of at least 0 are found",
    afterwards=True,
)


def _ways(*described: Any) -> tuple[Way, Way]:
    """Return the last two ways to the law of projected sum-zero noise: a list, then a
    series.

    `described` are the prior (k,), the counts (k,), the noise and the name of the
    projection, the arguments that `listed_law` and `SumZeroLaw` share. `listed_law`
    returns None where its list would be too long, and `choose` then takes the series.
    """
    return (
        Way(
            "list", True,
            f"up to {LARGEST_OUTPUTS} outputs within reach of the noise are listed",
            lambda: listed_law(*described),
        ),
        Way(
            "series", True, "it takes any number of records and categories",
            lambda: SumZeroLaw(*described),
        ),
    )  # fmt: skip


def _noisy(counts: Counts, step: Iterable[int]) -> Counts:
    """Return counts plus noise (k,), added as Python's whole numbers, which cannot
    overflow.
    """
    return whole_numbers.plain([int(x) + z for x, z in zip(counts, step, strict=True)])


@dataclass(frozen=True)
class SumZeroLattice(Nominal):
    """Release project(x + Z) with P(Z = z) proportional to e^(-epsilon |z|_1 / 2), sum
    z = 0.

    At k = 2 this is the truncated geometric mechanism. With `remap` the projected
    counts are replaced by the candidate with the least expected Hellinger distance when
    all data sets are equally likely; for k >= 3 this takes at most `LARGEST_REMAP`
    candidates. Book: `def-lattice`, `def-remap`. Guarantee: epsilon
    (`thm-lattice-private`).
    """

    projection: str = "l2"
    remap: bool = False

    name: ClassVar[str] = "lattice"
    options: ClassVar[Mapping[str, Option]] = {
        "projection": _PROJECTION,
        "remap": yes_or_no(
            "whether the released counts are the best guess", afterwards=True
        ),
    }

    def noise(self, rng: np.random.Generator, k: int, size: int) -> NDArray[np.int64]:
        """Return `size` independent draws of Z for k categories, shape (size, k).

        For experiments; rows sum to 0. Book: `thm-lattice-sampler`.
        """
        generator = _validate.generator("rng", rng)
        noise = LatticeNoise(_validate.integer("k", k, minimum=2), float(self.epsilon))
        return noise.draw(generator, _validate.integer("size", size, minimum=0))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | SumZeroLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have
        shape (k,).

        >>> law = SumZeroLattice(1.0).law([100, 100, 100], [1, 1, 1])
        >>> round(law.mean_distance(), 4)
        0.0851
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        noise = LatticeNoise(x.size, float(self.epsilon))
        chosen: FiniteLaw | SumZeroLaw = choose(
            Way(
                "geometric", x.size == 2, "that is this mechanism at k = 2",
                lambda: TruncatedGeometric(self.epsilon, self.remap).law(x, alpha),
            ),
            Way(
                "remap", self.remap,
                "remapped outputs are histograms, and all are listed",
                lambda: self._remapped(alpha, x),
            ),
            *_ways(alpha, x, noise, self.projection),
        )  # fmt: skip
        return chosen

    def _guesses(
        self, n: int, prior: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return P[r | x] without a remap (N, N), and the row number of the best guess
        for each r.

        Rows and columns are all histograms of n records in lexicographic order. Raises
        ValueError for more than `LARGEST_REMAP` of them.
        """
        check_candidates(n, prior.size, LARGEST_REMAP, "a remap of lattice noise")
        return best_guesses(replace(self, remap=False), n, tuple(prior.tolist()))

    def _remapped(self, prior: NDArray[np.float64], x: NDArray[np.int64]) -> FiniteLaw:
        """Return the law at k >= 3 after a remap: each guess has the mass of all r it
        answers.
        """
        n = int(x.sum())
        table, answers = self._guesses(n, prior)
        with np.errstate(divide="ignore"):
            logs = np.log(np.bincount(answers, table[row_of(x)], len(table)))
        return FiniteLaw(prior, x, compositions(n, x.size), logs)

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon: one record changes the counts by 2 in l1
        (`thm-lattice-private`).

        For all x, x' of n records with one replaced, and every set S of noisy counts,
        P[x + Z in S] <= e^epsilon P[x' + Z in S], for P(Z = z) falls by e^(-epsilon/2)
        for each unit of l1; the projection and the remap do not look at x.
        """
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the counts by 2 in l1, the noise falls by"
            f" e^-{rounded_up(bound / 2)} for each unit of l1, the projection is"
            " post-processing",
            "thm-lattice-private",
        )

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return the noisy counts x + Z, which sum to n, and their projection; both
        (k,).
        """
        step = sum_zero.lattice(bits, counts.size, exact_epsilon(self.epsilon))
        noisy = _noisy(counts, step)
        return noisy, self.finished(noisy, int(counts.sum()), prior)

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the projection of noisy counts (k,) that sum to n, remapped if asked
        for.

        The result has the same total and no entry below 0. `n` is not used.
        """
        released = project(noisy[None, :], self.projection)[0]
        return self._answer(released, prior) if self.remap else released

    def _answer(self, released: Counts, prior: NDArray[np.float64]) -> Counts:
        """Return the best guess (k,) for one projected histogram, the remap of a single
        draw.

        At k = 2 the table of all histograms is not needed: `best_answers` finds the
        answer to one count, whatever n is.
        """
        n, k = int(released.sum()), released.size
        if k == 2:
            asked = n, float(self.epsilon), int(released[0]), int(released[0])
            first = best_answers(tuple(prior.tolist()), *asked)[0]
            return np.append(first, n - first)
        return np.asarray(
            compositions(n, k)[self._guesses(n, prior)[1][row_of(released)]]
        )

    def audit_seconds(self, n: int, k: int) -> float:
        """Return about how many processor seconds an audit of n records takes; inf if
        it cannot.
        """
        noise = LatticeNoise(k, float(self.epsilon))
        return seconds_of_all(n, noise, self.projection)

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> list[NDArray[np.float64]]:
        """Return -epsilon |noisy_i - count| / 2 for count = 0 … n, k arrays (n + 1,).

        ln P(Z = noisy - x) is their sum at x, but for a constant: the condition that Z
        sums to 0 says no more than that x has n records, as the noisy counts do.
        """
        return [-0.5 * self.epsilon * np.abs(int(y) - np.arange(n + 1)) for y in noisy]


@dataclass(frozen=True)
class DiscreteGaussian(Nominal):
    """Release project(x + Z), P(Z = z) proportional to e^(-|z|^2 / (2 v)), z whole with
    sum 0.

    v is the least variance parameter at which `releases` releases of this kind together
    are (epsilon, delta)-private, from the exact privacy curve; it depends on k and on
    nothing in the data. Book: `def-discrete-gaussian`. Guarantee: epsilon and delta, of
    all `releases` together (`thm-discrete-gaussian`).
    """

    delta: float = 1e-6
    releases: int = 1
    projection: str = "l2"

    name: ClassVar[str] = "discrete-gaussian"
    options: ClassVar[Mapping[str, Option]] = {
        "delta": Option(
            _validate.open_unit, (1e-6, 1e-3), "delta of the promise, between 0 and 1"
        ),
        "releases": Option(
            partial(_validate.integer, minimum=1),
            (1, 2),
            "how many such releases the promise holds for together, 1 or more",
        ),
        "projection": _PROJECTION,
    }

    def variance(self, k: int) -> float:
        """Return v for k categories.

        >>> round(DiscreteGaussian(1.0, 1e-6).variance(4) ** 0.5, 4)
        5.9766
        """
        k = _validate.integer("k", k, minimum=2)
        return gaussian.variance_for(
            k, float(self.epsilon), float(self.delta), self.releases
        )

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | SumZeroLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have
        shape (k,).

        >>> law = DiscreteGaussian(1.0, 1e-6).law([150, 150], [1, 1])
        >>> round(law.mean_distance(), 4)
        0.135
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        noise = gaussian.GaussianNoise(x.size, self.variance(x.size))
        chosen: FiniteLaw | SumZeroLaw = choose(
            *_ways(alpha, x, noise, self.projection)
        )
        return chosen

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon and delta of all `releases` together
        (`thm-discrete-gaussian`).

        For all x, x' of n records with one replaced, and every set S of noisy vectors
        of all T releases, P[S | x] <= e^epsilon P[S | x'] + delta. One release alone
        loses less; T separate promises of (epsilon, delta) would add up to more.
        """
        variance = self.variance(k)
        together = (
            "" if self.releases == 1 else f", for all {self.releases} releases together"
        )
        return Guarantee(
            exact_epsilon(self.epsilon),
            f"the noise has variance parameter {variance!r}, whose exact privacy curve"
            f" passes below delta at this epsilon{together}; the projection is"
            " post-processing",
            "thm-discrete-gaussian",
            exact_epsilon(self.delta),
        )

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return the noisy counts x + Z, which sum to n, and their projection; both
        (k,).

        Z is drawn with the fraction that v is as a float. Book: `thm-gaussian-sampler`.
        """
        step = sum_zero_gaussian(
            bits, counts.size, Fraction(self.variance(counts.size))
        )
        noisy = _noisy(counts, step)
        return noisy, self.finished(noisy, int(counts.sum()), prior)

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the projection of noisy counts (k,) that sum to n; `n` is not used."""
        return np.asarray(project(noisy[None, :], self.projection)[0])

    def audit_seconds(self, n: int, k: int) -> float:
        """Return about how many processor seconds an audit of n records takes; inf if
        it cannot.
        """
        noise = gaussian.GaussianNoise(k, self.variance(k))
        return seconds_of_all(n, noise, self.projection)

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> list[NDArray[np.float64]]:
        """Return -(noisy_i - count)^2 / (2 v) for count = 0 … n, k arrays (n + 1,)."""
        values, variance = np.arange(n + 1), self.variance(k)
        return [gaussian.log_weights(variance, int(y) - values) for y in noisy]


SPECS = (
    Spec(
        SumZeroLattice.name,
        SumZeroLattice,
        SumZeroLattice.options,
        Look("#00695C", LONG, "p", "oo", "whole-number noise that sums to zero"),
        theorem="thm-lattice-private",
        sources=("ghosh-universally", "canonne-discrete"),
        variants={
            "remapped": Look(
                "#00695C", SHORT, "h", "O", "sum-zero noise, then the best guess"
            )
        },
    ),
    Spec(
        DiscreteGaussian.name,
        DiscreteGaussian,
        DiscreteGaussian.options,
        Look("#6B8E23", DASH_DOT_DOT, "*", "..--", "discrete Gaussian noise"),
        theorem="thm-discrete-gaussian",
        sources=("canonne-discrete",),
    ),
)
