"""Folded noise: the shape of lattice noise, with weights that keep it among the histograms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import ROUNDING, FiniteLaw
from dpbayes.laws.law import Way, choose
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.samplers import balls, folded
from dpbayes.samplers.balls import Balls
from dpbayes.samplers.bits import BitSource

_LARGEST_ERROR = 1e-7  # bound of the relative error of a weight above which balls are asked
_UNIT = 2.0**-53
_LARGEST_POWER = 750.0  # beyond it e^-x is 0, and so is its error


@dataclass(frozen=True)
class FoldedNoise:
    """Answer the histogram r with probability w_r e^(-epsilon d(x, r)), d the records to replace.

    The weights w are those with which the probabilities sum to one at every x; no noisy count is
    negative, so nothing is clamped. At k = 2 this is the truncated geometric mechanism. Where a
    weight would be negative, at small epsilon from three categories and three records on, there is
    no such mechanism: law and draw raise ValueError, and `absence` says why. The same where the
    answers are more than `samplers.folded.LARGEST_LIST` counts, the classes of data sets that are
    equal but for the order of the counts more than `LARGEST_FLOAT`, or more than `LARGEST` and the
    draw or the sign of a weight takes ball arithmetic. Book: `def-folded`, `thm-folded`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float

    name: ClassVar[str] = "folded"
    definition: ClassVar[str] = "def-folded"
    citations: ClassVar[tuple[str, ...]] = ("ghosh-universally", "canonne-discrete")
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have shape (k,).

        >>> law = FoldedNoise(1.0).law([2, 2, 2], [1, 1, 1])
        >>> round(float(law.probabilities.sum()), 12), round(float(law.mean_distance()), 4)
        (1.0, 0.4422)
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        law: FiniteLaw = choose(
            Way(
                "geometric", x.size == 2, "that is this mechanism for k = 2",
                lambda: TruncatedGeometric(self.epsilon).law(x, alpha),
            ),
            Way(
                "list", True, "its weights are solved for, and all outputs are listed",
                lambda: self._listed(alpha, x),
            ),
        )  # fmt: skip
        return law

    def _listed(self, prior: NDArray[np.float64], x: NDArray[np.int64]) -> FiniteLaw:
        n, k = int(x.sum()), x.size
        logs, error = _weights(n, k, exact_epsilon(self.epsilon))
        space = folded.classes(n, k)
        logs = logs[space.number] - float(self.epsilon) * space.apart(x)
        return FiniteLaw(prior, x, space.every, logs, rounding=ROUNDING + error)

    def absence(self, n: int, k: int) -> str | None:
        """Return why there is no law of n records over k categories, None where there is one.

        >>> FoldedNoise(1.0).absence(12, 3) is None, FoldedNoise(0.1).absence(12, 3)[:48]
        (True, 'epsilon must be larger for folded noise to exist')
        """
        size, parts = _validate.integer("n", n, minimum=0), _validate.integer("k", k, minimum=2)
        try:
            if parts > 2:
                _weights(size, parts, exact_epsilon(self.epsilon))
        except ValueError as error:
            return str(error)
        return None

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-folded`."""
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record brings every answer nearer by at most 1 record, the probabilities "
            f"fall by e^-{rounded_up(bound)} a record, their weights do not depend on the data",
            "thm-folded",
        )

    def enclosed_law(self, library: Any, counts: Counts, prior: NDArray[np.float64]) -> Balls:
        """Return ln P of every output in ball arithmetic, for audits."""
        n, k, epsilon = int(counts.sum()), counts.size, exact_epsilon(self.epsilon)
        if k == 2:
            return balls.truncated_geometric(library, counts, epsilon)
        space, rate = folded.classes(n, k), balls.ball(library, epsilon)
        weights = folded.decided_weights(n, k, epsilon, library.ctx.prec)
        logs, apart = [weight.log() for weight in weights], space.apart(counts).tolist()
        return [logs[i] - rate * d for i, d in zip(space.number.tolist(), apart, strict=True)]

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return an answer twice: privacy is proved for it, and it is what is released."""
        if counts.size == 2:
            chosen = TruncatedGeometric(self.epsilon).draw(counts, prior, bits)[1]
        else:
            chosen = folded.draw_folded(bits, counts, exact_epsilon(self.epsilon))
        return chosen, chosen

    def log_likelihoods(self, noisy: Counts, n: int, k: int) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) for counts 0 … n, up to a constant; one factor a category."""
        values = np.arange(n + 1)
        return [-0.5 * self.epsilon * np.abs(int(r) - values) for r in noisy]


@lru_cache(maxsize=16)
def _weights(n: int, k: int, epsilon: Fraction) -> tuple[NDArray[np.float64], float]:
    # ln w for each class, and what bounds its error. What floats do not decide, balls do.
    space, budget = folded.classes(n, k), float(epsilon)
    powers = np.exp(-budget * np.arange(n + 1))
    table = np.array([space.alike(row) @ powers for row in space.rows])
    unit = _UNIT * (n + 2 * len(table) + 8 + 2.0 * min(budget * n, _LARGEST_POWER))
    weights, error = _solved(table, unit)
    least = float(weights.min())
    if least < -error:
        raise ValueError(folded.missing(n, k, budget))
    small = error <= _LARGEST_ERROR * least or len(table) > folded.LARGEST
    if small and least > 2.0 * error:
        return _validate.frozen(np.log(weights)), error / (least - error)
    balls = folded.decided_weights(n, k, epsilon, folded.FIRST_PRECISION)
    return _validate.frozen(np.array([float(ball.log().mid()) for ball in balls])), ROUNDING


def _solved(table: NDArray[np.float64], unit: float) -> tuple[NDArray[np.float64], float]:
    # w with T w = 1, and a bound of its largest error. With R any matrix, |w - w~| is at most
    # |R| |1 - T w~| / (1 - |I - R T|) in the largest entry, or nothing is known. `unit` bounds the
    # relative rounding of T and of a product with it.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            inverse = np.linalg.inv(table)
        except np.linalg.LinAlgError:
            return np.zeros(len(table)), np.inf
        weights = inverse.sum(axis=1)
        weights += inverse @ (1.0 - table @ weights)
        size = np.abs(inverse)
        gap = np.abs(np.eye(len(table)) - inverse @ table) + unit * (size @ table)
        residual = np.abs(1.0 - table @ weights) + unit * (table @ np.abs(weights) + 1.0)
        share, spread = float(gap.sum(axis=1).max()), float((size @ residual).max())
    return weights, spread / (1.0 - share) if share < 1.0 and np.isfinite(spread) else np.inf
