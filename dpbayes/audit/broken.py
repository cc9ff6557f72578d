"""Mechanisms that do not keep their promise, each a mistake that is easily made; audits catch them.

None of them is registered. They are here so that the book can show them being caught and so that
every kind of audit is tested against something it must find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes.audit.rows import law_of
from dpbayes.laws.finite import FiniteLaw
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions


@dataclass(frozen=True)
class HalfTheNoise:
    """A geometric count whose noise has half the scale that epsilon asks for. No guarantee."""

    epsilon: float
    name = "half the noise"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law of the geometric mechanism at twice the epsilon."""
        return TruncatedGeometric(2.0 * self.epsilon).law(counts, prior)


@dataclass(frozen=True)
class ClampBeforeNoise:
    """The count is clamped to what is left after one record, then noised without clamping again.

    Noise that would leave [0, n] is reflected to zero noise: "if the noisy count is not valid,
    report the count". That sends probability to the truth. No guarantee.
    """

    epsilon: float
    name = "clamp before noise"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law of x + Z where that is valid, and of x itself where it is not."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        outputs = compositions(int(x.sum()), 2)
        noise = -self.epsilon * np.abs(outputs[:, 0] - x[0]) + np.log(np.tanh(self.epsilon / 2))
        probabilities = np.exp(noise)
        probabilities[x[0]] += 1.0 - probabilities.sum()
        return FiniteLaw(alpha, x, outputs, np.log(probabilities))


@dataclass(frozen=True)
class OneCountClean:
    """Noise on every count but the last, which is released as it is. No guarantee, k >= 3."""

    epsilon: float
    name = "one count left clean"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law: geometric noise moves records among the first two categories only."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        if x.size != 3:
            raise ValueError(f"counts must have 3 categories for {self.name}, got {x.size}")
        inner = TruncatedGeometric(self.epsilon).law(x[:2], alpha[:2])
        clean = np.full(len(inner.outputs), x[2])
        return FiniteLaw(alpha, x, np.column_stack((inner.outputs, clean)), inner.log_probabilities)


@dataclass(frozen=True)
class ChosenAfterwards:
    """Of several private mechanisms, the one that is most accurate on the data at hand.

    Each candidate keeps its promise; the choice looks at the data once more and breaks it.
    Book: `pitfall-gamma`. No guarantee.
    """

    epsilon: float
    candidates: Sequence[Mechanism]
    name = "chosen after seeing the data"

    def choice(self, counts: ArrayLike, prior: ArrayLike) -> int:
        """Return the number of the candidate with the smallest exact mean distance."""
        means = [mechanism.law(counts, prior).mean_distance() for mechanism in self.candidates]
        return int(np.argmin(means))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law of the candidate chosen for these counts."""
        return law_of(self.candidates[self.choice(counts, prior)], counts, prior)
