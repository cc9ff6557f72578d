"""Discrete Gaussian noise that keeps the total: a fair rival where delta is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws import gaussian
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import SumZeroLaw, listed_law
from dpbayes.laws.law import Way, choose
from dpbayes.laws.sum_zero import PROJECTIONS, project
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.gaussian import sum_zero_gaussian
from dpbayes.samplers.whole_numbers import plain


@dataclass(frozen=True)
class DiscreteGaussian:
    """Release project(x + Z), P(Z = z) proportional to e^(-|z|^2 / (2 v)), z whole with sum 0.

    v is the least variance parameter at which `releases` releases of this kind together are
    (epsilon, delta)-private, from the exact privacy curve; it depends on k and on nothing in the
    data. Book: `def-discrete-gaussian`, `thm-discrete-gaussian`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of (tuples of `releases`) posteriors,
    P[M(x) in S] <= e^epsilon P[M(x') in S] + delta.
    """

    epsilon: float
    delta: float = 1e-6
    releases: int = 1
    projection: str = "l2"

    name: ClassVar[str] = "discrete-gaussian"
    definition: ClassVar[str] = "def-discrete-gaussian"
    citations: ClassVar[tuple[str, ...]] = ("canonne-discrete",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.open_unit("delta", self.delta)
        _validate.integer("releases", self.releases, minimum=1)
        _validate.choice("projection", self.projection, PROJECTIONS)

    def variance(self, k: int) -> float:
        """Return v for k categories.

        >>> round(DiscreteGaussian(1.0, 1e-6).variance(4) ** 0.5, 4)
        5.9766
        """
        categories = _validate.integer("k", k, minimum=2)
        return gaussian.variance_for(
            categories, float(self.epsilon), float(self.delta), self.releases
        )

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | SumZeroLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have shape (k,).

        >>> law = DiscreteGaussian(1.0, 1e-6).law([150, 150], [1, 1])
        >>> round(law.mean_distance(), 4)
        0.135
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        noise = gaussian.GaussianNoise(x.size, self.variance(x.size))
        described = (alpha, x, noise, self.projection)
        chosen: FiniteLaw | SumZeroLaw = choose(
            Way("list", True, "all outputs are listed if they fit", lambda: listed_law(*described)),
            Way(
                "series", True, "it takes any number of records and categories",
                lambda: SumZeroLaw(*described),
            ),
        )  # fmt: skip
        return chosen

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-discrete-gaussian`."""
        _validate.integer("k", k, minimum=2)
        variance = self.variance(k)
        together = "" if self.releases == 1 else f", for all {self.releases} releases together"
        return Guarantee(
            exact_epsilon(self.epsilon),
            f"the noise has variance parameter {variance!r}, whose exact privacy curve passes "
            f"below delta at this epsilon{together}; the projection is post-processing",
            "thm-discrete-gaussian",
            min(Fraction(self.delta), Fraction(repr(float(self.delta)))),
        )

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return the noisy counts, which sum to n, and their projection."""
        step = sum_zero_gaussian(bits, counts.size, Fraction(self.variance(counts.size)))
        noisy = plain([int(x) + z for x, z in zip(counts, step, strict=True)])
        return noisy, project(noisy[None, :], self.projection)[0]

    def log_likelihoods(self, noisy: Counts, n: int, k: int) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) for counts 0 … n, up to a constant; one factor a category."""
        values, variance = np.arange(n + 1), self.variance(k)
        return [gaussian.log_weights(variance, int(y) - values) for y in noisy]
