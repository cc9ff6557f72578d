"""Mechanisms that do not keep their promise, each a mistake that is easily made; audits
catch them.

None of them is registered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.rows import law_of
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Listed
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions


@dataclass(frozen=True)
class HalfTheNoise:
    """A geometric count whose noise has half the scale that epsilon asks for. No
    guarantee.
    """

    epsilon: float
    name = "half the noise"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram; `counts` and `prior` (2,)."""
        return TruncatedGeometric(2.0 * self.epsilon).law(counts, prior)


@dataclass(frozen=True)
class ClampBeforeNoise:
    """Noise that would leave [0, n] becomes zero noise: "if it is not valid, report the
    count".

    That sends probability to the truth. No guarantee.
    """

    epsilon: float
    name = "clamp before noise"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law of x + Z where that is valid, and of x itself where it is
        not."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        outputs = compositions(int(x.sum()), 2)
        noise = -self.epsilon * np.abs(outputs[:, 0] - x[0]) + np.log(
            np.tanh(self.epsilon / 2)
        )
        probabilities = np.exp(noise)
        probabilities[x[0]] += 1.0 - probabilities.sum()
        return FiniteLaw(alpha, x, outputs, np.log(probabilities))


@dataclass(frozen=True)
class OneCountClean:
    """Noise on every count but the last, which is released as it is. No guarantee, k >=
    3.
    """

    epsilon: float
    name = "one count left clean"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the law: geometric noise moves records among the first two categories
        only.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        inner = TruncatedGeometric(self.epsilon).law(x[:2], alpha[:2])
        clean = np.full(len(inner.outputs), x[2])
        return FiniteLaw(
            alpha, x, np.column_stack((inner.outputs, clean)), inner.log_probabilities
        )


@dataclass(frozen=True)
class ChosenAfterwards:
    """Of several private mechanisms, the one with the least expected error on the data
    at hand.

    Each candidate keeps its promise. If the choice is published as well, two neighbours
    with different choices are told apart for certain; if it is not, expMech-smooth with
    several rates loses at most the largest nominal epsilon (`thm-secret-choice`), and
    nothing is proved of other candidates. Book: `pitfall-gamma`. No guarantee.
    """

    epsilon: float
    candidates: Sequence[Mechanism]
    name = "chosen after seeing the data"

    def choice(self, counts: ArrayLike, prior: ArrayLike) -> int:
        """Return the number of the candidate with the smallest exact mean distance."""
        means = [
            mechanism.law(counts, prior).mean_distance()
            for mechanism in self.candidates
        ]
        return int(np.argmin(means))

    def switches(self, n: int, prior: ArrayLike) -> int:
        """Return how many of the n neighbouring pairs of two categories have different
        choices.
        """
        choices = [self.choice(x, prior) for x in compositions(n, 2)]
        return int(np.count_nonzero(np.diff(choices)))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> Listed:
        """Return the law of the candidate chosen for these counts, the choice kept
        secret.
        """
        return law_of(self.candidates[self.choice(counts, prior)], counts, prior)


@dataclass(frozen=True)
class BestDraw:
    """One draw from each of several private mechanisms; the draw nearest to the truth
    is released.

    It looks like picking the best run. It is a composition of all runs, and a selection
    by the secret. Book: `pitfall-gamma`. No guarantee at the epsilon of the candidates.
    """

    epsilon: float
    candidates: Sequence[Mechanism]
    name = "best of several draws"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law; of equally near draws the earlier candidate's is
        released.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        laws = [law_of(mechanism, x, alpha) for mechanism in self.candidates]
        total = np.zeros(len(laws[0].outputs))
        for j, law in enumerate(laws):
            others = [
                _farther(other, or_equal=i > j)
                for i, other in enumerate(laws)
                if i != j
            ]
            total += law.probabilities * np.prod([np.ones(total.size), *others], axis=0)
        with np.errstate(divide="ignore"):
            return FiniteLaw(alpha, x, laws[0].outputs, np.log(total))


def _farther(law: Listed, or_equal: bool) -> NDArray[np.float64]:
    # P[distance of a draw > distance of r], or >=, for every listed output r. Distances
    # of mirrored outputs agree up to rounding only.
    limits = np.asarray(law.distances) + (-1e-12 if or_equal else 1e-12)
    return np.asarray((law.distances > limits[:, None]) @ law.probabilities)
