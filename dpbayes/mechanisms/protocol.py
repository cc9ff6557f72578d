"""What a mechanism must offer, and what it may add.

A mechanism needs `name`, `epsilon` and `law`. Everything else that is known about it stands in its
file too, and is read by `dpbayes.mechanisms.guarantees.own` from its exact type only:

guarantee(k)              what is proved, with the theorem's label, or why nothing is
draw(counts, prior, bits) one exact draw from fair bits: the noisy value, the released counts
log_likelihoods(noisy, n, k)  ln P(noisy | count = 0 … n), one factor a category
step_law(k)               the law of the step as the data grow
rates(n, prior), scaled(share)  for ln P proportional to -rate times score: lambda of all data sets
                          at once, and the mechanism with every lambda `share` times as large
symmetric                 whether renaming the categories of prior and counts renames the outputs
definition, citations     the label of its definition, the keys of its sources
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.laws.law import Law

Counts = NDArray[np.int64]
Drawn = tuple[Counts, Counts]
"""The noisy value that privacy is proved for, and the released counts made from it."""


class Mechanism(Protocol):
    """A frozen description of a release; what it costs is worked out by `dpbayes.audit`.

    >>> from dpbayes.mechanisms import mechanism
    >>> chosen = mechanism("lattice", epsilon=0.5)
    >>> chosen.name, chosen.epsilon
    ('lattice', 0.5)
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def epsilon(self) -> float:
        """The nominal privacy parameter of its calibration."""
        ...

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Law:
        """Return the exact law of the output for these counts."""
        ...
