"""The exact law of the combined noise of an estimate, Z = sum w_i X_i with X_i standard Laplace.

E (section 4.1) gives the characteristic function and calls the law out of reach for long histories;
here its tails are computed to about fourteen digits for any number of answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri_exp

from dpbayes._validate import frozen, generator, integer, open_unit, real
from dpbayes.queries import _arrays
from dpbayes.queries._contour import SMALLEST_RATIO, log_tail_and_hazard

_DRAWS_AT_ONCE = 1 << 20
_LAST_STEP = 1e-9


@dataclass(frozen=True)
class NoiseLaw:
    """The law of Z = sum w_i X_i, X_i independent with density exp(-|x|)/2.

    `weights` (m,): finite, any sign (the law is symmetric), at least one not 0; kept as absolute
    values. Characteristic function prod 1/(1 + w_i^2 t^2). Weights below 1e-12 of the largest are
    left out of tails and densities; `tail_error` bounds what that changes.

    Source: E, equations 20 to 22; the integral is ours. In the book: `thm-noise-law`.

    >>> law = NoiseLaw([2.0])
    >>> abs(law.tail(2.0) - 0.5 * math.exp(-1.0)) < 1e-15
    True
    >>> round(NoiseLaw([1.0, 1.0]).half_width(0.05), 9)
    4.113003281
    """

    weights: NDArray[np.float64]

    def __init__(self, weights: ArrayLike) -> None:
        sizes = np.abs(_arrays.vector("weights", weights))
        if not np.any(sizes):
            raise ValueError("weights must have an entry that is not 0, got all zeros")
        object.__setattr__(self, "weights", frozen(sizes))

    @cached_property
    def _unit(self) -> tuple[float, NDArray[np.float64]]:
        largest = float(self.weights.max())
        ratios = self.weights / largest
        return largest, ratios[ratios >= SMALLEST_RATIO]

    @property
    def tail_error(self) -> float:
        """The largest relative error of a tail from leaving out weights below 1e-12 of the largest.

        prod 1/(1 - v_i^2) - 1 over their shares v_i of the largest. Book: `thm-dust`.

        >>> NoiseLaw([1.0, 0.5]).tail_error, NoiseLaw([1.0] + [1e-13] * 100).tail_error
        (0.0, 1.0000000000000001e-24)
        """
        ratios = self.weights / self.weights.max()
        dust = ratios[ratios < SMALLEST_RATIO]
        return math.expm1(-math.fsum(np.log1p(-dust * dust))) if dust.size else 0.0

    @property
    def variance(self) -> float:
        """The variance 2 sum w_i^2; infinite where no float is large enough."""
        scale, shares = self._scaled
        return float(2.0 * shares @ shares) * scale * scale

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        scale, shares = self._scaled
        return math.sqrt(2.0) * float(np.linalg.norm(shares)) * scale

    @property
    def _scaled(self) -> tuple[float, NDArray[np.float64]]:
        # Division by a power of two is exact and keeps squares away from both ends of the floats.
        scale = 2.0 ** max(math.frexp(float(self.weights.max()))[1] - 1, -1000)
        return scale, self.weights / scale

    def log_tail(self, x: float) -> float:
        """Return ln P(Z > x), accurate also where the probability itself underflows."""
        point = real("x", x)
        if point < 0.0:
            return math.log1p(-self.tail(-point))
        return self._tail_and_hazard(point)[0]

    def tail(self, x: float) -> float:
        """Return P(Z > x)."""
        point = real("x", x)
        if point == 0.0:
            return 0.5
        upper = math.exp(self._tail_and_hazard(abs(point))[0])
        return upper if point > 0.0 else 1.0 - upper

    def cdf(self, x: float) -> float:
        """Return P(Z <= x)."""
        return self.tail(-real("x", x))

    def density(self, x: float) -> float:
        """Return the density of Z at x; infinite where no float is large enough."""
        largest, _ = self._unit
        log_tail, hazard = self._tail_and_hazard(abs(real("x", x)))
        return hazard * math.exp(log_tail) / largest

    def probability(self, low: float, high: float) -> float:
        """Return P(low < Z <= high), subtracting the two smaller tails."""
        start, end = real("low", low), real("high", high)
        if start > end:
            raise ValueError(f"low must be at most high, got {low!r} > {high!r}")
        if start >= 0.0:
            return self.tail(start) - self.tail(end)
        if end <= 0.0:
            return self.tail(-end) - self.tail(-start)
        return 1.0 - self.tail(end) - self.tail(-start)

    def half_width(self, delta: float) -> float:
        """Return the smallest c with P(|Z| <= c) >= 1 - delta.

        Newton's method on ln P(Z > c), which is concave: after the first step, which overshoots,
        the iterates fall to the root without crossing it. It begins where a normal law of the same
        variance ends. A step so small that its square is rounding is the last one.
        """
        target = math.log(0.5 * open_unit("delta", delta))
        largest, ratios = self._unit
        c = -float(ndtri_exp(target)) * math.sqrt(2.0 * float(ratios @ ratios))
        for _ in range(100):
            log_tail, hazard = log_tail_and_hazard(ratios, c)
            step = (log_tail - target) / hazard
            c = max(c + step, 0.0)
            if abs(step) <= _LAST_STEP * c:
                break
        return c * largest

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` draws of Z."""
        generator("rng", rng)
        count = integer("size", size, 1)
        result = np.empty(count)
        block = max(1, _DRAWS_AT_ONCE // self.weights.size)
        for start in range(0, count, block):
            stop = min(start + block, count)
            result[start:stop] = rng.laplace(size=(stop - start, self.weights.size)) @ self.weights
        return result

    def _tail_and_hazard(self, x: float) -> tuple[float, float]:
        """Return ln P(Z > x) and the hazard there, as a multiple of 1 / largest weight."""
        largest, ratios = self._unit
        if x > 1e300 * largest:
            return -math.inf, 1.0
        return log_tail_and_hazard(ratios, x / largest)


def equal_scale_density(terms: int, x: ArrayLike, scale: float = 1.0) -> NDArray[np.float64]:
    """Return the density at x of the sum of `terms` independent Laplace variables of one scale.

    exp(-|x|/b) / (b (n-1)! 2^n) * sum_k (n-1+k)! / (k! (n-1-k)!) (|x|/b)^(n-1-k) / 2^k, a sum of
    positive terms, taken in logarithms.

    Source: E, equation 23. In the book: `thm-equal-scales`.

    >>> equal_scale_density(2, [0.0])
    array([0.25])
    """
    n = integer("terms", terms, 1)
    b = float(_arrays.positive_entries("scale", [scale])[0])
    z = np.abs(_arrays.real_array("x", x)) / b
    k = np.arange(n)
    log_coefficients = np.array(
        [math.lgamma(n + i) - math.lgamma(i + 1) - math.lgamma(n - i) - i * math.log(2) for i in k]
    )
    with np.errstate(divide="ignore"):
        logs = np.log(z)[..., None]
    powers = np.where(k == n - 1, 0.0, (n - 1 - k) * np.where(k == n - 1, 0.0, logs))
    constant = math.lgamma(n) + n * math.log(2) + math.log(b)
    return np.asarray(np.exp(log_coefficients + powers - z[..., None] - constant).sum(axis=-1))
