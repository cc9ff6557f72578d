"""The law of the step that a released count takes, where it no longer depends on the
data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpbayes import _validate
from dpbayes._validate import Floats, Whole

TAIL = 45.0  # steps with relative weight below e^-45 are left out of a sum


@dataclass(frozen=True)
class StepLaw:
    """The limiting law of the step T of one count, k = 2; book: `thm-large-n`.

    P(T = t) is proportional to e^(-decay |t|), or, when `floored`, the law of floor(Y)
    for Y ~ Laplace(0, 1/decay). `decay` is positive. `scored` says that the weights
    follow the distance of the posteriors, not the step, so that the law has corrections
    of its own.

    >>> round(StepLaw(0.25).at_zero, 9), round(StepLaw(0.25).mean_step, 9)
    (0.124353002, 3.958635163)
    """

    decay: float
    floored: bool = False
    scored: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        _validate.positive("decay", self.decay)

    @property
    def at_zero(self) -> float:
        """P(T = 0): tanh(decay/2), or (1 - e^-decay)/2 when floored.

        These are 1 / sum over t of e^(-decay |t|), and P(0 <= Y < 1).
        """
        if self.floored:
            return float(-0.5 * np.expm1(-self.decay))
        return float(np.tanh(0.5 * self.decay))

    @property
    def mean_step(self) -> float:
        """E|T|, in records: 1/sinh(decay), or coth(decay/2)/2 when floored."""
        return self.moment(1)

    @cached_property
    def steps(self) -> Whole:
        """The steps -m … m that carry all but e^-45 of the law, shape (2m + 1,)."""
        reach = int(np.ceil(TAIL / self.decay)) + 1
        return np.arange(-reach, reach + 1)

    @cached_property
    def probabilities(self) -> Floats:
        """P(T = t) of each of `steps`, shape (2m + 1,); D, section 6.1.1 when
        floored.
        """
        t = self.steps
        if not self.floored:
            return self.at_zero * np.exp(-self.decay * np.abs(t))
        return self.at_zero * np.exp(-self.decay * np.where(t >= 0, t, -t - 1))

    def moment(self, order: int) -> float:
        """Return E|T|^order, in records^order, for a whole `order` of at least 0."""
        power = _validate.integer("order", order, minimum=0)
        return float(
            np.dot(self.probabilities, np.abs(self.steps).astype(np.float64) ** power)
        )
