"""The exponential mechanisms: candidates weighted by their distance to the true
posterior.

They share one form, P[r] proportional to exp(-epsilon H(BI(x), r) / (factor S(x))) over
the candidate set R, and differ in the calibration: which sensitivity S and which
factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import (
    affinity_exponent,
    metric_name,
)
from dpbayes.laws.exponential import (
    LARGEST_WINDOW,
    ExponentialLaw,
    exponential_window,
    listed_law,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Way, choose
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms import calibrations
from dpbayes.mechanisms.calibrations import Calibration, Rule
from dpbayes.mechanisms.capabilities import Counts, Drawn, own
from dpbayes.mechanisms.look import (
    DASH_DOT,
    DASH_DOT_DOT,
    DASHED,
    DOTTED,
    SHORT,
    SOLID,
    Look,
)
from dpbayes.mechanisms.protocol import Guarantee, exact_epsilon
from dpbayes.mechanisms.spec import Nominal, Option, Spec, or_none
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.samplers.balls import Enclosed
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.candidates import draw_candidate
from dpbayes.sensitivity import Sensitivity

LARGEST_FINITE = 400_000  # up to this many candidates a list is faster than the series

METRIC = Option(
    lambda name, value: metric_name(value),
    ("hellinger", "published"),
    "the score: the Hellinger distance, or the distance of the printed curves",
)


class _Ruled(Protocol):
    """A calibration that states which sensitivity it takes."""

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return it for n >= 1 records over k categories."""


class _Promised(Protocol):
    """A calibration that states what is proved of it."""

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return the guarantee of weights exp(-epsilon H / (factor S))."""


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

    options: ClassVar[Mapping[str, Option]] = {
        "metric": METRIC,
        "divisor": Option(
            or_none(_validate.positive),
            (None, 1.0),
            "a positive number in place of the factor of the calibration, or None",
        ),
    }

    def __post_init__(self) -> None:
        _validate.instance("calibration", self.calibration, Calibration)
        super().__post_init__()

    @property
    def name(self) -> str:
        """The name of the calibration, such as "expMech-smooth"."""
        return self.calibration.name

    @property
    def factor(self) -> float:
        """What stands before S in the exponent: `divisor`, or the factor of the
        calibration.
        """
        return self.calibration.factor if self.divisor is None else float(self.divisor)

    @property
    def symmetric(self) -> bool:
        """Whether the law does not depend on what the categories are called: no `Rule`
        does.
        """
        return own(self.calibration, _Ruled) is not None

    def sensitivity(self, counts: ArrayLike, prior: ArrayLike) -> Sensitivity:
        """Return the sensitivity S(x) in (0, 1] that scales the score at counts x (k,).

        Its `witness` is the pair of neighbours that attains it.
        """
        return self.calibration.sensitivity(counts, prior, self.epsilon, self.metric)

    def rate(self, counts: ArrayLike, prior: ArrayLike) -> float:
        """Return lambda = epsilon / (factor S(x)), with release weights exp(-lambda
        H).
        """
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
                f"with k = {x.size} categories; up to {LARGEST_WINDOW} candidates near"
                " the truth are listed at k = 2",
                lambda: exponential_window(*described),
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

        The law that `law` returns while candidates are few; for comparisons beyond.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        return listed_law(alpha, x, self.rate(x, alpha), self.exponent(x, alpha))

    def exponent(self, x: NDArray[np.int64], alpha: NDArray[np.float64]) -> float:
        """Return s of the score sqrt(1 - BC^s) by `metric`: 1, or 1/ln(sum of alpha +
        n).
        """
        return affinity_exponent(self.metric, float(alpha.sum() + x.sum()))

    def rates(self, n: int, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lambda of every data set of n records, in lexicographic order, shape
        (N,).

        N = C(n + k - 1, k - 1). At k = 2 all are found at once, in O(n), from
        `Rule.profile`.
        """
        rule = self._rule(n, prior.size)
        if rule is None or prior.size > 2:
            return np.array([self.rate(x, prior) for x in compositions(n, prior.size)])
        return np.asarray(
            self.epsilon / (self.factor * rule.profile(n, prior, self.metric))
        )

    def _rule(self, n: int, k: int) -> Rule | None:
        # Which S it is, where the exact type of the calibration says so.
        stated = own(self.calibration, _Ruled)
        if stated is None:
            return None
        return stated.rule(max(n, 1), float(self.epsilon), k)

    def scaled(self, share: float) -> ExponentialMechanism:
        """Return the mechanism with every lambda `share` times as large. Where S
        follows from epsilon, that one stays and the divisor changes.
        """
        # Where S follows from epsilon that epsilon stays.
        if self.calibration.follows_epsilon:
            return replace(self, divisor=self.factor / share)
        return replace(self, epsilon=float(self.epsilon * share))

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved of the calibration, for the Hellinger distance only.

        Then for all neighbouring x, x' of n records, one replaced, and every set S of
        outputs P[M(x) in S] <= e^bound P[M(x') in S] + failure, bound and failure as
        `Calibration.promise` states them for this factor. No bound for the published
        score or a calibration of another type.
        """
        _validate.integer("k", k, minimum=2)
        if self.metric != "hellinger":
            return Guarantee(None, f"no proof covers the score {self.metric!r}")
        stated = own(self.calibration, _Promised)
        if stated is None:
            kind = type(self.calibration).__name__
            return Guarantee(None, f"no proof is recorded for the calibration {kind}")
        return stated.promise(exact_epsilon(self.epsilon), self.factor)

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
        """Return the law of the step as the data grow, when S = LS shrinks with them.

        P(T = t) is proportional to e^(-epsilon |t| / factor), as H / S counts the steps
        in the limit. Book: `thm-step-limit`. Raises ValueError where S does not shrink
        with n.
        """
        if not self.calibration.shrinks:
            raise ValueError(
                f"{self.name} has no limiting step law: its sensitivity does not shrink"
                " with n"
            )
        return StepLaw(self.epsilon / self.factor, scored=True)


@dataclass(frozen=True)
class Scored:
    """What makes the exponential mechanism of a calibration from the options of both.

    >>> Scored(calibrations.SmoothCalibration)(1.0, gamma=0.3).factor
    2.6
    """

    calibration: type[Calibration]

    def __call__(self, epsilon: float, **options: Any) -> ExponentialMechanism:
        """Return the mechanism at this epsilon."""
        shared = {
            name: options.pop(name)
            for name in ExponentialMechanism.options
            if name in options
        }
        return ExponentialMechanism(epsilon, self.calibration(**options), **shared)


def _spec(
    calibration: type[Calibration],
    look: Look,
    theorem: str | None,
    sources: tuple[str, ...],
    **variants: Look,
) -> Spec:
    options = {**calibration.options, **ExponentialMechanism.options}
    made = Scored(calibration)
    return Spec(calibration.name, made, options, look, theorem, sources, variants)


_SCORES = ("liu-tailoring", "mcsherry-talwar")
_SMOOTH = (*_SCORES, "nissim-smooth")

SPECS = (
    _spec(
        calibrations.GlobalCalibration,
        Look(
            "#0173B2",
            SOLID,
            "o",
            "----",
            "exponential mechanism with the global sensitivity",
        ),
        "thm-exponential-private",
        _SCORES,
    ),
    _spec(
        calibrations.LocalCalibration,
        Look(
            "#2F95D3",
            DOTTED,
            "<",
            "||",
            "exponential mechanism with the local sensitivity",
        ),
        None,
        _SCORES,
    ),
    _spec(
        calibrations.SmoothCalibration,
        Look(
            "#C4619B",
            DASHED,
            "D",
            "xx",
            "exponential mechanism with the smooth sensitivity",
        ),
        "thm-smooth-private",
        _SMOOTH,
        calibrated=Look(
            "#8A2F6B",
            DASH_DOT_DOT,
            "P",
            "xxxx",
            "the same, calibrated by an exact audit",
        ),
    ),
    _spec(
        calibrations.DeltaCalibration,
        Look("#6A51C4", DASH_DOT, "X", "++", "exponential mechanism with a δ"),
        None,
        ("bun-abstract", "liu-draft", "liu-notes", "mcsherry-talwar", "nissim-smooth"),
    ),
    _spec(
        calibrations.RepairedCalibration,
        Look("#3F3A8C", SHORT, "H", "++..", "repaired exponential mechanism with a δ"),
        "thm-repaired",
        ("bun-abstract", "liu-draft", "mcsherry-talwar", "nissim-smooth"),
    ),
)
