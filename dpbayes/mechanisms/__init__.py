"""The mechanisms of the papers and the references beside them, by the names the book uses.

>>> len(REGISTRY), sorted(REGISTRY)[:3]
(14, ['discrete-gaussian', 'draft-laplace', 'expMech'])
>>> REGISTRY["lattice"](0.5).name
'lattice'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dpbayes import _validate
from dpbayes.laws.law import Law
from dpbayes.mechanisms.discrete_gaussian import DiscreteGaussian
from dpbayes.mechanisms.exponential import (
    exp_mech,
    exp_mech_delta,
    exp_mech_local,
    exp_mech_repaired,
    exp_mech_smooth,
)
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.guarantees import Epsilon, given_epsilon
from dpbayes.mechanisms.laplace import draft_laplace, ilap_mech, lap_mech
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.optimum import OptimalMechanism
from dpbayes.mechanisms.parameter_laplace import ParameterLaplace
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import Mechanism

REGISTRY: Mapping[str, Callable[..., Mechanism]] = {
    "lapMech": lap_mech,
    "ilapMech": ilap_mech,
    "draft-laplace": draft_laplace,
    "parameter-laplace": ParameterLaplace,
    "geometric": TruncatedGeometric,
    "lattice": SumZeroLattice,
    "discrete-gaussian": DiscreteGaussian,
    "expMech": exp_mech,
    "expMech-local": exp_mech_local,
    "expMech-smooth": exp_mech_smooth,
    "expMech-delta": exp_mech_delta,
    "expMech-repaired": exp_mech_repaired,
    "permute-and-flip": PermuteAndFlip,
    "optimal": OptimalMechanism,
}


def mechanism(name: str, epsilon: Epsilon, **options: Any) -> Mechanism:
    """Return the mechanism registered under `name`, calibrated to `epsilon` > 0.

    Names are those of `REGISTRY`; options are the mechanism's own, such as `sensitivity` (Laplace
    family), `metric`, `gamma`, `delta` (exponential family), `projection` (lattice) or `objective`
    (optimal). An epsilon given as text ("0.1"), Fraction or Decimal is that exact number in the
    promise and in the draw of a release. Raises ValueError for an unknown name, TypeError for an
    unknown option; each error lists what is allowed. Book: `mechanisms`.

    >>> round(mechanism("geometric", epsilon=1.0).law([150, 150], [1, 1]).mean_distance(), 4)
    0.0346
    """
    factory = REGISTRY[_validate.choice("name", name, REGISTRY)]
    allowed = [word for word in inspect.signature(factory).parameters if word != "epsilon"]
    for option in options:
        if option not in allowed:
            listed = ", ".join(allowed) if allowed else "none"
            raise TypeError(f"{name} has no option {option!r}; its options are: {listed}")
    return factory(epsilon=given_epsilon(epsilon), **options)


__all__ = ["REGISTRY", "Law", "Mechanism", "mechanism"]
