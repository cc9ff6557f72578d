"""The Laplace family: noise on the counts, then floor, clamp and "the last takes the rest"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.laplace import Marginal, ProductLaw, product_grid
from dpbayes.laws.law import Way, choose
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.samplers import balls
from dpbayes.samplers.balls import Balls
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import floored_laplace, plain, rounded_laplace

ROUNDINGS = ("floor", "nearest")
SIDES = ("two", "one")

LARGEST_FINITE = 400_000
"""Up to this many outputs all are listed."""

LARGEST_WINDOW = 20_000_000
"""Noise that reaches further than this either side is refused beyond `LARGEST_FINITE` outputs."""

_TAIL = 46.0
_LAP = (2.0, 0.0)


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
    by_dimension: tuple[float, float] = _LAP
    sensitivity: float | None = None
    rounding: str = "floor"
    sides: str = "two"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        if self.sensitivity is not None:
            _validate.positive("sensitivity", self.sensitivity)
        low, high = _validate.real_vector("by_dimension", self.by_dimension, minimum=2)[:2]
        if len(self.by_dimension) != 2 or low <= 0 or high < 0:
            raise ValueError(
                f"by_dimension must be 2 numbers, positive and at least 0, got {self.by_dimension}"
            )
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
        width = np.log(0.5) + np.log(-np.expm1(-1.0 / b))
        if self.rounding == "nearest":
            centre = np.log(-np.expm1(-0.5 / b))
            return np.asarray(np.where(t == 0, centre, width - (np.abs(t) - 0.5) / b))
        return np.asarray(width - np.where(t >= 0, t, -(t + 1.0)) / b)

    def marginal(self, count: int, n: int, k: int) -> NDArray[np.float64]:
        """Return ln P(output = r) of one noisy coordinate, for r = 0 … n, clamping included."""
        return self._marginal(int(count), n, k, 0, n)

    def window(self, count: int, n: int, k: int) -> Marginal:
        """Return the distribution of one noisy coordinate, less tails of probability e^-46.

        Complete where [0, n] does not reach that far from the count.
        """
        reach = int(np.ceil(_TAIL * self.scale(k))) + 1
        low, high = max(count - reach, 0) if self.sides == "two" else count, min(n, count + reach)
        complete = high == n and (low == 0 or self.sides == "one")
        logs = self._marginal(count, n, k, low, high)
        return Marginal(low, logs, 0.0 if complete else float(np.exp(-_TAIL)))

    def _marginal(self, count: int, n: int, k: int, low: int, high: int) -> NDArray[np.float64]:
        # ln P(output = r) for r = low … high; the ends 0 and n collect what is clamped to them.
        if n == 0:
            return np.zeros(1)
        steps = np.arange(low, high + 1) - count
        if self.sides == "one":
            return self._one_sided(steps, k, high == n)
        logs = self.log_step_probabilities(k, steps)
        if low == 0:
            logs[0] = self._log_cumulative(-count, k)
        if high == n:
            logs[-1] = self._log_survival(n - count, k)
        return logs

    def _shift(self) -> float:
        # round(Y) <= t exactly when Y < t + shift, and round(Y) >= t when Y >= t + shift - 1.
        return 0.5 if self.rounding == "nearest" else 1.0

    def _log_cumulative(self, t: int, k: int) -> float:
        return _log_laplace_below((t + self._shift()) / self.scale(k))

    def _log_survival(self, t: int, k: int) -> float:
        return _log_laplace_below(-(t + self._shift() - 1.0) / self.scale(k))

    def _one_sided(
        self, steps: NDArray[np.int64], k: int, clamped: bool = False
    ) -> NDArray[np.float64]:
        logs = np.full(steps.shape, -np.inf)
        reach = steps >= 0
        t = steps[reach]
        both = np.logaddexp(self.log_step_probabilities(k, t), self.log_step_probabilities(k, -t))
        logs[reach] = np.where(t == 0, self.log_step_probabilities(k, t), both)
        top = int(steps[-1])
        if clamped:
            tails = (self._log_survival(top, k), self._log_cumulative(-top, k))
            logs[-1] = 0.0 if top == 0 else np.logaddexp(*tails)
        return logs

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | ProductLaw:
        """Return the exact law of the released histogram, clamping and rest included.

        For k >= 3 the released counts need not sum to n; distances use their own total. All
        outputs are listed up to `LARGEST_FINITE` of them; beyond that those within reach of the
        noise, or, where these are too many as well, a product law with the same methods.

        >>> law = LaplaceMechanism(1.0).law([50, 50], [1, 1])
        >>> round(law.probability([50, 50]), 11)
        0.19673467014
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, k = int(x.sum()), x.size
        size = (n + 1) ** (k - 1)
        if size > LARGEST_FINITE and min(self.scale(k) * _TAIL, n * (k - 1)) > LARGEST_WINDOW:
            raise ValueError(
                f"epsilon = {self.epsilon!r} spreads the noise over more than {LARGEST_WINDOW} "
                f"counts either side; n = {n} records are too many for that"
            )
        if size <= LARGEST_FINITE:
            windows = {one: Marginal(0, self.marginal(one, n, k)) for one in set(x[:-1].tolist())}
        else:
            windows = {one: self.window(one, n, k) for one in set(x[:-1].tolist())}
        marginals = tuple(windows[one] for one in x[:-1].tolist())
        outputs = math.prod(one.log_probabilities.size for one in marginals)
        most = f"up to {LARGEST_FINITE} are listed"
        chosen: FiniteLaw | ProductLaw = choose(
            Way(
                "list", size <= LARGEST_FINITE, f"there are {size} outputs, and {most}",
                lambda: product_grid(alpha, x, marginals),
            ),
            Way(
                "window", outputs <= LARGEST_FINITE,
                f"{outputs} outputs are within reach of the noise, and {most}",
                lambda: product_grid(alpha, x, marginals),
            ),
            Way(
                "product", True, "it takes any number of records and categories",
                lambda: ProductLaw(alpha, x, marginals),
            ),
        )  # fmt: skip
        return chosen

    @property
    def definition(self) -> str:
        """Label of the definition in the book."""
        if self.sides == "one":
            return "def-draft-laplace"
        return "def-lapmech" if self.by_dimension == _LAP else "def-ilapmech"

    @property
    def citations(self) -> tuple[str, ...]:
        """Keys of the sources."""
        return ("liu-draft" if self.sides == "one" else "liu-tailoring", "dwork-calibrating")

    def exact_rate(self, k: int) -> Fraction:
        """Return 1/scale of the noise for k categories as the exact fraction that is drawn with."""
        chosen = self.by_dimension[0 if k == 2 else 1]
        default = chosen if chosen > 0 else float(k)
        sensitivity = default if self.sensitivity is None else self.sensitivity
        return exact_epsilon(self.epsilon) / Fraction(sensitivity)

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved for k categories from the scale of the noise."""
        _validate.integer("k", k, minimum=2)
        if self.sides == "one":
            return Guarantee(
                None,
                "one-sided noise never lowers a count, so an output below a count rules that "
                "count out",
            )
        moved, rate = 1 if k == 2 else 2, self.exact_rate(k)
        change = "one count by 1" if k == 2 else f"the first {k - 1} counts by at most 2 in l1"
        return Guarantee(
            moved * rate,
            f"a replaced record changes {change}, the noise is Laplace of rate {rounded_up(rate)} "
            "rounded to whole numbers, the rest is post-processing",
            "thm-laplace-private",
        )

    def enclosed_law(self, library: Any, counts: Counts, prior: NDArray[np.float64]) -> Balls:
        """Return ln P of every output in ball arithmetic, for audits; k = 2, two-sided noise."""
        balls.two_counts(counts)
        if self.sides == "one":
            raise ValueError(f"sides must be two for an enclosure, got {self.sides!r}")
        nearest = self.rounding == "nearest"
        return balls.rounded_laplace(library, counts, self.exact_rate(2), nearest)

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return the k - 1 noisy counts, and the histogram with the rest in its last category."""
        n, rate = int(counts.sum()), self.exact_rate(counts.size)
        step = rounded_laplace if self.rounding == "nearest" else floored_laplace
        noise = [step(bits, rate) for _ in counts[:-1]]
        if self.sides == "one":
            noise = [abs(z) for z in noise]
        noisy = plain(int(x) + z for x, z in zip(counts, noise, strict=False))
        clamped = np.clip(noisy, 0, n)
        return noisy, np.append(clamped, np.clip(n - clamped.sum(), 0, n))

    def log_likelihoods(self, noisy: Counts, n: int, k: int) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) for counts 0 … n, one factor a category.

        One-sided noise rules out every count above the noisy one, with -inf.
        """
        if self.sides == "one" and min(noisy) < 0:
            raise ValueError(f"noisy must be at least 0 for one-sided noise, got {list(noisy)}")
        steps = [int(y) - np.arange(n + 1) for y in noisy]
        if self.sides == "one":
            return [*(self._one_sided(step, k) for step in steps), np.zeros(n + 1)]
        return [*(self.log_step_probabilities(k, step) for step in steps), np.zeros(n + 1)]

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step of one count as the data grow, for noise rounded down."""
        if self.sides != "two" or self.rounding != "floor":
            raise ValueError(
                "the large-n law is for two-sided noise rounded down, got "
                f"sides={self.sides!r}, rounding={self.rounding!r}"
            )
        return StepLaw(1.0 / self.scale(k), floored=True)


def lap_mech(
    epsilon: float, sensitivity: float | None = None, rounding: str = "floor"
) -> LaplaceMechanism:
    """Return lapMech: the noise of D, section 4.1."""
    return LaplaceMechanism(epsilon, "lapMech", _LAP, sensitivity, rounding)


def ilap_mech(
    epsilon: float, sensitivity: float | None = None, rounding: str = "floor"
) -> LaplaceMechanism:
    """Return ilapMech: the noise that one replaced record needs (`thm-ilapmech-tight`)."""
    return LaplaceMechanism(epsilon, "ilapMech", (1.0, 2.0), sensitivity, rounding)


def draft_laplace(epsilon: float, sensitivity: float | None = None) -> LaplaceMechanism:
    """Return the one-sided noise of B, section 3."""
    return LaplaceMechanism(epsilon, "draft-laplace", (2.0, 2.0), sensitivity, "floor", "one")


def _log_laplace_below(z: float) -> float:
    # ln P(Y < z) for a standard Laplace variable, right in both tails.
    if z <= 0:
        return float(np.log(0.5) + z)
    return float(np.log1p(-0.5 * np.exp(-z)))
