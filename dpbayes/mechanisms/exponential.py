"""The exponential mechanisms: candidates weighted by their distance to the true
posterior.

They share one form, P[r] proportional to exp(-epsilon H(BI(x), r) / (factor S(x))) over
the candidate set R, and differ in the calibration: which sensitivity S and which
factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import Signature, signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import (
    affinity_exponent,
    distance_from_log_affinity,
    metric_name,
)
from dpbayes.laws.estimate import log_affinity_of_outputs
from dpbayes.laws.exponential import (
    LARGEST_WINDOW,
    ExponentialLaw,
    exponential_window,
    listed_law,
)
from dpbayes.laws.finite import ROUNDING, FiniteLaw
from dpbayes.laws.law import Way, choose
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms import calibrations
from dpbayes.mechanisms.calibrations import Calibration, Rule
from dpbayes.mechanisms.protocol import (
    Counts,
    Drawn,
    Guarantee,
    Nominal,
    exact_epsilon,
    own,
)
from dpbayes.posteriors import check_candidates, compositions, number_of_candidates
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Balls, Enclosed
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.candidates import draw_candidate, draw_flip
from dpbayes.sensitivity import Sensitivity

LARGEST_FINITE = 400_000  # up to this many candidates a list is faster than the series
LARGEST_FLIP = 5_000  # most candidates of permute-and-flip, whose square is the work
_NODES = 600


@dataclass(frozen=True)
class ExponentialMechanism(Nominal):
    """Release r in R with probability proportional to exp(-epsilon H(BI(x), r) /
    (factor S)).

    `metric` names the score H: "hellinger", or "published" for the distance behind the
    printed curves. `divisor`, when given, replaces the calibration's factor, and the
    promise follows it.
    """

    calibration: Calibration
    metric: str = "hellinger"
    divisor: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.instance("calibration", self.calibration, Calibration)
        object.__setattr__(self, "metric", metric_name(self.metric))
        if self.divisor is not None:
            _validate.positive("divisor", self.divisor)

    @property
    def name(self) -> str:
        return self.calibration.name

    @property
    def citations(self) -> tuple[str, ...]:
        return self.calibration.citations

    @property
    def factor(self) -> float:
        return self.calibration.factor if self.divisor is None else float(self.divisor)

    @property
    def symmetric(self) -> bool:
        """Whether the law does not depend on what the categories are called: no `Rule`
        does.
        """
        return own(self.calibration, "rule") is not None

    def sensitivity(self, counts: ArrayLike, prior: ArrayLike) -> Sensitivity:
        """Return the sensitivity that scales the score at these counts."""
        return self.calibration.sensitivity(counts, prior, self.epsilon, self.metric)

    def rate(self, counts: ArrayLike, prior: ArrayLike) -> float:
        """Return lambda, with release weights exp(-lambda H)."""
        return self.epsilon / (self.factor * self.sensitivity(counts, prior).value)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | ExponentialLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have
        shape (k,).

        >>> mechanism = ExponentialMechanism(1.0, calibrations.SmoothCalibration())
        >>> round(mechanism.law([150, 150], [1, 1]).mean_distance(), 4)
        0.2226
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        size = number_of_candidates(int(x.sum()), x.size)
        described = alpha, x, self.rate(x, alpha), self.exponent(x, alpha)
        chosen: FiniteLaw | ExponentialLaw = choose(
            Way(
                "list", size <= LARGEST_FINITE,
                f"there are {size} candidates, and up to {LARGEST_FINITE} are listed",
                lambda: listed_law(*described),
            ),
            Way(
                "window", x.size == 2,
                f"with k = {x.size} categories; up to {LARGEST_WINDOW} candidates near the truth "
                "are listed at k = 2", lambda: exponential_window(*described),
            ),
            Way(
                "series", True, "it takes any number of records and categories",
                lambda: ExponentialLaw(*described),
            ),
        )  # fmt: skip
        return chosen

    def enumerated(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law over all candidates, at any size whose list fits in
        memory.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        return listed_law(alpha, x, self.rate(x, alpha), self.exponent(x, alpha))

    def exponent(self, x: NDArray[np.int64], alpha: NDArray[np.float64]) -> float:
        """Return s of the score sqrt(1 - BC^s) by `metric`."""
        return affinity_exponent(self.metric, float(alpha.sum() + x.sum()))

    def rates(self, n: int, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        rule = self._rule(n, prior.size)
        if rule is None or prior.size > 2:
            return np.array([self.rate(x, prior) for x in compositions(n, prior.size)])
        return np.asarray(
            self.epsilon / (self.factor * rule.profile(n, prior, self.metric))
        )

    def _rule(self, n: int, k: int) -> Rule | None:
        # Which S it is, where the exact type of the calibration says so.
        stated = own(self.calibration, "rule")
        return None if stated is None else stated(max(n, 1), float(self.epsilon), k)

    def scaled(self, share: float) -> ExponentialMechanism:
        # Where S follows from epsilon that epsilon stays.
        if self.calibration.follows_epsilon:
            return replace(self, divisor=self.factor / share)
        return replace(self, epsilon=float(self.epsilon * share))

    def guarantee(self, k: int) -> Guarantee:
        _validate.integer("k", k, minimum=2)
        if self.metric != "hellinger":
            return Guarantee(None, f"no proof covers the score {self.metric!r}")
        promise = own(self.calibration, "promise")
        if promise is None:
            kind = type(self.calibration).__name__
            return Guarantee(None, f"no proof is recorded for the calibration {kind}")
        stated: Guarantee = promise(exact_epsilon(self.epsilon), self.factor)
        return stated

    def exact_rate(self, counts: Counts, prior: NDArray[np.float64]) -> Fraction:
        """Return the rate lambda that is drawn with, lowered by what the width of S
        could cost.

        S is known in ball arithmetic, to a relative error e below 2^-100. For two
        neighbours the exponents then differ by at most (epsilon/2) (1 - s) + 2 e
        epsilon / S, since H <= 1; the slack s = 4 e / S keeps that within epsilon/2.
        """
        known = self._enclosed(counts, prior)
        sensitivity = known.middle
        slack = min(Fraction(1, 2), 4 * known.relative_error / sensitivity)
        return (
            exact_epsilon(self.epsilon)
            * (1 - slack)
            / (Fraction(self.factor) * sensitivity)
        )

    def enclosed_law(
        self, library: Any, counts: Counts, prior: NDArray[np.float64]
    ) -> Balls:
        known = self._enclosed(counts, prior)
        epsilon, factor = exact_epsilon(self.epsilon), Fraction(self.factor)
        return balls.exponential(library, counts, prior, epsilon, factor, known)

    def _enclosed(self, counts: Counts, prior: NDArray[np.float64]) -> Enclosed:
        rule = self._rule(int(counts.sum()), counts.size)
        if self.metric != "hellinger":
            raise ValueError(
                f"metric must be hellinger for a release, got {self.metric!r}"
            )
        if rule is None:
            raise TypeError(
                "calibration must enclose its sensitivity for a release, got"
                f" {self.calibration!r}"
            )
        return rule.enclosed(counts, prior)

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return a candidate twice: privacy is proved for it, and it is what is
        released.
        """
        chosen = draw_candidate(bits, counts, prior, self.exact_rate(counts, prior))
        return chosen, chosen

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step as the data grow, when S = LS shrinks with
        them."""
        if not self.calibration.shrinks:
            raise ValueError(
                f"{self.name} has no limiting step law: its sensitivity does not shrink"
                " with n"
            )
        return StepLaw(self.epsilon / self.factor, scored=True)


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
    citations: ClassVar[tuple[str, ...]] = ("mckenna-sheldon",)
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.choice("sensitivity", self.sensitivity, ("global", "smooth"))
        _validate.positive("gamma", self.gamma)
        object.__setattr__(self, "metric", metric_name(self.metric))

    @property
    def scores_like(self) -> ExponentialMechanism:
        """The exponential mechanism with the same weights."""
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
        alike = self.scores_like.guarantee(k)
        if alike.bound is None:
            return alike
        basis = f"permute-and-flip keeps the bound of its weights: {alike.basis}"
        return Guarantee(alike.bound, basis, "thm-permute-and-flip")

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
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


def scored(
    calibration: Callable[..., Calibration],
) -> Callable[..., ExponentialMechanism]:
    """Return what makes the mechanism of a calibration; its options are those of both.

    >>> scored(calibrations.SmoothCalibration)(1.0, gamma=0.3).factor
    2.6
    """

    def made(epsilon: float, **options: Any) -> ExponentialMechanism:
        shared = {
            name: options.pop(name) for name in ("metric", "divisor") if name in options
        }
        return ExponentialMechanism(epsilon, calibration(**options), **shared)

    whole = signature(ExponentialMechanism).parameters
    options = [
        *signature(calibration).parameters.values(),
        whole["metric"],
        whole["divisor"],
    ]
    made.__signature__ = Signature([whole["epsilon"], *options])  # type: ignore[attr-defined]
    return made
