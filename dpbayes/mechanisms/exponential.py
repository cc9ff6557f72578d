"""The exponential mechanisms: candidates weighted by their distance to the true posterior.

They share one form, P[r] proportional to exp(-epsilon H(BI(x), r) / (factor S(x))) over the
candidate set R, and differ in the calibration: which sensitivity S and which factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import METRICS, affinity_exponent, distance_from_log_affinity
from dpbayes.laws.finite import FiniteLaw, log_affinity_of_outputs, normalised
from dpbayes.laws.series.law import SeriesLaw
from dpbayes.laws.two_categories import exponential_window
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.sensitivity import (
    DISTANCES,
    Sensitivity,
    global_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
)

FAILURE_TERMS = ("2(n+1)", "2n")

LARGEST_FINITE = 400_000
"""Up to this many candidates listing them all is faster than the series."""


@dataclass(frozen=True)
class GlobalCalibration:
    """expMech (D, section 4.2.1; C, 2.1): S = GS, factor 2. Book: `def-expmech`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    name: ClassVar[str] = "expMech"
    factor: ClassVar[float] = 2.0

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return the global sensitivity of the score for data sets of this size."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        return global_sensitivity(int(x.sum()), alpha, metric)


@dataclass(frozen=True)
class LocalCalibration:
    """expMech-local (D, section 4.2.2; C, 2.2): S = LS(x), factor 2. Book: `def-expmech-local`.

    No guarantee: LS(x) depends on the data, and for small priors the actual privacy loss exceeds
    epsilon (`dpbayes.audit` shows where).
    """

    name: ClassVar[str] = "expMech-local"
    factor: ClassVar[float] = 2.0

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return the local sensitivity at these counts."""
        return local_sensitivity(counts, prior, metric)


@dataclass(frozen=True)
class SmoothCalibration:
    """expMech-smooth (D, Definitions 3 and 4): reciprocal smooth S, factor 2 (1 + gamma).

    The paper's gamma = 1 gives its factor 4. Measured in l1, one replaced record is a distance
    of 2, so the factor is 2 (1 + 2 gamma). Book: `def-expmech-smooth`, `thm-smooth-private`.
    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    gamma: float = 1.0
    distance: str = "hamming"

    name: ClassVar[str] = "expMech-smooth"

    def __post_init__(self) -> None:
        _validate.positive("gamma", self.gamma)
        _validate.choice("distance", self.distance, DISTANCES)

    @property
    def factor(self) -> float:
        """2 (1 + the most that 1/S changes when one record is replaced)."""
        change = self.gamma * (2.0 if self.distance == "l1" else 1.0)
        return 2.0 * (1.0 + change)

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return the reciprocal smooth sensitivity at these counts."""
        return smooth_sensitivity(counts, prior, self.gamma, "reciprocal", self.distance, metric)


@dataclass(frozen=True)
class DeltaCalibration:
    """expMech-delta (A, Theorem 4.1; B, 4; C, 2.3): exponential smooth S, factor 2.

    gamma = ln(1 - epsilon / (2 ln(delta / 2(n+1)))). A measures d in l1, B and C in Hamming
    distance; the authors' program used 2n for 2(n+1) (`failure_term`). Book: `def-expmech-delta`.
    Claimed: (epsilon, delta)-DP for one replaced record; false for d = l1, for Hamming neither
    proved nor refuted.
    """

    delta: float = 1e-8
    distance: str = "hamming"
    failure_term: str = "2(n+1)"

    name: ClassVar[str] = "expMech-delta"
    factor: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        _validate.open_unit("delta", self.delta)
        _validate.choice("distance", self.distance, DISTANCES)
        _validate.choice("failure_term", self.failure_term, FAILURE_TERMS)

    def gamma(self, n: int, epsilon: float) -> float:
        """Return the smoothing rate for data sets of n >= 1 records.

        >>> round(DeltaCalibration(delta=1e-8).gamma(100, 0.8), 9)
        0.016716544
        """
        size = _validate.integer("n", n, minimum=1)
        term = 2.0 * size if self.failure_term == "2n" else 2.0 * (size + 1)
        return float(np.log1p(-epsilon / (2.0 * np.log(self.delta / term))))

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return the exponential smooth sensitivity at these counts."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        gamma = self.gamma(max(int(x.sum()), 1), epsilon)
        return smooth_sensitivity(x, alpha, gamma, "exponential", self.distance, metric)


Calibration = GlobalCalibration | LocalCalibration | SmoothCalibration | DeltaCalibration


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
        _validate.positive("epsilon", self.epsilon)
        _validate.choice("metric", self.metric, METRICS)
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

    def sensitivity(self, counts: ArrayLike, prior: ArrayLike) -> Sensitivity:
        """Return the sensitivity that scales the score at these counts."""
        return self.calibration.sensitivity(counts, prior, self.epsilon, self.metric)

    def rate(self, counts: ArrayLike, prior: ArrayLike) -> float:
        """Return lambda, with release weights exp(-lambda H)."""
        return self.epsilon / (self.factor * self.sensitivity(counts, prior).value)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | SeriesLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have shape (k,).

        Candidates are enumerated up to `LARGEST_FINITE` of them; beyond that the law is a window
        around the counts (k = 2) or a series (any k and n), with the same methods and an error
        bound below 10^-9.

        >>> mechanism = ExponentialMechanism(1.0, SmoothCalibration())
        >>> round(mechanism.law([150, 150], [1, 1]).mean_distance(), 4)
        0.2226
        >>> round(mechanism.law([2500, 2500, 2500, 2500], [1, 1, 1, 1]).mean_distance(), 4)
        0.123
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        if number_of_candidates(int(x.sum()), x.size) <= LARGEST_FINITE:
            return self.enumerated(x, alpha)
        rate = self.rate(x, alpha)
        exponent = affinity_exponent(self.metric, float(alpha.sum() + x.sum()))
        window = exponential_window(alpha, x, rate, exponent) if x.size == 2 else None
        return SeriesLaw(alpha, x, rate, exponent) if window is None else window

    def enumerated(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law with every candidate listed, at any size that fits in memory."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        exponent = affinity_exponent(self.metric, float(alpha.sum() + x.sum()))
        rate = self.rate(x, alpha)
        outputs = compositions(int(x.sum()), x.size)
        log_bc = log_affinity_of_outputs(alpha, x, outputs)
        distances = distance_from_log_affinity(log_bc)
        scores = distances if exponent == 1.0 else distance_from_log_affinity(log_bc, exponent)
        return FiniteLaw(alpha, x, outputs, normalised(-rate * scores), 0.0, distances)


def score_table(n: int, prior: ArrayLike, metric: str = "hellinger") -> NDArray[np.float64]:
    """Return H(BI(x), r) for all counts x and outputs r of n records, shape (n+1, n+1); k = 2."""
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    exponent = affinity_exponent(metric, float(alpha.sum() + size))
    outputs = compositions(size, 2)
    rows = [log_affinity_of_outputs(alpha, x, outputs) for x in outputs]
    return distance_from_log_affinity(np.array(rows), exponent)
