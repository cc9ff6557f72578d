"""Calibrations of the exponential mechanisms: which sensitivity S, which factor, what
is proved.

A calibration says all that distinguishes one exponential mechanism from another; the
mechanism itself is in `exponential`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.protocol import (
    Guarantee,
    exact_epsilon,
    rounded_up,
    upper_float,
)
from dpbayes.mechanisms.spec import Option, keep_checked, words_of
from dpbayes.posteriors import number_of_candidates
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Enclosed
from dpbayes.sensitivity import (
    DISTANCES,
    Sensitivity,
    global_sensitivity,
    local_sensitivity,
    profile,
    smooth_sensitivity,
)

_ROUNDING = Fraction(1, 2**50)  # by so much a factor in floats may be too large

GAMMA = Option(
    _validate.positive, (1.0, 0.3), "the rate of the smoothing, a positive number"
)
_DELTA = Option(_validate.open_unit, (1e-8, 1e-3), "a probability between 0 and 1")
_DISTANCE = words_of(
    DISTANCES, "how data sets are apart: in replaced records, or in l1, twice as much"
)


@dataclass(frozen=True)
class Rule:
    """Which sensitivity: "global", "local", or "smooth" with a rate, a form and a
    distance.
    """

    kind: str
    gamma: float = 1.0
    form: str = "reciprocal"
    distance: str = "hamming"

    def at(
        self, x: NDArray[np.int64], prior: NDArray[np.float64], metric: str
    ) -> Sensitivity:
        """Return S at these counts x (k,) of n >= 1 records, in (0, 1], with its
        witness.
        """
        if self.kind == "global":
            return global_sensitivity(int(x.sum()), prior, metric)
        if self.kind == "local":
            return local_sensitivity(x, prior, metric)
        return smooth_sensitivity(
            x, prior, self.gamma, self.form, self.distance, metric
        )

    def profile(
        self, n: int, prior: NDArray[np.float64], metric: str
    ) -> NDArray[np.float64]:
        """Return S of (x, n - x) for x = 0 … n, shape (n + 1,); k = 2 only."""
        if self.kind == "global":
            return np.full(n + 1, global_sensitivity(n, prior, metric).value)
        smooth = self.kind == "smooth"
        return profile(n, prior, smooth, self.gamma, self.form, self.distance, metric)

    def enclosed(self, x: NDArray[np.int64], prior: NDArray[np.float64]) -> Enclosed:
        """Return S by the Hellinger distance between two fractions, for a release."""
        if self.kind == "global":
            return balls.largest(int(x.sum()), prior)
        if self.kind == "local":
            return balls.local(x, prior)
        return balls.smooth(x, prior, self.gamma, self.form, self.distance)


class Calibration:
    """What an exponential mechanism needs to know, with the mechanism's name.

    `factor` stands before S in the exponent. S shrinks as the data grow unless
    `shrinks` is False; it follows from epsilon where `follows_epsilon` is True. `rule`
    and `promise(epsilon, factor)`, the guarantee of weights exp(-epsilon H / (factor
    S)), count for the exact type only.
    """

    name: ClassVar[str]
    options: ClassVar[Mapping[str, Option]] = {}
    shrinks: ClassVar[bool] = True
    follows_epsilon: ClassVar[bool] = False

    def __post_init__(self) -> None:
        keep_checked(self)

    @property
    def factor(self) -> float:
        """The factor before S in the exponent, positive: 2 unless a calibration says
        otherwise.
        """
        return 2.0

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return which sensitivity it is for n >= 1 records over k >= 2 categories."""
        raise NotImplementedError

    def sensitivity(
        self, counts: ArrayLike, prior: ArrayLike, epsilon: float, metric: str
    ) -> Sensitivity:
        """Return S at these counts, shape (k,), in (0, 1]; an empty data set has that
        of one record.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        return self.rule(max(int(x.sum()), 1), epsilon, x.size).at(x, alpha, metric)


def _scored(
    epsilon: Fraction, factor: float, proved: Fraction, which: str, by: str
) -> Guarantee:
    # A larger factor in the exponent means less privacy loss, in proportion.
    used = Fraction(factor)
    close = proved <= used <= (1 + _ROUNDING) * proved
    return Guarantee(
        epsilon if close else epsilon * proved / used,
        f"candidates are weighted by exp(-{rounded_up(epsilon)} H / (f S)) with S the"
        f" {which} sensitivity and f = {factor:.6g}, where f = {float(proved):.6g}"
        f" gives {rounded_up(epsilon)}",
        by,
    )


@dataclass(frozen=True)
class GlobalCalibration(Calibration):
    """expMech (D, section 4.2.1; C, 2.1): S = GS, factor 2. Book: `def-expmech`.

    P[r | x] is proportional to exp(-epsilon H(BI(x), r) / (2 GS)), GS being the largest
    LS(x) of n records. Guarantee: epsilon (`thm-exponential-private`).

    >>> held = [50, 50], [1, 1], 1.0, "hellinger"
    >>> round(GlobalCalibration().sensitivity(*held).value, 6)
    0.33894
    """

    name: ClassVar[str] = "expMech"
    shrinks: ClassVar[bool] = False

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return the global sensitivity, the same for all data sets of n records."""
        return Rule("global")

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return epsilon where the factor is 2, in proportion for another
        (`thm-exponential-private`).
        """
        return _scored(
            epsilon, factor, Fraction(2), "global", "thm-exponential-private"
        )


@dataclass(frozen=True)
class LocalCalibration(Calibration):
    """expMech-local (D, section 4.2.2; C, 2.2): S = LS(x), factor 2. Book:
    `def-expmech-local`.

    No guarantee: LS(x) depends on the data, and the actual privacy loss can exceed
    epsilon, for example at small priors and many records (`dpbayes.audit` shows where).

    >>> held = [50, 50], [1, 1], 1.0, "hellinger"
    >>> round(LocalCalibration().sensitivity(*held).value, 6)
    0.070276
    """

    name: ClassVar[str] = "expMech-local"

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return the local sensitivity LS(x), which depends on the data."""
        return Rule("local")

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return no bound: LS(x) depends on the data."""
        return Guarantee(
            None,
            "the local sensitivity changes with the data, and the actual loss can"
            " exceed epsilon, for example at small priors and many records",
        )


@dataclass(frozen=True)
class SmoothCalibration(Calibration):
    """expMech-smooth (D, Definitions 3 and 4): reciprocal smooth S, factor 2 (1 +
    gamma).

    The paper's gamma = 1 gives its factor 4. Measured in l1, one replaced record is a
    distance of 2, so the factor is 2 (1 + 2 gamma). `gamma` lies in [1e-9, 1e9]; the
    larger, the closer S is to LS(x), and the larger the factor. Book:
    `def-expmech-smooth`. Guarantee: epsilon (`thm-smooth-private`).

    >>> SmoothCalibration(1.0).factor, SmoothCalibration(1.0, "l1").factor
    (4.0, 6.0)
    """

    gamma: float = 1.0
    distance: str = "hamming"

    name: ClassVar[str] = "expMech-smooth"
    options: ClassVar[Mapping[str, Option]] = {
        "gamma": GAMMA,
        "distance": _DISTANCE,
    }

    @property
    def factor(self) -> float:
        """2 (1 + the most that 1/S changes with one record), rounded up: a draw divides
        by it.
        """
        return upper_float(self._proved)

    @property
    def _proved(self) -> Fraction:
        return 2 * (1 + Fraction(self.gamma) * (2 if self.distance == "l1" else 1))

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return max over x'' of 1 / (1/LS(x'') + gamma d(x, x'')), the reciprocal
        smooth sensitivity (D, Definition 3).
        """
        return Rule("smooth", self.gamma, "reciprocal", self.distance)

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return epsilon at the proved factor, in proportion for another
        (`thm-smooth-private`).
        """
        return _scored(epsilon, factor, self._proved, "smooth", "thm-smooth-private")


@dataclass(frozen=True)
class DeltaCalibration(Calibration):
    """expMech-delta (A, Theorem 4.1; B, 4; C, 2.3): exponential smooth S, factor 2.

    gamma = ln(1 - epsilon / (2 ln(delta / 2(n+1)))). A measures d in l1, B and C in
    Hamming distance; the authors' program used 2n for 2(n+1) (`failure_term`). Book:
    `def-expmech-delta`. Claimed: (epsilon, delta)-DP for one replaced record; false for
    d = l1, and for Hamming from k = 4 on (`thm-delta-false-every`). What is proved in
    its place: `thm-delta-proved`.
    """

    delta: float = 1e-8
    distance: str = "hamming"
    failure_term: str = "2(n+1)"

    name: ClassVar[str] = "expMech-delta"
    options: ClassVar[Mapping[str, Option]] = {
        "delta": _DELTA,
        "distance": _DISTANCE,
        "failure_term": words_of(
            ("2(n+1)", "2n"), "what delta is divided by in the rate of the smoothing"
        ),
    }
    follows_epsilon: ClassVar[bool] = True

    def gamma(self, n: int, epsilon: float) -> float:
        """Return the smoothing rate for data sets of n >= 1 records.

        >>> round(DeltaCalibration(delta=1e-8).gamma(100, 0.8), 9)
        0.016716544
        """
        size = _validate.integer("n", n, minimum=1)
        term = 2.0 * (size if self.failure_term == "2n" else size + 1)
        return float(np.log1p(-epsilon / (2.0 * np.log(self.delta / term))))

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return max over x'' of e^(-gamma d(x, x'')) LS(x''), gamma being that of n
        and epsilon (A, equation 1).
        """
        return Rule("smooth", self.gamma(n, epsilon), "exponential", self.distance)

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return no bound: the printed claim is false (`thm-delta-false-every`)."""
        return Guarantee(
            None,
            "the printed claim of (epsilon, delta)-privacy is false: with l1 distances,"
            " and with Hamming distances from four categories on; expMech-repaired"
            " keeps it",
        )


# S is a float with a relative error below 1e-12, so ln S as computed changes by at most
# 2e-12 more than gamma. The rate is lowered by a millionth, or by twice these 2e-12
# where a millionth is less.
_MARGIN = 1e-6
_FLOAT_S = 4e-12
_LEAST = 1e-11


@dataclass(frozen=True)
class RepairedCalibration(Calibration):
    """expMech-repaired: exponential smooth S, weights exp(-(1 - share) epsilon H / (2
    S)).

    A's mechanism lets S change from one data set to the next and does not pay for what
    that does to the normalising constant; here `share` in (0, 1) of epsilon pays:
    e^gamma - 1 = share epsilon / ln(|R| / delta), d counted in replaced records; gamma
    is lowered by one part in a million, or 4e-12, for rounding. Book:
    `def-expmech-repaired`. Guarantee: epsilon and delta, for every n, k and prior
    (`thm-repaired`).
    """

    delta: float = 1e-8
    share: float = 0.2

    name: ClassVar[str] = "expMech-repaired"
    options: ClassVar[Mapping[str, Option]] = {
        "delta": _DELTA,
        "share": Option(
            _validate.open_unit,
            (0.2, 0.7),
            "the part of epsilon that pays for the change of S, between 0 and 1",
        ),
    }
    follows_epsilon: ClassVar[bool] = True

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
        return proved - max(_MARGIN * proved, _FLOAT_S)

    def rule(self, n: int, epsilon: float, k: int) -> Rule:
        """Return max over x'' of e^(-gamma d(x, x'')) LS(x''), with the gamma of n,
        epsilon and k.
        """
        return Rule("smooth", self.gamma(n, epsilon, k), "exponential")

    def promise(self, epsilon: Fraction, factor: float) -> Guarantee:
        """Return epsilon and delta (`thm-repaired`); another factor changes the first
        of two terms.
        """
        # Another factor changes the first of two terms.
        share = Fraction(self.share) * epsilon
        return Guarantee(
            (
                epsilon
                if factor == self.factor
                else 2 * epsilon / Fraction(factor) + share
            ),
            f"candidates are weighted by exp(-{rounded_up(epsilon)} H / ({factor:.6g}"
            " S)) with S the smooth sensitivity, which one record changes by a factor"
            f" of at most e^gamma, and e^gamma - 1 = {rounded_up(share)} / ln(|R| /"
            f" {self.delta:g}) pays for that",
            "thm-repaired",
            exact_epsilon(self.delta),
        )
