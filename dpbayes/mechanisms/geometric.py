"""The truncated geometric mechanism: a private count of two categories, and its best reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Way, choose
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.mechanisms.remap import LARGEST_WINDOW as LARGEST_REMAP
from dpbayes.mechanisms.remap import answered, best_answers
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Balls
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import plain, two_sided_geometric

LARGEST_FINITE = 400_000
LARGEST_WINDOW = 5_000_000

_TAIL = 46.0


@dataclass(frozen=True)
class TruncatedGeometric:
    """Release x + Z clamped to [0, n], with P(Z = z) proportional to e^(-epsilon |z|).

    For k = 2 (Ghosh, Roughgarden and Sundararajan 2009); book: `def-geometric`. With `remap` the
    noisy count is replaced by the answer with the least expected Hellinger distance when all data
    sets are equally likely (`def-remap`); no epsilon-DP mechanism that answers with histograms has
    a smaller mean over all data sets (`thm-remap-optimal`). Guarantee: for all count vectors x, x'
    of n records that differ by replacing one record, and every set S of posteriors,
    P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    remap: bool = False

    name: ClassVar[str] = "geometric"
    definition: ClassVar[str] = "def-geometric"
    citations: ClassVar[tuple[str, ...]] = ("ghosh-universally",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.flag("remap", self.remap)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram, within reach of the noise if n is large.

        >>> round(TruncatedGeometric(1.0).law([50, 50], [1, 1]).probability([50, 50]), 9)
        0.462117157
        >>> mean = TruncatedGeometric(0.1, remap=True).law([5, 5], [1, 1]).mean_distance()
        >>> round(mean, 4)
        0.3439
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        if x.size != 2:
            raise ValueError(f"counts must have 2 categories for geometric, got {x.size}")
        n, first = int(x.sum()), int(x[0])
        # e^-46 of the noise lies beyond `reach`; small data sets are listed in full.
        complete = LARGEST_REMAP if self.remap else LARGEST_FINITE
        reach = n if n < complete else int(min(np.ceil(_TAIL / self.epsilon), n))
        if reach >= LARGEST_WINDOW:
            raise ValueError(
                f"epsilon = {self.epsilon!r} spreads the noise over more than {LARGEST_WINDOW} "
                f"counts either side; n = {n} records are too many for that"
            )
        released = np.arange(max(first - reach, 0), min(first + reach, n) + 1)
        outputs = np.column_stack((released, n - released))
        steps = np.abs(released - first)
        shared = np.log1p(np.exp(-self.epsilon))
        logs = -self.epsilon * steps - shared
        # The two ends collect the whole tail, the inside one step of it.
        inside = (outputs[:, 0] > 0) & (outputs[:, 0] < n)
        logs[inside] += np.log(-np.expm1(-self.epsilon))
        if n == 0:
            logs = np.zeros(1)
        outside = 0.0 if released.size == n + 1 else float(np.exp(-_TAIL))
        if self.remap:
            outputs, logs = answered(self._answers(alpha, n, released), n, logs)
        complete = released.size == n + 1
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
        pair = (float(prior[0]), float(prior[1]))
        return best_answers(pair, n, float(self.epsilon), int(noisy[0]), int(noisy[-1]))[0]

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-geometric-private`."""
        _validate.integer("k", k, minimum=2)
        if k != 2:
            return Guarantee(None, f"geometric is defined for 2 categories, not {k}")
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the count by 1, the noise falls by "
            f"e^-{rounded_up(bound)} a step, clamping and remap are post-processing",
            "thm-geometric-private",
        )

    def enclosed_law(self, library: Any, counts: Counts, prior: NDArray[np.float64]) -> Balls:
        """Return ln P of every output in ball arithmetic, for audits; k = 2."""
        return balls.truncated_geometric(library, counts, exact_epsilon(self.epsilon))

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return the noisy count, and the histogram with it clamped."""
        if counts.size != 2:
            raise ValueError(f"counts must have 2 categories for geometric, got {counts.size}")
        n, rate = int(counts.sum()), exact_epsilon(self.epsilon)
        noisy = plain([int(counts[0]) + two_sided_geometric(bits, rate)])
        first = np.clip(noisy, 0, n)
        if self.remap:
            first = self._answers(prior, n, first)
        return noisy, np.append(first, n - first)

    def log_likelihoods(self, noisy: Counts, n: int, k: int) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) for counts 0 … n, up to a constant; one factor a category."""
        return [-self.epsilon * np.abs(int(noisy[0]) - np.arange(n + 1)), np.zeros(n + 1)]

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step as the data grow."""
        if k != 2:
            raise ValueError(f"no large-n law for k = {k} is known for 'geometric'")
        return StepLaw(self.epsilon)
