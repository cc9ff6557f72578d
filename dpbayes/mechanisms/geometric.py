"""Geometric noise: on one of two counts, clamped and read at its best; on every count.

Z is a whole number with P(Z = z) proportional to e^(-epsilon |z|).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes._values import ByValue
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Unlisted, Way, choose
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms.capabilities import Counts, Drawn
from dpbayes.mechanisms.look import LONG, SHORT, Look
from dpbayes.mechanisms.protocol import Guarantee, exact_epsilon, rounded_up
from dpbayes.mechanisms.spec import Nominal, Option, Spec, yes_or_no
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import plain, two_sided_geometric

LARGEST_FINITE = 400_000
LARGEST_WINDOW = 5_000_000
# counts that a remap compares: their cube is the work, some seconds
LARGEST_REMAP = 4_000

_TAIL = 46.0
_COLUMNS = 256
_TIE = 1e-12


def log_clamped(
    count: int, released: NDArray[np.int64], epsilon: float, most: float = math.inf
) -> NDArray[np.float64]:
    """Return ln P(clamp(count + Z, 0, most) = r) for each `released` r (m,), shape
    (m,).

    (1 - q) / (1 + q) q^|r - count| inside, q^|r - count| / (1 + q) at the ends 0 and
    `most`, q = e^-epsilon; inf for `most` is no upper end.
    """
    if most == 0:
        return np.zeros(released.size)
    logs = -epsilon * np.abs(released - count) - np.log1p(np.exp(-epsilon))
    # The two ends collect the whole tail, the inside one step of it.
    logs[(released > 0) & (released < most)] += np.log(-np.expm1(-epsilon))
    return np.asarray(logs)


@dataclass(frozen=True)
class TruncatedGeometric(Nominal):
    """Release x + Z clamped to [0, n], k = 2 (Ghosh, Roughgarden and Sundararajan
    2009).

    With `remap` the noisy count is replaced by the answer with the least expected
    Hellinger distance when all data sets are equally likely (`def-remap`); no
    epsilon-DP mechanism that answers with histograms has a smaller mean over all data
    sets (`thm-remap-optimal`). Book: `def-geometric`. Guarantee: epsilon
    (`thm-geometric-private`).
    """

    remap: bool = False

    name: ClassVar[str] = "geometric"
    options: ClassVar[Mapping[str, Option]] = {
        "remap": yes_or_no(
            "whether the noisy count is replaced by the best guess", afterwards=True
        )
    }

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram, within reach of the noise if
        n is large.

        >>> law = TruncatedGeometric(1.0).law([50, 50], [1, 1])
        >>> round(law.probability([50, 50]), 9)
        0.462117157
        >>> remapped = TruncatedGeometric(0.1, remap=True).law([5, 5], [1, 1])
        >>> round(remapped.mean_distance(), 4)
        0.3439
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        _two(x)
        n, first = int(x.sum()), int(x[0])
        # e^-46 of the noise lies beyond `reach`; small data sets are listed in full.
        small = n < (LARGEST_REMAP if self.remap else LARGEST_FINITE)
        reach = n if small else int(min(np.ceil(_TAIL / self.epsilon), n))
        if reach >= LARGEST_WINDOW:
            raise ValueError(
                f"epsilon = {self.epsilon!r} spreads the noise over more than"
                f" {LARGEST_WINDOW} counts either side; n = {n} records are too many"
                " for that"
            )
        released = np.arange(max(first - reach, 0), min(first + reach, n) + 1)
        complete = released.size == n + 1
        logs = log_clamped(first, released, self.epsilon, n)
        outputs = np.column_stack((released, n - released))
        if self.remap:
            # The answers never fall. Where every count is noisy every count is listed.
            answers = self._answers(alpha, n, released)
            listed, noisy_logs = released if complete else np.unique(answers), logs
            logs = np.full(listed.size, -np.inf)
            np.logaddexp.at(logs, np.searchsorted(listed, answers), noisy_logs)
            outputs = np.column_stack((listed, n - listed))
        outside = 0.0 if complete else math.exp(-_TAIL)
        law: FiniteLaw = choose(
            Way(
                "list" if complete else "window", True,
                f"{released.size} of {n + 1} outputs are within reach of the noise",
                lambda: FiniteLaw(alpha, x, outputs, logs, outside),
            )
        )  # fmt: skip
        return law

    def _answers(
        self, prior: NDArray[np.float64], n: int, noisy: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        asked = n, float(self.epsilon), int(noisy[0]), int(noisy[-1])
        return best_answers(tuple(prior.tolist()), *asked)[0]

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon for k = 2 (`thm-geometric-private`), for no other k.

        For all x, x' of n records with one replaced, and every set S of noisy counts,
        P[x_1 + Z in S] <= e^epsilon P[x'_1 + Z in S].
        """
        if _validate.integer("k", k, minimum=2) != 2:
            return Guarantee(None, f"geometric is defined for 2 categories, not {k}")
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the count by 1, the noise falls by "
            f"e^-{rounded_up(bound)} a step, clamping and remap are post-processing",
            "thm-geometric-private",
        )

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return the noisy count x_1 + Z, shape (1,), and the histogram (2,) with it
        clamped.
        """
        _two(counts)
        n, rate = int(counts.sum()), exact_epsilon(self.epsilon)
        noisy = plain([int(counts[0]) + two_sided_geometric(bits, rate)])
        return noisy, self.finished(noisy, n, prior)

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the histogram (2,) with the noisy count clamped, remapped if asked
        for.
        """
        first = np.clip(noisy, 0, n)
        if self.remap:
            first = self._answers(prior, n, first)
        return np.append(first, n - first)

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) = -epsilon |noisy - count| for count = 0 … n, and
        zeros for the second category, which the first decides.
        """
        return [
            -self.epsilon * np.abs(int(noisy[0]) - np.arange(n + 1)),
            np.zeros(n + 1),
        ]

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step as the data grow: e^(-epsilon |t|), the noise
        itself.
        """
        if k != 2:
            raise ValueError(f"no large-n law for k = {k} is known for 'geometric'")
        return StepLaw(self.epsilon)


@lru_cache(maxsize=64)
def best_answers(
    prior: tuple[float, ...], n: int, epsilon: float, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best answer s to each noisy count r = low … high, and its expected
    distance.

    s minimises sum over x of e^(-epsilon |x - r|) H(x, s) over x, s in 0 … n. Data
    further than 46/epsilon from [low, high] weigh e^-46 and are left out; answers
    beyond those data are worse than the outermost of them, for H grows with the step.
    Book: `thm-count-certificate`, `lem-remap-local`. Raises ValueError when more than
    `LARGEST_REMAP` counts matter.

    >>> best_answers((1.0, 1.0), 10, 0.1, 0, 10)[0]
    array([3, 3, 4, 4, 4, 5, 6, 6, 6, 7, 7])
    """
    reach = int(min(np.ceil(_TAIL / epsilon), n))
    data = np.arange(max(low - reach, 0), min(high + reach, n) + 1)
    if data.size > LARGEST_REMAP:
        raise ValueError(
            f"epsilon = {epsilon!r} with n = {n} records makes {data.size} counts"
            f" matter; the remap compares at most {LARGEST_REMAP}"
        )
    apart = np.abs(np.arange(low, high + 1)[:, None] - data)
    weights = np.exp(-epsilon * apart)
    x, parts = data[:, None], np.split(data, range(_COLUMNS, data.size, _COLUMNS))
    logs = (
        affinity_of_counts(prior[0], x, s) + affinity_of_counts(prior[1], n - x, n - s)
        for s in parts
    )
    expected = np.hstack(
        [weights @ distance_from_log_affinity(np.minimum(one, 0)) for one in logs]
    )
    answers, least = closest_best(expected, apart)
    return _validate.frozen(data[answers]), _validate.frozen(
        least / weights.sum(axis=1)
    )


def closest_best(
    expected: NDArray[np.float64], apart: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where each row is least and its value there; of equal entries the closest
    one.
    """
    least = expected.min(axis=1)
    tied = expected <= least[:, None] * (1.0 + _TIE)
    return np.argmin(np.where(tied, apart, np.inf), axis=1), least


def _two(counts: NDArray[np.int64]) -> None:
    if counts.size != 2:
        raise ValueError(
            f"counts must have 2 categories for geometric, got {counts.size}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class IndependentLaw(ByValue, Unlisted):
    """The law where the outputs are too many to list: exact probabilities, means over
    draws.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the product of the clamped geometric probabilities of all counts
        (k,).
        """
        pairs = zip(self.counts.tolist(), counts_out, strict=True)
        logs = [log_clamped(x, np.array([r]), self.epsilon)[0] for x, r in pairs]
        value = float(np.exp(np.sum(logs)))
        return Estimate(value, 1e-12 * value, "listed")

    def draws(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return draws of max(x_i + Z_i, 0), Z_i a difference of two geometric
        variables.
        """
        shape, share = (size, self.counts.size), -np.expm1(-self.epsilon)
        noise = rng.geometric(share, shape) - rng.geometric(share, shape)
        return np.asarray(np.maximum(self.counts + noise, 0))


@dataclass(frozen=True)
class IndependentNoise(Nominal):
    """Release max(x_i + Z_i, 0) for each i: for data whose number of records is secret,
    too.

    The released counts need not sum to the number of records. Book: `def-independent`.
    Guarantee: epsilon, for data with one record more or less
    (`thm-independent-private`).
    """

    name: ClassVar[str] = "independent"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | IndependentLaw:
        """Return the law of the released counts, less tails of probability e^-46 a
        count if listed.

        Distances use the released counts' own total.

        >>> round(IndependentNoise(1.0).law([50, 50], [1, 1]).mean_distance(), 4)
        0.0485
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        epsilon = float(self.epsilon)
        reach = int(np.ceil(_TAIL / epsilon)) + 1
        axes = [np.arange(max(one - reach, 0), one + reach + 1) for one in x.tolist()]
        size = math.prod(axis.size for axis in axes)

        def listed() -> FiniteLaw:
            each = [
                log_clamped(one, axis, epsilon)
                for one, axis in zip(x, axes, strict=True)
            ]
            logs = np.sum(np.meshgrid(*each, indexing="ij"), axis=0).ravel()
            outputs = np.column_stack(
                [one.ravel() for one in np.meshgrid(*axes, indexing="ij")]
            )
            return FiniteLaw(alpha, x, outputs, logs, x.size * math.exp(-_TAIL))

        chosen: FiniteLaw | IndependentLaw = choose(
            Way(
                "list", size <= LARGEST_FINITE,
                f"{size} outputs are within reach of the noise, and up to"
                f" {LARGEST_FINITE} are listed", listed,
            ),
            Way(
                "draws", True, "they take any number of records and categories",
                lambda: IndependentLaw(alpha, x, epsilon),
            ),
        )  # fmt: skip
        return chosen

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon for one record more or less, n being secret
        (`thm-independent-private`).

        For all x, x' that differ by one record more or less, and every set S of noisy
        counts, P[x + Z in S] <= e^epsilon P[x' + Z in S].
        """
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a record more or less changes one count by 1, its noise falls by "
            f"e^-{rounded_up(bound)} a step, clamping at 0 is post-processing",
            "thm-independent-private",
            neighbours="add-or-remove",
        )

    def log_likelihood_at(self, noisy: int, values: Counts) -> NDArray[np.float64]:
        """Return ln P(noisy | count) = -epsilon |noisy - count| for counts (m,), but
        for a constant.
        """
        return np.asarray(-float(self.epsilon) * np.abs(noisy - values))

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return the noisy counts x + Z, and the same with those below 0 set to 0; both
        (k,).
        """
        rate = exact_epsilon(self.epsilon)
        noisy = plain(
            [int(count) + two_sided_geometric(bits, rate) for count in counts]
        )
        return noisy, self.finished(noisy, 0, prior)

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the noisy counts (k,) with those below 0 set to 0; `n` is not used."""
        return np.maximum(noisy, 0)


SPECS = (
    Spec(
        TruncatedGeometric.name,
        TruncatedGeometric,
        TruncatedGeometric.options,
        Look("#029E73", LONG, "v", ".", "geometric noise on one count"),
        theorem="thm-geometric-private",
        sources=("ghosh-universally",),
        variants={
            "remapped": Look(
                "#029E73", SHORT, "d", "o", "geometric noise, then the best guess"
            )
        },
    ),
)
SECRET_SPECS = (
    Spec(
        IndependentNoise.name,
        IndependentNoise,
        IndependentNoise.options,
        Look("#4F6D3A", SHORT, ">", "/o", "geometric noise on every count, n secret"),
        theorem="thm-independent-private",
        sources=("ghosh-universally", "canonne-discrete"),
    ),
)
