"""Independent noise on every count: for data whose number of records is secret, too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Unlisted, Way, choose
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import plain, two_sided_geometric

LARGEST_LISTED = 400_000

_TAIL = 46.0


def log_released(count: int, released: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Return ln P(max(count + Z, 0) = r) for each r >= 0; what falls below 0 is collected there."""
    shared = np.log1p(np.exp(-epsilon))
    inside = np.log(-np.expm1(-epsilon)) - epsilon * np.abs(released - count) - shared
    # P(Z <= -count) is e^(-epsilon count) / (1 + e^-epsilon).
    return np.asarray(np.where(released == 0, -epsilon * count - shared, inside))


@dataclass(frozen=True)
class IndependentLaw(Unlisted):
    """The law where the outputs are too many to list: exact probabilities, means over draws."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        pairs = zip(self.counts.tolist(), counts_out, strict=True)
        logs = [log_released(x, np.array([r]), self.epsilon)[0] for x, r in pairs]
        value = float(np.exp(np.sum(logs)))
        return Estimate(value, 1e-12 * value, "listed")

    def draws(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        shape, share = (size, self.counts.size), -np.expm1(-self.epsilon)
        noise = rng.geometric(share, shape) - rng.geometric(share, shape)
        return np.asarray(np.maximum(self.counts + noise, 0))


@dataclass(frozen=True)
class IndependentNoise:
    """Release max(x_i + Z_i, 0) for each i, with P(Z_i = z) proportional to e^(-epsilon |z|).

    The released counts need not sum to the number of records, which stays secret. Book:
    `def-independent`. Guarantee: for all count vectors x, x' that differ by one record more or
    less, and every set S of outputs, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float

    name: ClassVar[str] = "independent"
    definition: ClassVar[str] = "def-independent"
    citations: ClassVar[tuple[str, ...]] = ("ghosh-universally", "canonne-discrete")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | IndependentLaw:
        """Return the law of the released counts; distances use their own total.

        Listed, less tails of probability e^-46 a count, up to `LARGEST_LISTED` outputs; beyond, the
        mean distance is an average over draws with a stated error.

        >>> round(IndependentNoise(1.0).law([50, 50], [1, 1]).mean_distance(), 4)
        0.0485
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        epsilon = float(self.epsilon)
        reach = int(np.ceil(_TAIL / epsilon)) + 1
        axes = [np.arange(max(one - reach, 0), one + reach + 1) for one in x.tolist()]
        size = math.prod(axis.size for axis in axes)

        def listed() -> FiniteLaw:
            each = [log_released(one, axis, epsilon) for one, axis in zip(x, axes, strict=True)]
            logs = np.sum(np.meshgrid(*each, indexing="ij"), axis=0).ravel()
            outputs = np.column_stack([one.ravel() for one in np.meshgrid(*axes, indexing="ij")])
            return FiniteLaw(alpha, x, outputs, logs, x.size * float(np.exp(-_TAIL)))

        chosen: FiniteLaw | IndependentLaw = choose(
            Way(
                "list", size <= LARGEST_LISTED,
                f"{size} outputs are within reach of the noise, and up to {LARGEST_LISTED} are "
                "listed", listed,
            ),
            Way(
                "draws", True, "they take any number of records and categories",
                lambda: IndependentLaw(alpha, x, epsilon),
            ),
        )  # fmt: skip
        return chosen

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-independent-private`."""
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
        """Return ln P(noisy | count) for an array of counts, up to a constant."""
        return np.asarray(-float(self.epsilon) * np.abs(noisy - values))

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return the noisy counts, and the same with those below 0 set to 0."""
        rate = exact_epsilon(self.epsilon)
        noisy = plain([int(count) + two_sided_geometric(bits, rate) for count in counts])
        return noisy, np.maximum(noisy, 0)
