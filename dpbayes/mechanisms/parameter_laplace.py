"""Continuous noise on every posterior parameter, the older recipe the papers compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.law import Unlisted
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up


@dataclass(frozen=True)
class ContinuousLaw(Unlisted):
    """Updates min(max(x_i + Y_i, 0), n) with Y_i independent Laplace(scale); means are drawn.

    The released parameters are prior + update, so they stay positive, and their total is free.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    scale: float

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability of exactly this update: 0 unless every entry is 0 or n."""
        if not np.all((counts_out == 0) | (counts_out == self.counts.sum())):
            return Estimate(0.0, 0.0, "listed")
        value = float(np.prod(0.5 * np.exp(-np.abs(counts_out - self.counts) / self.scale)))
        return Estimate(value, 1e-15 * value, "listed")

    def draws(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        noise = rng.laplace(scale=self.scale, size=(size, self.counts.size))
        return np.asarray(np.clip(self.counts + noise, 0.0, float(self.counts.sum())))


@dataclass(frozen=True)
class ParameterLaplace:
    """Release prior_i + min(max(x_i + Y_i, 0), n) with independent Y_i ~ Laplace(2/epsilon).

    After Zhang, Rubinstein and Dimitrakakis (2016), who perturb each Bayesian update and cut it
    to its possible range. The total of the parameters is not preserved. The noise is continuous,
    so this mechanism is for study only: there is no release of it. Book:
    `def-parameter-laplace`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S]. (A replacement changes two
    counts by one each.)
    """

    epsilon: float

    name: ClassVar[str] = "parameter-laplace"
    definition: ClassVar[str] = "def-parameter-laplace"
    citations: ClassVar[tuple[str, ...]] = ("zhang-bayesian", "dwork-calibrating")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> ContinuousLaw:
        """Return the law of the released update; `counts` and `prior` have shape (k,).

        >>> law = ParameterLaplace(1.0).law([50, 50], [1, 1])
        >>> round(law.mean_distance(), 2)
        0.11
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        if int(x.sum()) < 1:
            raise ValueError("counts must hold at least one record for parameter-laplace, got none")
        return ContinuousLaw(alpha, x, 2.0 / float(self.epsilon))

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved of the continuous noise: `thm-laplace-private`."""
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the parameters by 2 in l1, the noise is continuous Laplace "
            f"of scale 2/{rounded_up(bound)}, cutting to the range is post-processing",
            "thm-laplace-private",
        )
