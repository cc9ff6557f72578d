"""The Laplace family: noise on the counts, then floor, clamp and "the last takes the
rest".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes._values import ByValue
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.laplace import Marginal, ProductLaw, product_grid
from dpbayes.laws.law import Unlisted, Way, choose
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms.capabilities import Counts, Drawn
from dpbayes.mechanisms.look import DASH_DOT, DASHED, DOTTED, SHORT, Look
from dpbayes.mechanisms.protocol import Guarantee, exact_epsilon, rounded_up
from dpbayes.mechanisms.spec import Nominal, Option, Spec, or_none, words_of
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import floored_laplace, plain, rounded_laplace

SENSITIVITIES: Mapping[str, Callable[[int], int]] = {
    "lapMech": lambda k: k,
    "ilapMech": lambda k: min(k - 1, 2),
    "draft-laplace": lambda k: 2,
}
"""Scale of the noise times epsilon for k categories, by the mechanism's name."""

LARGEST_FINITE = 400_000  # up to this many outputs all are listed
# beyond that, noise that reaches further either side is refused
LARGEST_WINDOW = 20_000_000
_TAIL = 46.0


@dataclass(frozen=True)
class LaplaceMechanism(Nominal):
    """Release clamp(round(x_i + Y_i)) for i < k, and clamp(n - their sum) for the last
    category.

    Y_i are independent Laplace variables of scale sensitivity/epsilon, clamping is to
    [0, n], rounding is down ("floor", as in D, section 4.1) or to the nearest integer.
    `name` chooses the sensitivity unless that is given: k (lapMech; D, section 4.1), 1
    at k = 2 and 2 beyond (ilapMech, what one replaced record needs:
    `thm-ilapmech-tight`), 2 (draft-laplace; B, section 3, which adds |floor(Y_i)|
    instead). Book: `def-lapmech`, `def-ilapmech`, `def-draft-laplace`.

    Guarantee: epsilon for two-sided noise of sensitivity at least 1 (k = 2) or 2 (k >=
    3) (`thm-laplace-private`); none for one-sided noise.
    """

    name: str = "lapMech"
    sensitivity: float | None = None
    rounding: str = "floor"

    options: ClassVar[Mapping[str, Option]] = {
        "sensitivity": Option(
            or_none(_validate.positive),
            (None, 2.5, 0.5),
            "scale of the noise times epsilon, a positive number; None for that of"
            " the name",
        ),
        "rounding": words_of(
            ("floor", "nearest"), "noisy counts are rounded down or to the nearest"
        ),
    }

    def __post_init__(self) -> None:
        _validate.choice("name", self.name, SENSITIVITIES)
        super().__post_init__()

    @property
    def one_sided(self) -> bool:
        """Whether the noise never lowers a count."""
        return self.name == "draft-laplace"

    def _sensitivity(self, k: int) -> float:
        default = SENSITIVITIES[self.name](_validate.integer("k", k, minimum=2))
        return default if self.sensitivity is None else self.sensitivity

    def scale(self, k: int) -> float:
        """Return the scale b = sensitivity / epsilon of the noise for k categories, in
        records.
        """
        return self._sensitivity(k) / self.epsilon

    def exact_rate(self, k: int) -> Fraction:
        """Return 1/scale of the noise for k categories as the exact fraction that is
        drawn with.
        """
        return exact_epsilon(self.epsilon) / Fraction(self._sensitivity(k))

    def log_step_probabilities(self, k: int, steps: ArrayLike) -> NDArray[np.float64]:
        """Return ln P(round(Y) = t) for whole steps t of any shape, Y ~ Laplace(0, b).

        (e^(-t/b) - e^(-(t+1)/b)) / 2 for t >= 0 rounded down (D, section 6.1.1 and
        Table 1; book: `thm-floor`); rounded to the nearest the interval is t - 1/2 to t
        + 1/2.
        """
        t = np.asarray(steps, dtype=np.float64)
        b = self.scale(k)
        width = np.log(0.5) + np.log(-np.expm1(-1.0 / b))
        if self.rounding == "nearest":
            centre = np.log(-np.expm1(-0.5 / b))
            return np.asarray(np.where(t == 0, centre, width - (np.abs(t) - 0.5) / b))
        return np.asarray(width - np.where(t >= 0, t, -(t + 1.0)) / b)

    def _log_steps(self, k: int, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        # ln P(noise = t), the noise being |round(Y)| where it is one-sided.
        logs = self.log_step_probabilities(k, steps)
        if not self.one_sided:
            return logs
        both = np.logaddexp(logs, self.log_step_probabilities(k, -steps))
        return np.where(steps > 0, both, np.where(steps == 0, logs, -np.inf))

    def _log_tail(self, k: int, t: int, below: bool = False) -> float:
        # ln P(round(Y) >= t), which is Y >= t or t - 1/2; or of round(Y) <= -t, its
        # mirror image but for rounding down: Y < 1 - t.
        edge = t - 0.5 if self.rounding == "nearest" else float(t - below)
        z = -edge / self.scale(k)
        return float(np.log(0.5) + z if z <= 0 else np.log1p(-0.5 * np.exp(-z)))

    def marginal(
        self, count: int, n: int, k: int, reach: int | None = None
    ) -> Marginal:
        """Return the distribution of one noisy coordinate clamped to [0, n].

        Counts further away than `reach` are left out; in `law` they have probability
        e^-46.
        """
        if n == 0:
            return Marginal(0, np.zeros(1))
        low, high = 0, n
        if reach is not None:
            low, high = (
                count if self.one_sided else max(count - reach, 0),
                min(n, count + reach),
            )
        logs = self._log_steps(k, np.arange(low, high + 1) - count)
        # The ends 0 and n collect what is clamped to them.
        if low == 0 and not self.one_sided:
            logs[0] = self._log_tail(k, count, below=True)
        if high == n:
            logs[-1] = self._log_tail(k, n - count)
            if self.one_sided:
                lowered = self._log_tail(k, n - count, below=True)
                logs[-1] = np.logaddexp(logs[-1], lowered) if count < n else 0.0
        complete = high == n and (low == 0 or self.one_sided)
        return Marginal(low, logs, 0.0 if complete else float(np.exp(-_TAIL)))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | ProductLaw:
        """Return the exact law of the released histogram, clamping and rest included.

        For k >= 3 the released counts need not sum to n; distances use their own total.

        >>> round(LaplaceMechanism(1.0).law([50, 50], [1, 1]).probability([50, 50]), 11)
        0.19673467014
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, k = int(x.sum()), x.size
        complete, width = (n + 1) ** (k - 1) <= LARGEST_FINITE, self.scale(k) * _TAIL
        if not complete and min(width, n * (k - 1)) > LARGEST_WINDOW:
            raise ValueError(
                f"epsilon = {self.epsilon!r} spreads the noise over more than"
                f" {LARGEST_WINDOW} counts either side; n = {n} records are too many"
                " for that"
            )
        reach = None if complete else int(np.ceil(width)) + 1
        each = {one: self.marginal(one, n, k, reach) for one in set(x[:-1].tolist())}
        marginals = tuple(each[one] for one in x[:-1].tolist())
        outputs = math.prod(one.log_probabilities.size for one in marginals)
        chosen: FiniteLaw | ProductLaw = choose(
            Way(
                "list" if complete else "window", outputs <= LARGEST_FINITE,
                f"{outputs} outputs are within reach of the noise, and up to"
                f" {LARGEST_FINITE} are listed",
                lambda: product_grid(alpha, x, marginals),
            ),
            Way(
                "product", True, "it takes any number of records and categories",
                lambda: ProductLaw(alpha, x, marginals),
            ),
        )  # fmt: skip
        return chosen

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon times what one record changes over the sensitivity: 1 count at
        k = 2, 2 in l1 beyond (`thm-laplace-private`). None for one-sided noise.
        """
        rate = self.exact_rate(k)
        if self.one_sided:
            return Guarantee(
                None,
                "one-sided noise never lowers a count, so a smaller output rules that"
                " count out",
            )
        moved = 1 if k == 2 else 2
        change = (
            "one count by 1"
            if k == 2
            else f"the first {k - 1} counts by at most 2 in l1"
        )
        return Guarantee(
            moved * rate,
            f"a replaced record changes {change}, the noise is Laplace of rate"
            f" {rounded_up(rate)} rounded to whole numbers, the rest is"
            " post-processing",
            "thm-laplace-private",
        )

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return the k - 1 noisy counts, and the histogram (k,) with the rest in its
        last category.
        """
        n, rate = int(counts.sum()), self.exact_rate(counts.size)
        step = rounded_laplace if self.rounding == "nearest" else floored_laplace
        noise = [step(bits, rate) for _ in counts[:-1]]
        if self.one_sided:
            noise = [abs(z) for z in noise]
        noisy = plain(int(x) + z for x, z in zip(counts, noise, strict=False))
        return noisy, self.finished(noisy, n, prior)

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the noisy counts clamped to [0, n], and the rest, clamped, as the
        last; (k,).
        """
        clamped = np.clip(noisy, 0, n)
        return np.append(clamped, np.clip(n - clamped.sum(), 0, n))

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> list[NDArray[np.float64]]:
        """Return ln P(noisy_i | count) for count = 0 … n of the first k - 1 categories,
        and zeros for the last, which takes the rest.
        """
        if self.one_sided and min(noisy) < 0:
            raise ValueError(
                f"noisy must be at least 0 for one-sided noise, got {list(noisy)}"
            )
        steps = [int(y) - np.arange(n + 1) for y in noisy]
        return [*(self._log_steps(k, step) for step in steps), np.zeros(n + 1)]

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the law of the step of one count as the data grow: floor(Y), Y ~
        Laplace(0, b).

        Raises ValueError for one-sided noise and for noise rounded to the nearest.
        """
        if self.one_sided or self.rounding != "floor":
            raise ValueError(
                f"the large-n law is for two-sided noise rounded down, got {self.name}"
                f" with rounding={self.rounding!r}"
            )
        return StepLaw(1.0 / self.scale(k), floored=True)


@dataclass(frozen=True, eq=False, repr=False)
class ContinuousLaw(ByValue, Unlisted):
    """Updates min(max(x_i + Y_i, 0), n) with Y_i independent Laplace(scale); means are
    drawn.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    scale: float

    def one_probability(self, counts_out: NDArray[np.int64]) -> Estimate:
        """Return the probability of exactly this update: 0 unless every entry is 0 or
        n.
        """
        if not np.all((counts_out == 0) | (counts_out == self.counts.sum())):
            return Estimate(0.0, 0.0, "listed")
        value = float(
            np.prod(0.5 * np.exp(-np.abs(counts_out - self.counts) / self.scale))
        )
        return Estimate(value, 1e-15 * value, "listed")

    def draws(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Return draws of the update min(max(x_i + Y_i, 0), n), floats of shape (size,
        k).
        """
        noise = rng.laplace(scale=self.scale, size=(size, self.counts.size))
        return np.asarray(np.clip(self.counts + noise, 0.0, float(self.counts.sum())))


@dataclass(frozen=True)
class ParameterLaplace(Nominal):
    """Release prior_i + min(max(x_i + Y_i, 0), n) with independent Y_i ~
    Laplace(2/epsilon).

    After Zhang, Rubinstein and Dimitrakakis (2016), who perturb each Bayesian update
    and cut it to its possible range. The total of the parameters is not preserved. The
    noise is continuous, so this mechanism is for study only: there is no release of it.
    Book: `def-parameter-laplace`. Guarantee: epsilon (`thm-laplace-private`).
    """

    name: ClassVar[str] = "parameter-laplace"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> ContinuousLaw:
        """Return the law of the released update; `counts` and `prior` have shape (k,).

        >>> round(ParameterLaplace(1.0).law([50, 50], [1, 1]).mean_distance(), 2)
        0.11
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        if int(x.sum()) < 1:
            raise ValueError(
                "counts must hold at least one record for parameter-laplace, got none"
            )
        return ContinuousLaw(alpha, x, 2.0 / float(self.epsilon))

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon: the parameters change by 2 in l1 (`thm-laplace-private`).

        For all x, x' of n records with one replaced, and every set S of parameters, P[x
        + Y in S] <= e^epsilon P[x' + Y in S] for exact real noise, which is never
        drawn.
        """
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the parameters by 2 in l1, the noise is"
            f" continuous Laplace of scale 2/{rounded_up(bound)}, cutting to the range"
            " is post-processing",
            "thm-laplace-private",
        )


def _spec(name: str, look: Look, theorem: str | None, source: str) -> Spec:
    made = partial(LaplaceMechanism, name=name)
    sources = (source, "dwork-calibrating")
    return Spec(name, made, LaplaceMechanism.options, look, theorem, sources)


SPECS = (
    _spec(
        "lapMech",
        Look(
            "#D55E00", DASHED, "s", "\\\\\\\\", "Laplace noise as the papers scale it"
        ),
        "thm-laplace-private",
        "liu-tailoring",
    ),
    _spec(
        "ilapMech",
        Look(
            "#A67C00",
            DASH_DOT,
            "^",
            "////",
            "Laplace noise scaled to what a record changes",
        ),
        "thm-laplace-private",
        "liu-tailoring",
    ),
    _spec(
        "draft-laplace",
        Look("#B23A48", SHORT, "P", "*", "one-sided Laplace noise of the draft"),
        None,
        "liu-draft",
    ),
    Spec(
        ParameterLaplace.name,
        ParameterLaplace,
        ParameterLaplace.options,
        Look("#7A4A1E", DOTTED, "X", "\\\\..", "Laplace noise on the parameters"),
        theorem="thm-laplace-private",
        sources=("zhang-bayesian", "dwork-calibrating"),
    ),
)
