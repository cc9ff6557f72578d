"""What a mechanism's description promises, worked out from the description.

Nothing here reads a privacy parameter that was merely written down: the noise scale and the most
a replaced record can change decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from dpbayes.mechanisms.exponential import (
    DeltaCalibration,
    ExponentialMechanism,
    GlobalCalibration,
    LocalCalibration,
    SmoothCalibration,
)
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.laplace import LaplaceMechanism
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import Mechanism


@dataclass(frozen=True)
class Guarantee:
    """A proved bound on the privacy loss when one record is replaced; `basis` says why it holds.

    `epsilon` is None where nothing is proved; `basis` then says what is missing.
    """

    epsilon: float | None
    basis: str

    @property
    def sentence(self) -> str:
        """The guarantee as a quantified sentence that names the neighbour relation."""
        if self.epsilon is None:
            return f"No guarantee: {self.basis}."
        return (
            "For all count vectors x, x' of n records that differ by replacing one record, and "
            f"every set S of outputs, P[M(x) in S] <= e^{self.epsilon:.6g} P[M(x') in S]; n itself "
            f"is public. Why: {self.basis}."
        )


def upper_float(value: Fraction) -> float:
    """Return the smallest float that is at least this fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


@singledispatch
def guarantee(mechanism: Mechanism, k: int) -> Guarantee:
    """Return what the mechanism promises for k categories."""
    return Guarantee(None, f"no proof is recorded for the mechanism {mechanism.name}")


def laplace_rate(mechanism: LaplaceMechanism, k: int) -> Fraction:
    """Return 1/scale of the noise for k categories, as the exact fraction the floats stand for."""
    chosen = mechanism.by_dimension[0 if k == 2 else 1]
    default = chosen if chosen > 0 else float(k)
    sensitivity = default if mechanism.sensitivity is None else mechanism.sensitivity
    return Fraction(mechanism.epsilon) / Fraction(sensitivity)


@guarantee.register
def _(mechanism: LaplaceMechanism, k: int) -> Guarantee:
    if mechanism.sides == "one":
        return Guarantee(
            None,
            "one-sided noise never lowers a count, so an output below a count rules that count out",
        )
    moved = 1 if k == 2 else 2
    change = "one count by 1" if k == 2 else f"the first {k - 1} counts by at most 2 in l1"
    return Guarantee(
        upper_float(moved * laplace_rate(mechanism, k)),
        f"a replaced record changes {change}, the noise is Laplace of scale "
        f"{mechanism.scale(k):.6g} rounded to whole numbers, the rest is post-processing",
    )


@guarantee.register
def _(mechanism: TruncatedGeometric, k: int) -> Guarantee:
    if k != 2:
        return Guarantee(None, f"geometric is defined for 2 categories, not {k}")
    return Guarantee(
        float(mechanism.epsilon),
        f"a replaced record changes the count by 1, the noise falls by e^-{mechanism.epsilon:.6g} "
        "a step, clamping is post-processing",
    )


@guarantee.register
def _(mechanism: SumZeroLattice, k: int) -> Guarantee:
    return Guarantee(
        float(mechanism.epsilon),
        "a replaced record changes the counts by 2 in l1, the noise falls by "
        f"e^-{mechanism.epsilon / 2:.6g} for each unit of l1, the projection is post-processing",
    )


@guarantee.register
def _(mechanism: ParameterLaplace, k: int) -> Guarantee:
    return Guarantee(
        float(mechanism.epsilon),
        "a replaced record changes the parameters by 2 in l1, the noise is continuous Laplace of "
        f"scale {2 / mechanism.epsilon:.6g}, cutting to the range is post-processing",
    )


@guarantee.register
def _(mechanism: ExponentialMechanism, k: int) -> Guarantee:
    calibration = mechanism.calibration
    if mechanism.metric != "hellinger":
        return Guarantee(None, f"no proof covers the score {mechanism.metric!r}")
    if isinstance(calibration, LocalCalibration):
        return Guarantee(
            None,
            "the local sensitivity changes with the data, and for small priors the actual loss "
            "exceeds epsilon",
        )
    if isinstance(calibration, DeltaCalibration):
        return Guarantee(
            None,
            "the printed proof of (epsilon, delta)-privacy does not hold; with l1 distances the "
            "claim is false, with Hamming distances it is open",
        )
    return _scored(mechanism, calibration)


@guarantee.register
def _(mechanism: PermuteAndFlip, k: int) -> Guarantee:
    if mechanism.metric != "hellinger":
        return Guarantee(None, f"no proof covers the score {mechanism.metric!r}")
    alike = guarantee(mechanism.scores_like, k)
    return Guarantee(
        alike.epsilon, f"permute-and-flip keeps the bound of its weights: {alike.basis}"
    )


def _scored(
    mechanism: ExponentialMechanism, calibration: GlobalCalibration | SmoothCalibration
) -> Guarantee:
    proved = Fraction(calibration.factor)
    loss = Fraction(mechanism.epsilon) * proved / Fraction(mechanism.factor)
    return Guarantee(
        upper_float(loss),
        "candidates are weighted by exp(-epsilon H / (f S)) with S the "
        f"{'global' if isinstance(calibration, GlobalCalibration) else 'smooth'} sensitivity and "
        f"f = {mechanism.factor:.6g}, where f = {calibration.factor:.6g} gives epsilon",
    )
