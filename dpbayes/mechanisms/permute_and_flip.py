"""Permute-and-flip: the exponential mechanism's scores, another way to choose, and never
a larger mean distance than the exponential mechanism has with them (`thm-permute-and-flip`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_exponent, distance_from_log_affinity, metric_name
from dpbayes.laws.estimate import log_affinity_of_outputs
from dpbayes.laws.finite import ROUNDING, FiniteLaw
from dpbayes.mechanisms.calibrations import GlobalCalibration, SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.guarantees import Guarantee, given_epsilon
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.posteriors import check_candidates, compositions
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.candidates import draw_flip

SENSITIVITIES = ("global", "smooth")

LARGEST_CANDIDATE_SET = 5_000
_NODES = 600


@dataclass(frozen=True)
class PermuteAndFlip:
    """Go through the candidates in random order; take r with probability exp(-lambda H(BI(x), r)).

    lambda = epsilon / (2 GS) for `sensitivity` "global" and epsilon / (2 (1 + gamma) S(x)) for
    "smooth", as in expMech and expMech-smooth. The truth has H = 0 and is taken when it is reached,
    so the walk ends. McKenna and Sheldon 2020; book: `def-permute-and-flip`.

    Guarantee (`thm-permute-and-flip`): for all count vectors x, x' of n records that differ by
    replacing one record, and every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    sensitivity: str = "global"
    gamma: float = 1.0
    metric: str = "hellinger"

    name: ClassVar[str] = "permute-and-flip"
    definition: ClassVar[str] = "def-permute-and-flip"
    citations: ClassVar[tuple[str, ...]] = ("mckenna-sheldon",)
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.choice("sensitivity", self.sensitivity, SENSITIVITIES)
        _validate.positive("gamma", self.gamma)
        object.__setattr__(self, "metric", metric_name(self.metric))

    @property
    def scores_like(self) -> ExponentialMechanism:
        """The exponential mechanism with the same weights."""
        if self.sensitivity == "global":
            return ExponentialMechanism(self.epsilon, GlobalCalibration(), self.metric)
        return ExponentialMechanism(self.epsilon, SmoothCalibration(self.gamma), self.metric)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law: P[r] = w_r integral_0^1 prod_{s != r} (1 - w_s t) dt.

        t is the place of r in the order, w the probabilities of being taken. The integrand is a
        polynomial with factors in [0, 1]; Gauss's rule sums it without cancellation.

        >>> law = PermuteAndFlip(1.0).law([5, 5], [1, 1])
        >>> exponential = ExponentialMechanism(1.0, GlobalCalibration()).law([5, 5], [1, 1])
        >>> round(law.mean_distance(), 4), round(exponential.mean_distance(), 4)
        (0.3923, 0.4059)
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        taker = "the exact law of permute-and-flip"
        check_candidates(int(x.sum()), x.size, LARGEST_CANDIDATE_SET, taker)
        outputs = compositions(int(x.sum()), x.size)
        exponents, distances = self._exponents(x, alpha, outputs)
        logs = -exponents + _log_survival(np.exp(-exponents))
        # Each factor of the product at a node may be off in its last digit.
        rounding = ROUNDING * (1.0 + 0.5 * len(outputs))
        return FiniteLaw(alpha, x, outputs, logs, 0.0, distances, rounding)

    def _exponents(
        self, x: NDArray[np.int64], alpha: NDArray[np.float64], outputs: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        log_bc = log_affinity_of_outputs(alpha, x, outputs)
        log_bc[np.all(outputs == x, axis=1)] = 0.0
        exponent = affinity_exponent(self.metric, float(alpha.sum() + x.sum()))
        scores = distance_from_log_affinity(log_bc, exponent)
        rate = self.scores_like.rate(x, alpha)
        return rate * scores, distance_from_log_affinity(log_bc)

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-permute-and-flip`, with the bound of the weights."""
        _validate.integer("k", k, minimum=2)
        alike = self.scores_like.guarantee(k)
        if alike.bound is None:
            return alike
        basis = f"permute-and-flip keeps the bound of its weights: {alike.basis}"
        return Guarantee(alike.bound, basis, "thm-permute-and-flip")

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return a candidate twice: privacy is proved for it, and it is what is released."""
        if self.metric != "hellinger":
            raise ValueError(f"metric must be hellinger for a release, got {self.metric!r}")
        chosen = draw_flip(bits, counts, prior, self.scores_like.exact_rate(counts, prior))
        return chosen, chosen


def _log_survival(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    # ln of the integral over [0, 1] of the product of (1 - w_s t) over s other than r, for each r.
    nodes, masses = np.polynomial.legendre.leggauss(min(weights.size // 2 + 1, _NODES))
    t = 0.5 * (nodes + 1.0)
    products = np.array([np.log1p(-weights * at).sum() for at in t])
    top = products.max()
    result = np.zeros(weights.size)
    for at, mass, product in zip(t, masses, products, strict=True):
        result += 0.5 * mass * np.exp(product - top) / (1.0 - weights * at)
    return np.asarray(np.log(result) + top)
