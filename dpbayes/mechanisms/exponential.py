"""The exponential mechanisms: candidates weighted by their distance to the true posterior.

They share one form, P[r] proportional to exp(-epsilon H(BI(x), r) / (factor S(x))) over the
candidate set R, and differ in the calibration: which sensitivity S and which factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import Signature, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_exponent, metric_name
from dpbayes.laws.estimate import Yardstick
from dpbayes.laws.exponential import (
    LARGEST_WINDOW,
    ExponentialLaw,
    exponential_window,
    listed_law,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Way, choose
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms.calibrations import (
    Calibration,
    DeltaCalibration,
    GlobalCalibration,
    LocalCalibration,
    RepairedCalibration,
    Rule,
    SmoothCalibration,
)
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, own
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.posteriors import (
    LARGEST_ENUMERATION,
    check_candidates,
    compositions,
    number_of_candidates,
)
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Balls, Enclosed
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.candidates import draw_candidate
from dpbayes.sensitivity import Sensitivity

LARGEST_FINITE = 400_000
"""Up to this many candidates listing them all is faster than the series."""


@dataclass(frozen=True)
class ExponentialMechanism:
    """Release r in R with probability proportional to exp(-epsilon H(BI(x), r) / (factor S)).

    `metric` names the score H: "hellinger", or "published" for the distance behind the printed
    curves. `divisor`, when given, replaces the calibration's factor; the guarantee stated by the
    calibration then no longer holds.
    """

    epsilon: float
    calibration: Calibration
    metric: str = "hellinger"
    divisor: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.offering("calibration", self.calibration, "sensitivity")
        object.__setattr__(self, "metric", metric_name(self.metric))
        if self.divisor is not None:
            _validate.positive("divisor", self.divisor)

    @property
    def name(self) -> str:
        """The name the mechanism is registered under."""
        return self.calibration.name

    @property
    def factor(self) -> float:
        """The factor in front of the sensitivity in the exponent."""
        return self.calibration.factor if self.divisor is None else float(self.divisor)

    @property
    def definition(self) -> str:
        """Label of the definition in the book; empty for a calibration that has none."""
        return str(getattr(self.calibration, "definition", ""))

    @property
    def citations(self) -> tuple[str, ...]:
        """Keys of the sources."""
        return tuple(getattr(self.calibration, "citations", ()))

    @property
    def symmetric(self) -> bool:
        """Whether the law does not depend on what the categories are called: the score does not."""
        return bool(own(self.calibration, "symmetric"))

    def sensitivity(self, counts: ArrayLike, prior: ArrayLike) -> Sensitivity:
        """Return the sensitivity that scales the score at these counts."""
        return self.calibration.sensitivity(counts, prior, self.epsilon, self.metric)

    def rate(self, counts: ArrayLike, prior: ArrayLike) -> float:
        """Return lambda, with release weights exp(-lambda H)."""
        return self.epsilon / (self.factor * self.sensitivity(counts, prior).value)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | ExponentialLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have shape (k,).

        Candidates are enumerated up to `LARGEST_FINITE` of them; beyond that the law is a window
        around the counts (k = 2) or a short sum of powers (any k and n), with the same methods.

        >>> mechanism = ExponentialMechanism(1.0, SmoothCalibration())
        >>> round(mechanism.law([150, 150], [1, 1]).mean_distance(), 4)
        0.2226
        >>> round(mechanism.law([2500, 2500, 2500, 2500], [1, 1, 1, 1]).mean_distance(), 4)
        0.123
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        size = number_of_candidates(int(x.sum()), x.size)
        exponent = affinity_exponent(self.metric, float(alpha.sum() + x.sum()))

        def window() -> FiniteLaw | None:
            return exponential_window(alpha, x, self.rate(x, alpha), exponent)

        chosen: FiniteLaw | ExponentialLaw = choose(
            Way(
                "list", size <= LARGEST_FINITE,
                f"there are {size} candidates, and up to {LARGEST_FINITE} are listed",
                lambda: self.enumerated(x, alpha),
            ),
            Way(
                "window", x.size == 2,
                f"with k = {x.size} categories; up to {LARGEST_WINDOW} candidates near the truth "
                "are listed at k = 2",
                window,
            ),
            Way(
                "series", True, "it takes any number of records and categories",
                lambda: ExponentialLaw(alpha, x, self.rate(x, alpha), exponent),
            ),
        )  # fmt: skip
        return chosen

    def enumerated(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law over all candidates, at any size whose list fits in memory."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        check_candidates(int(x.sum()), x.size, LARGEST_ENUMERATION // x.size, "a list")
        exponent = affinity_exponent(self.metric, float(alpha.sum() + x.sum()))
        return listed_law(alpha, x, self.rate(x, alpha), exponent)

    def rates(self, n: int, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lambda for every data set of n records, in lexicographic order, shape (N,)."""
        rule = self._rule(n, prior.size) if prior.size == 2 else None
        if rule is None:
            return np.array([self.rate(x, prior) for x in compositions(n, prior.size)])
        return np.asarray(self.epsilon / (self.factor * rule.profile(n, prior, self.metric)))

    def _rule(self, n: int, k: int) -> Rule | None:
        # Which S it is, where the exact type of the calibration says so.
        stated = own(self.calibration, "rule")
        return None if stated is None else stated(max(n, 1), float(self.epsilon), k)

    def scaled(self, share: float) -> ExponentialMechanism:
        """Return the mechanism with every lambda `share` times as large.

        Where S follows from epsilon (expMech-delta) that epsilon stays and `divisor` changes.
        """
        if getattr(self.calibration, "follows_epsilon", False):
            return replace(self, divisor=self.factor / share)
        return replace(self, epsilon=float(self.epsilon * share))

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved for the calibration and the factor in use."""
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
        """Return the rate lambda that is drawn with, lowered by what the width of S could cost.

        S is known in ball arithmetic, to a relative error e below 2^-100. For two neighbours the
        exponents then differ by at most (epsilon/2) (1 - s) + 2 e epsilon / S, since H <= 1; the
        slack s = 4 e / S keeps that within epsilon/2. Raises TypeError for a calibration that
        cannot enclose its S.
        """
        known = self._enclosed(counts, prior)
        sensitivity = known.middle
        slack = min(Fraction(1, 2), 4 * known.relative_error / sensitivity)
        return exact_epsilon(self.epsilon) * (1 - slack) / (Fraction(self.factor) * sensitivity)

    def enclosed_law(self, library: Any, counts: Counts, prior: NDArray[np.float64]) -> Balls:
        """Return ln P of every candidate in ball arithmetic, for audits."""
        known = self._enclosed(counts, prior)
        epsilon, factor = exact_epsilon(self.epsilon), Fraction(self.factor)
        return balls.exponential(library, counts, prior, epsilon, factor, known)

    def _enclosed(self, counts: Counts, prior: NDArray[np.float64]) -> Enclosed:
        rule = self._rule(int(counts.sum()), counts.size)
        if self.metric != "hellinger":
            raise ValueError(f"metric must be hellinger for a release, got {self.metric!r}")
        if rule is None:
            raise TypeError(
                f"calibration must enclose its sensitivity for a release, got {self.calibration!r}"
            )
        return rule.enclosed(counts, prior)

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return a candidate twice: privacy is proved for it, and it is what is released."""
        chosen = draw_candidate(bits, counts, prior, self.exact_rate(counts, prior))
        return chosen, chosen

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step as the data grow, when S = LS shrinks with them."""
        if not getattr(self.calibration, "shrinks", True):
            raise ValueError(
                f"{self.name} has no limiting step law: its sensitivity does not shrink with n"
            )
        return StepLaw(self.epsilon / self.factor, scored=True)


def scored(calibration: Callable[..., Calibration]) -> Callable[..., ExponentialMechanism]:
    """Return what makes the mechanism of a calibration; its options are those of both.

    >>> scored(SmoothCalibration)(1.0, gamma=0.3).factor
    2.6
    """

    def made(
        epsilon: float,
        metric: Yardstick = "hellinger",
        divisor: float | None = None,
        **options: Any,
    ) -> ExponentialMechanism:
        return ExponentialMechanism(epsilon, calibration(**options), metric_name(metric), divisor)

    first, *rest = (one for one in signature(made).parameters.values() if one.name != "options")
    own_options = [
        one.replace(kind=first.kind) for one in signature(calibration).parameters.values()
    ]
    made.__signature__ = Signature([first, *own_options, *rest])  # type: ignore[attr-defined]
    return made


exp_mech = scored(GlobalCalibration)
exp_mech_local = scored(LocalCalibration)
exp_mech_smooth = scored(SmoothCalibration)
exp_mech_delta = scored(DeltaCalibration)
exp_mech_repaired = scored(RepairedCalibration)
