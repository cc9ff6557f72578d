"""The mechanisms of the papers and the references beside them, by the names the book
uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dpbayes import _validate
from dpbayes.laws.law import Law
from dpbayes.mechanisms import calibrations
from dpbayes.mechanisms.exponential import PermuteAndFlip, scored
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.laplace import LaplaceMechanism, ParameterLaplace
from dpbayes.mechanisms.lattice import DiscreteGaussian, SumZeroLattice
from dpbayes.mechanisms.optimum import OptimalMechanism
from dpbayes.mechanisms.protocol import Epsilon, Mechanism, given_epsilon

REGISTRY: Mapping[str, Callable[..., Mechanism]] = {
    "lapMech": partial(LaplaceMechanism, name="lapMech"),
    "ilapMech": partial(LaplaceMechanism, name="ilapMech"),
    "draft-laplace": partial(LaplaceMechanism, name="draft-laplace"),
    "parameter-laplace": ParameterLaplace,
    "geometric": TruncatedGeometric,
    "lattice": SumZeroLattice,
    "discrete-gaussian": DiscreteGaussian,
    "expMech": scored(calibrations.GlobalCalibration),
    "expMech-local": scored(calibrations.LocalCalibration),
    "expMech-smooth": scored(calibrations.SmoothCalibration),
    "expMech-delta": scored(calibrations.DeltaCalibration),
    "expMech-repaired": scored(calibrations.RepairedCalibration),
    "permute-and-flip": PermuteAndFlip,
    "optimal": OptimalMechanism,
}
"""What makes a mechanism, by its name."""


def mechanism(name: str, epsilon: Epsilon, **options: Any) -> Mechanism:
    """Return the mechanism registered under `name`, calibrated to `epsilon` > 0.

    Names are those of `REGISTRY`; options are the mechanism's own, such as
    `sensitivity` (Laplace family), `metric`, `gamma`, `delta` (exponential family),
    `projection` (lattice) or `objective` (optimal). An epsilon given as text ("0.1"),
    Fraction or Decimal is that exact number in the promise and in the draw of a
    release. Raises ValueError for an unknown name, TypeError for an unknown option;
    each error lists what is allowed. Book: `mechanisms`.

    >>> round(mechanism("geometric", epsilon=1.0).law([150, 150], [1, 1]).mean_distance(), 4)
    0.0346
    """
    factory = REGISTRY[_validate.choice("name", name, REGISTRY)]
    known = inspect.signature(factory).parameters
    allowed = [word for word in known if word not in ("epsilon", "name")]
    for option in options:
        if option not in allowed:
            listed = ", ".join(allowed) if allowed else "none"
            raise TypeError(
                f"{name} has no option {option!r}; its options are: {listed}"
            )
    return factory(epsilon=given_epsilon(epsilon), **options)


__all__ = ["REGISTRY", "Law", "Mechanism", "mechanism"]
