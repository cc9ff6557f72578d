"""The truncated geometric mechanism: the best a private count of two categories can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw

LARGEST_FINITE = 400_000
LARGEST_WINDOW = 5_000_000

_TAIL = 46.0


@dataclass(frozen=True)
class TruncatedGeometric:
    """Release x + Z clamped to [0, n], with P(Z = z) proportional to e^(-epsilon |z|).

    For k = 2 (Ghosh, Roughgarden and Sundararajan 2009); book: `def-geometric`. Guarantee: for
    all count vectors x, x' of n records that differ by replacing one record, and every set S of
    posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float

    name = "geometric"

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram, within reach of the noise if n is large.

        >>> round(TruncatedGeometric(1.0).law([50, 50], [1, 1]).probability([50, 50]), 9)
        0.462117157
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        if x.size != 2:
            raise ValueError(f"counts must have 2 categories for geometric, got {x.size}")
        n, first = int(x.sum()), int(x[0])
        # e^-46 of the noise lies beyond `reach`; small data sets are listed in full.
        reach = n if n < LARGEST_FINITE else int(min(np.ceil(_TAIL / self.epsilon), n))
        if reach >= LARGEST_WINDOW:
            raise ValueError(
                f"epsilon = {self.epsilon!r} spreads the noise over more than {LARGEST_WINDOW} "
                f"counts either side; n = {n} records are too many for that"
            )
        released = np.arange(max(first - reach, 0), min(first + reach, n) + 1)
        outputs = np.column_stack((released, n - released))
        steps = np.abs(released - first)
        shared = np.log1p(np.exp(-self.epsilon))
        logs = -self.epsilon * steps - shared
        # The two ends collect the whole tail, the inside one step of it.
        inside = (outputs[:, 0] > 0) & (outputs[:, 0] < n)
        logs[inside] += np.log(-np.expm1(-self.epsilon))
        if n == 0:
            logs = np.zeros(1)
        outside = 0.0 if released.size == n + 1 else float(np.exp(-_TAIL))
        return FiniteLaw(alpha, x, outputs, logs, outside)
