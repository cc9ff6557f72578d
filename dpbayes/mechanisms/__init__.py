"""The mechanisms of the papers and the references beside them, by the names the book
uses.

Each is declared by a `Spec` in the file of its family; what is here follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpbayes import _validate
from dpbayes.laws.law import Law
from dpbayes.mechanisms import (
    exponential,
    geometric,
    laplace,
    lattice,
    optimum,
    permute_and_flip,
)
from dpbayes.mechanisms.protocol import Epsilon, Mechanism
from dpbayes.mechanisms.spec import Spec

_FAMILIES = (
    laplace.SPECS,
    geometric.SPECS,
    lattice.SPECS,
    exponential.SPECS,
    permute_and_flip.SPECS,
    optimum.SPECS,
)

REGISTRY: Mapping[str, Spec] = {
    spec.name: spec for family in _FAMILIES for spec in family
}
"""What is declared of each mechanism that `mechanism` makes, by its name."""

DECLARED: Mapping[str, Spec] = {
    **REGISTRY,
    **{spec.name: spec for spec in geometric.SECRET_SPECS},
}
"""The same, and the mechanism for a secret number of records, which a plan chooses."""


def mechanism(name: str, epsilon: Epsilon, **options: Any) -> Mechanism:
    """Return the mechanism registered under `name`, calibrated to `epsilon` > 0.

    Names are those of `REGISTRY`; options are the mechanism's own, such as
    `sensitivity` (Laplace family), `metric`, `gamma`, `delta` (exponential family),
    `projection` (lattice) or `objective` (optimal). An epsilon given as text ("0.1"),
    Fraction or Decimal is that exact number in the promise and in the draw of a
    release. Raises ValueError for an unknown name, TypeError for an unknown option;
    each error lists what is allowed. Book: `mechanisms`.

    >>> mechanism("geometric", epsilon=1.0).law([150, 150], [1, 1]).mean_distance()
    0.03459 ± 2e-14 (listed)
    """
    return REGISTRY[_validate.choice("name", name, REGISTRY)](epsilon, **options)


__all__ = ["DECLARED", "REGISTRY", "Law", "Mechanism", "Spec", "mechanism"]
