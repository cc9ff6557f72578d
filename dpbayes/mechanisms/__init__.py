"""The mechanisms of the papers and the references beside them, by the names the book uses.

>>> sorted(REGISTRY)[:3]
['discrete-gaussian', 'draft-laplace', 'expMech']
>>> REGISTRY["lattice"](0.5).name
'lattice'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from dpbayes import _validate
from dpbayes.laws.law import Law
from dpbayes.mechanisms.protocol import Epsilon, Mechanism, given_epsilon

# Where each is made: a module is loaded when one of its mechanisms is first asked for.
_HOMES = {
    "lapMech": "laplace.LaplaceMechanism",
    "ilapMech": "laplace.LaplaceMechanism",
    "draft-laplace": "laplace.LaplaceMechanism",
    "parameter-laplace": "laplace.ParameterLaplace",
    "geometric": "geometric.TruncatedGeometric",
    "lattice": "lattice.SumZeroLattice",
    "discrete-gaussian": "lattice.DiscreteGaussian",
    "expMech": "exponential.exp_mech",
    "expMech-local": "exponential.exp_mech_local",
    "expMech-smooth": "exponential.exp_mech_smooth",
    "expMech-delta": "exponential.exp_mech_delta",
    "expMech-repaired": "exponential.exp_mech_repaired",
    "permute-and-flip": "exponential.PermuteAndFlip",
    "optimal": "optimum.OptimalMechanism",
}


_GIVEN = ("epsilon", "name")


class _Registry(Mapping[str, Callable[..., Mechanism]]):
    """What makes a mechanism, by its name."""

    def __getitem__(self, name: str) -> Callable[..., Mechanism]:
        module, _, made = _HOMES[name].partition(".")
        found: Callable[..., Mechanism] = getattr(import_module(f"{__name__}.{module}"), made)
        # Several names may share a class, which then has a field for it.
        return partial(found, name=name) if "name" in inspect.signature(found).parameters else found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


REGISTRY: Mapping[str, Callable[..., Mechanism]] = _Registry()


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
    allowed = [word for word in inspect.signature(factory).parameters if word not in _GIVEN]
    for option in options:
        if option not in allowed:
            listed = ", ".join(allowed) if allowed else "none"
            raise TypeError(f"{name} has no option {option!r}; its options are: {listed}")
    return factory(epsilon=given_epsilon(epsilon), **options)


__all__ = ["REGISTRY", "Law", "Mechanism", "mechanism"]
