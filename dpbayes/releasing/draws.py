"""One draw of a mechanism from fair bits, by the sampler that its exact type states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.guarantees import own
from dpbayes.mechanisms.protocol import Counts, Drawn, Mechanism
from dpbayes.samplers.bits import BitSource


def draw(
    mechanism: Mechanism, counts: Counts, prior: NDArray[np.float64], source: BitSource
) -> Drawn:
    """Return one exact draw; raises ValueError for a mechanism without an exact sampler.

    A sampler belongs to the type it was written for: a subclass, whose law may differ, has none
    until it states one.
    """
    sampler = own(mechanism, "draw")
    if sampler is None:
        known = [name for name, make in REGISTRY.items() if own(make(1.0), "draw")]
        raise ValueError(
            f"mechanism must have an exact sampler, got {mechanism.name}; these have one: "
            f"{', '.join(known)}"
        )
    drawn: Drawn = sampler(counts, prior, source)
    return drawn
