"""The Laplace family: noise on the counts, then floor, clamp and "the last takes the rest"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw

ROUNDINGS = ("floor", "nearest")
SIDES = ("two", "one")

_LARGEST_GRID = 20_000_000


@dataclass(frozen=True)
class LaplaceMechanism:
    """Release clamp(round(x_i + Y_i)) for i < k, and clamp(n - their sum) for the last category.

    Y_i are independent Laplace variables of scale b = sensitivity/epsilon, clamping is to [0, n],
    rounding is down ("floor", as in D, section 4.1) or to the nearest integer. `sensitivity` None
    stands for `by_dimension[0]` at k = 2 and `by_dimension[1]` beyond; the entry 0 there means k.
    `sides` "one" adds |floor(Y_i)| instead (B, section 3). Book: `def-lapmech`, `def-ilapmech`,
    `def-draft-laplace`.

    Guarantee, for two-sided noise of sensitivity at least 1 (k = 2) or 2 (k >= 3): for all count
    vectors x, x' of n records that differ by replacing one record, and every set S of posteriors,
    P[M(x) in S] <= e^epsilon P[M(x') in S]. One-sided noise has no guarantee.
    """

    epsilon: float
    name: str = "lapMech"
    by_dimension: tuple[float, float] = (2.0, 0.0)
    sensitivity: float | None = None
    rounding: str = "floor"
    sides: str = "two"

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)
        if self.sensitivity is not None:
            _validate.positive("sensitivity", self.sensitivity)
        _validate.choice("rounding", self.rounding, ROUNDINGS)
        _validate.choice("sides", self.sides, SIDES)

    def scale(self, k: int) -> float:
        """Return the scale b of the noise for k categories."""
        _validate.integer("k", k, minimum=2)
        if self.sensitivity is not None:
            return self.sensitivity / self.epsilon
        chosen = self.by_dimension[0 if k == 2 else 1]
        return (chosen if chosen > 0 else float(k)) / self.epsilon

    def log_step_probabilities(self, k: int, steps: ArrayLike) -> NDArray[np.float64]:
        """Return ln P(noise = t) of one unclamped coordinate, for whole steps t."""
        t = np.asarray(steps, dtype=np.float64)
        b = self.scale(k)
        return np.where(t >= 0, *self._branches(t, b))

    def _branches(
        self, t: NDArray[np.float64], b: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        width = np.log(-np.expm1(-1.0 / b))
        if self.rounding == "nearest":
            centre = np.log(-np.expm1(-0.5 / b))
            tail = np.log(0.5) - (np.abs(t) - 0.5) / b + width
            both = np.where(t == 0, centre, tail)
            return both, both
        up = np.log(0.5) - t / b + width
        down = np.log(0.5) + (t + 1.0) / b + width
        return up, down

    def marginal(self, count: int, n: int, k: int) -> NDArray[np.float64]:
        """Return ln P(output = r) of one noisy coordinate, for r = 0 … n, clamping included."""
        outputs = np.arange(n + 1)
        steps = outputs - int(count)
        if self.sides == "one":
            return self._one_sided(steps, k)
        logs = self.log_step_probabilities(k, steps)
        logs[0] = self._log_cumulative(-int(count), k)
        if n > 0:
            logs[n] = self._log_survival(n - int(count), k)
        else:
            logs[0] = 0.0
        return logs

    def _shift(self) -> float:
        # round(Y) <= t exactly when Y < t + shift, and round(Y) >= t when Y >= t + shift - 1.
        return 0.5 if self.rounding == "nearest" else 1.0

    def _log_cumulative(self, t: int, k: int) -> float:
        return _log_laplace_below((t + self._shift()) / self.scale(k))

    def _log_survival(self, t: int, k: int) -> float:
        return _log_laplace_below(-(t + self._shift() - 1.0) / self.scale(k))

    def _one_sided(self, steps: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        logs = np.full(steps.shape, -np.inf)
        reach = steps >= 0
        t = steps[reach]
        both = np.logaddexp(self.log_step_probabilities(k, t), self.log_step_probabilities(k, -t))
        logs[reach] = np.where(t == 0, self.log_step_probabilities(k, t), both)
        top = int(steps[-1])
        tails = (self._log_survival(top, k), self._log_cumulative(-top, k))
        logs[-1] = 0.0 if top == 0 else np.logaddexp(*tails)
        return logs

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram, clamping and rest included.

        For k >= 3 the released counts need not sum to n; distances use their own total.

        >>> law = LaplaceMechanism(1.0).law([50, 50], [1, 1])
        >>> round(law.probability([50, 50]), 11)
        0.19673467014
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, k = int(x.sum()), x.size
        if (n + 1) ** (k - 1) * k > _LARGEST_GRID:
            raise ValueError(
                f"n = {n} records over k = {k} categories give {(n + 1) ** (k - 1)} outputs; at "
                f"most {_LARGEST_GRID // k} are enumerated"
            )
        marginals = [self.marginal(int(count), n, k) for count in x[:-1]]
        logs = marginals[0]
        for following in marginals[1:]:
            logs = (logs[:, None] + following[None, :]).ravel()
        axes = np.meshgrid(*[np.arange(n + 1)] * (k - 1), indexing="ij")
        first = np.column_stack([axis.ravel() for axis in axes])
        last = np.clip(n - first.sum(axis=1), 0, n)
        return FiniteLaw(alpha, x, np.column_stack((first, last)), logs)


def _log_laplace_below(z: float) -> float:
    # ln P(Y < z) for a standard Laplace variable, right in both tails.
    if z <= 0:
        return float(np.log(0.5) + z)
    return float(np.log1p(-0.5 * np.exp(-z)))
