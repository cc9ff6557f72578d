"""The mechanisms of the papers and the references beside them, by the names the book uses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dpbayes import _validate
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
from dpbayes.mechanisms.optimum import OptimalMechanism
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import Law, Mechanism


def _lap(
    epsilon: float, sensitivity: float | None = None, rounding: str = "floor"
) -> LaplaceMechanism:
    return LaplaceMechanism(epsilon, "lapMech", (2.0, 0.0), sensitivity, rounding)


def _ilap(
    epsilon: float, sensitivity: float | None = None, rounding: str = "floor"
) -> LaplaceMechanism:
    return LaplaceMechanism(epsilon, "ilapMech", (1.0, 2.0), sensitivity, rounding)


def _draft(epsilon: float, sensitivity: float | None = None) -> LaplaceMechanism:
    return LaplaceMechanism(epsilon, "draft-laplace", (2.0, 2.0), sensitivity, "floor", "one")


def _global(
    epsilon: float, metric: str = "hellinger", divisor: float | None = None
) -> ExponentialMechanism:
    return ExponentialMechanism(epsilon, GlobalCalibration(), metric, divisor)


def _local(
    epsilon: float, metric: str = "hellinger", divisor: float | None = None
) -> ExponentialMechanism:
    return ExponentialMechanism(epsilon, LocalCalibration(), metric, divisor)


def _smooth(
    epsilon: float,
    gamma: float = 1.0,
    distance: str = "hamming",
    metric: str = "hellinger",
    divisor: float | None = None,
) -> ExponentialMechanism:
    return ExponentialMechanism(epsilon, SmoothCalibration(gamma, distance), metric, divisor)


def _delta(
    epsilon: float,
    delta: float = 1e-8,
    distance: str = "hamming",
    failure_term: str = "2(n+1)",
    metric: str = "hellinger",
    divisor: float | None = None,
) -> ExponentialMechanism:
    calibration = DeltaCalibration(delta, distance, failure_term)
    return ExponentialMechanism(epsilon, calibration, metric, divisor)


REGISTRY: Mapping[str, Callable[..., Mechanism]] = {
    "lapMech": _lap,
    "ilapMech": _ilap,
    "draft-laplace": _draft,
    "parameter-laplace": ParameterLaplace,
    "geometric": TruncatedGeometric,
    "lattice": SumZeroLattice,
    "expMech": _global,
    "expMech-local": _local,
    "expMech-smooth": _smooth,
    "expMech-delta": _delta,
    "permute-and-flip": PermuteAndFlip,
    "optimal": OptimalMechanism,
}


def mechanism(name: str, epsilon: float, **options: Any) -> Mechanism:
    """Return the mechanism registered under `name`, calibrated to `epsilon` > 0.

    Names: lapMech, ilapMech, draft-laplace, parameter-laplace, geometric, lattice, expMech,
    expMech-local, expMech-smooth, expMech-delta, permute-and-flip, optimal. Options are the
    mechanism's own: `sensitivity`, `rounding` (Laplace family), `metric`, `divisor`, `gamma`,
    `delta`, `distance`, `failure_term` (exponential family), `projection` (lattice), `objective`
    (optimal); permute-and-flip has `sensitivity` "global" or "smooth", `gamma` and `metric`. Raises
    ValueError for an unknown name, TypeError for an unknown option; each error lists what is
    allowed. Book: `mechanisms`.

    >>> round(mechanism("geometric", epsilon=1.0).law([150, 150], [1, 1]).mean_distance(), 4)
    0.0346
    """
    factory = REGISTRY[_validate.choice("name", name, REGISTRY)]
    allowed = [word for word in inspect.signature(factory).parameters if word != "epsilon"]
    for option in options:
        if option not in allowed:
            listed = ", ".join(allowed) if allowed else "none"
            raise TypeError(f"{name} has no option {option!r}; its options are: {listed}")
    return factory(epsilon=epsilon, **options)


__all__ = ["REGISTRY", "Law", "Mechanism", "mechanism"]
