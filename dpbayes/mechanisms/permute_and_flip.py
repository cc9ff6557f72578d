"""Permute-and-flip: the candidates of the exponential mechanism, tried in random order.

McKenna and Sheldon (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.laws.estimate import (
    log_affinity_of_outputs,
)
from dpbayes.laws.finite import ROUNDING, FiniteLaw
from dpbayes.mechanisms import calibrations
from dpbayes.mechanisms.calibrations import Calibration
from dpbayes.mechanisms.capabilities import Counts, Drawn
from dpbayes.mechanisms.exponential import METRIC, ExponentialMechanism
from dpbayes.mechanisms.look import DASH_DOT_DOT, Look
from dpbayes.mechanisms.protocol import Guarantee
from dpbayes.mechanisms.spec import Nominal, Option, Spec, words_of
from dpbayes.posteriors import check_candidates, compositions
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.candidates import draw_flip

LARGEST_FLIP = 5_000  # most candidates, whose square is the work
_NODES = 600


@dataclass(frozen=True)
class PermuteAndFlip(Nominal):
    """Go through the candidates in random order; take r with probability exp(-lambda
    H(BI(x), r)).

    lambda = epsilon / (2 GS) for `sensitivity` "global" and epsilon / (2 (1 + gamma)
    S(x)) for "smooth", as in expMech and expMech-smooth, and never a larger mean
    distance than theirs. The truth has H = 0 and is taken when it is reached, so the
    walk ends. McKenna and Sheldon 2020; book: `def-permute-and-flip`. Guarantee:
    epsilon (`thm-permute-and-flip`).
    """

    sensitivity: str = "global"
    gamma: float = 1.0
    metric: str = "hellinger"

    name: ClassVar[str] = "permute-and-flip"
    symmetric: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {
        "sensitivity": words_of(
            ("global", "smooth"), "which sensitivity scales the score"
        ),
        "gamma": calibrations.GAMMA,
        "metric": METRIC,
    }

    @property
    def scores_like(self) -> ExponentialMechanism:
        """The exponential mechanism with the same weights: expMech, or
        expMech-smooth.
        """
        chosen: Calibration = calibrations.GlobalCalibration()
        if self.sensitivity == "smooth":
            chosen = calibrations.SmoothCalibration(self.gamma)
        return ExponentialMechanism(self.epsilon, chosen, self.metric)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law: P[r] = w_r integral_0^1 prod_{s != r} (1 - w_s t) dt.

        t is the place of r in the order, w the probabilities of being taken. The
        integrand is a polynomial with factors in [0, 1]; Gauss's rule sums it without
        cancellation.

        >>> round(PermuteAndFlip(1.0).law([5, 5], [1, 1]).mean_distance(), 4)
        0.3923
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, taker = int(x.sum()), "the exact law of permute-and-flip"
        check_candidates(n, x.size, LARGEST_FLIP, taker)
        outputs = compositions(n, x.size)
        log_bc = log_affinity_of_outputs(alpha, x, outputs)
        log_bc[np.all(outputs == x, axis=1)] = 0.0
        scores = distance_from_log_affinity(log_bc, self.scores_like.exponent(x, alpha))
        exponents = self.scores_like.rate(x, alpha) * scores
        logs = -exponents + _log_survival(np.exp(-exponents))
        # Each factor of the product at a node may be off in its last digit.
        rounding = ROUNDING * (1.0 + 0.5 * len(outputs))
        distances = distance_from_log_affinity(log_bc)
        return FiniteLaw(alpha, x, outputs, logs, 0.0, distances, rounding)

    def guarantee(self, k: int) -> Guarantee:
        """Return the bound of the exponential mechanism with the same weights.

        For all x, x' of n records with one replaced, and every set S of candidates,
        P[M(x) in S] <= e^epsilon P[M(x') in S] (`thm-permute-and-flip`).
        """
        alike = self.scores_like.guarantee(k)
        if alike.bound is None:
            return alike
        basis = f"permute-and-flip keeps the bound of its weights: {alike.basis}"
        return Guarantee(alike.bound, basis, "thm-permute-and-flip")

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return a candidate twice: privacy is proved for it, and it is what is
        released.
        """
        chosen = draw_flip(
            bits, counts, prior, self.scores_like.exact_rate(counts, prior)
        )
        return chosen, chosen


def _log_survival(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    # ln of the integral over [0, 1] of the product of (1 - w_s t) over s other than r,
    # for each r.
    nodes, masses = np.polynomial.legendre.leggauss(min(weights.size // 2 + 1, _NODES))
    t = 0.5 * (nodes + 1.0)
    products = np.array([np.log1p(-weights * at).sum() for at in t])
    top = products.max()
    result = np.zeros(weights.size)
    for at, mass, product in zip(t, masses, products, strict=True):
        result += 0.5 * mass * np.exp(product - top) / (1.0 - weights * at)
    return np.asarray(np.log(result) + top)


SPECS = (
    Spec(
        PermuteAndFlip.name,
        PermuteAndFlip,
        PermuteAndFlip.options,
        Look("#D1495B", DASH_DOT_DOT, "h", "-\\\\", "candidates tried in random order"),
        theorem="thm-permute-and-flip",
        sources=("mckenna-sheldon",),
    ),
)
