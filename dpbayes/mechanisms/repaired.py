"""The repaired mechanism with a delta: it pays for the change of the sensitivity, and is private.

A's mechanism (`expMech-delta`) lets the smooth sensitivity change from one data set to the next and
does not pay for what that does to the normalising constant. Here a share of epsilon is set aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, rounded_up, upper_float
from dpbayes.posteriors import number_of_candidates
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Enclosed
from dpbayes.sensitivity import Sensitivity, profile, smooth_sensitivity

# S is a float with a relative error below 1e-12, so ln S as computed changes by at most 2e-12 more
# than gamma. The rate is lowered by a millionth, or by twice these 2e-12 where a millionth is less.
_MARGIN = 1e-6
_ROUNDING = 4e-12
_LEAST = 1e-11


@dataclass(frozen=True)
class RepairedCalibration:
    """expMech-repaired: exponential smooth S, weights exp(-(1 - share) epsilon H / (2 S)).

    e^gamma - 1 = share epsilon / ln(|R| / delta), d counted in replaced records; gamma is lowered
    by one part in a million, or 4e-12, for rounding. `share` in (0, 1) of epsilon pays for the
    change of S. Book: `def-expmech-repaired`, `thm-repaired`. Guarantee: for all count vectors
    x, x' of n records over k categories that differ by replacing one record, and every set S of
    posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, for every n, k and prior.
    """

    delta: float = 1e-8
    share: float = 0.2

    name: ClassVar[str] = "expMech-repaired"
    definition: ClassVar[str] = "def-expmech-repaired"
    citations: ClassVar[tuple[str, ...]] = (
        "bun-abstract", "liu-draft", "mcsherry-talwar", "nissim-smooth",
    )  # fmt: skip
    follows_epsilon: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _validate.open_unit("delta", self.delta)
        _validate.open_unit("share", self.share)

    @property
    def factor(self) -> float:
        """2 / (1 - share), rounded up: a draw divides by it."""
        return upper_float(2 / (1 - Fraction(self.share)))

    def gamma(self, n: int, epsilon: float, k: int = 2) -> float:
        """Return the smoothing rate for n >= 1 records over k categories.

        Raises ValueError where it is too small for S in floats to keep the promise.

        >>> round(RepairedCalibration(delta=1e-8, share=0.2).gamma(100, 0.8), 9)
        0.006921693
        """
        logarithm = math.log(number_of_candidates(n, k)) - math.log(self.delta)
        proved = math.log1p(self.share * float(epsilon) / logarithm)
        if proved < _LEAST:
            enough = rounded_up(Fraction(_LEAST * logarithm * (1.0 + _MARGIN)))
            raise ValueError(
                f"share * epsilon must be at least {enough} for n = {n} and k = "
                f"{k}, got share = {self.share!r} and epsilon = {float(epsilon)!r}"
            )
        return proved - max(_MARGIN * proved, _ROUNDING)

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return the exponential smooth sensitivity at these counts."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        gamma = self.gamma(max(int(x.sum()), 1), epsilon, x.size)
        return smooth_sensitivity(x, alpha, gamma, "exponential", "hamming", metric)

    def profile(
        self, n: int, prior: NDArray[np.float64], epsilon: float, metric: str
    ) -> NDArray[np.float64]:
        """Return S of (x, n - x) for x = 0 … n."""
        gamma = self.gamma(n, epsilon)
        return profile(n, prior, True, gamma, "exponential", "hamming", metric)

    def enclosed(self, counts: ArrayLike, prior: ArrayLike, epsilon: float) -> Enclosed:
        """Return S in rigorous bounds for gamma as computed, for a release."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        gamma = self.gamma(max(int(x.sum()), 1), epsilon, x.size)
        return balls.smooth(x, alpha, gamma, "exponential")

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return what is proved: `thm-repaired`, for another factor with its own first term."""
        share = Fraction(self.share)
        bound = (
            epsilon if factor == self.factor else 2 * epsilon / Fraction(factor) + share * epsilon
        )
        delta = exact_epsilon(self.delta)
        return Guarantee(
            bound,
            f"candidates are weighted by exp(-{rounded_up(epsilon)} H / ({factor:.6g} S)) with S "
            f"the smooth sensitivity, which one record changes by a factor of at most e^gamma, and "
            f"e^gamma - 1 = {rounded_up(share * epsilon)} / ln(|R| / {self.delta:g}) pays for that",
            "thm-repaired",
            delta,
        )


def exp_mech_repaired(
    epsilon: float,
    delta: float = 1e-8,
    share: float = 0.2,
    metric: str = "hellinger",
    divisor: float | None = None,
) -> ExponentialMechanism:
    """Return expMech-repaired, truly (epsilon, delta)-private for every n, k and prior."""
    return ExponentialMechanism(epsilon, RepairedCalibration(delta, share), metric, divisor)
