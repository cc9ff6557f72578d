"""The exact law of the combined noise of an estimate, Z = sum w_i X_i with X_i standard
Laplace.

With K(s) = -sum ln(1 - w_i^2 s^2), P(Z > x) = (1/2 pi i) int exp(K(s) - sx) ds/s along
any line between 0 and the first pole 1/max w, bent into s(u) = c + 0.4 d (cosh u - 1) +
i d sinh u through the saddle point c: the trapezoid rule is exact to rounding. Without
1/s it is the density.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri_exp

from dpbayes import _validate as check
from dpbayes._roots import root
from dpbayes.tables.inference import Array, shaped

# of u: the trapezoid rule on this curve errs by less than 1e-14 of the integral
_STEP = 0.05
_BEND = 0.4  # of the curve: any value in (0, 1) keeps right of the imaginary line
_REACH = 44.0  # e-folds: what lies beyond is below 1e-19 of the integrand's centre
# of the largest: smaller weights change a tail by less than 1e-24 of itself
_DUST = 1e-12
_NODES = 64  # of the integral, taken together


@dataclass(frozen=True)
class NoiseLaw:
    """The law of Z = sum w_i X_i, X_i independent with density exp(-|x|)/2; tails have
    13 digits.

    `weights` (m,) finite, at least one not 0, kept as absolute values. Characteristic
    function prod 1/(1 + w_i^2 t^2) (E, equations 20 to 22; the integral is ours;
    `thm-noise-law`).

    >>> round(NoiseLaw([2.0]).tail(2.0), 12)
    0.183939720586
    >>> round(NoiseLaw([1.0, 1.0]).half_width(0.05), 9)
    4.113003281
    """

    weights: Array

    def __init__(self, weights: ArrayLike) -> None:
        sizes = np.abs(shaped("weights", weights, "m"))
        if not np.any(sizes):
            raise ValueError("weights must have an entry that is not 0, got all zeros")
        object.__setattr__(self, "weights", check.frozen(sizes))

    @cached_property
    def _unit(self) -> tuple[float, Array]:
        """The largest weight, and all that matter as multiples of it."""
        largest = float(self.weights.max())
        ratios = self.weights / largest
        return largest, ratios[ratios >= _DUST]

    @property
    def variance(self) -> float:
        """The variance 2 sum w_i^2; infinite where no float is large enough."""
        return (
            self.standard_deviation**2 if self.standard_deviation < 1e154 else math.inf
        )

    @property
    def standard_deviation(self) -> float:
        """The standard deviation sqrt(2 sum w_i^2), which overflows last."""
        largest, ratios = self._unit
        return largest * math.sqrt(2.0) * float(np.linalg.norm(ratios))

    def log_tail(self, x: float) -> float:
        """Return ln P(Z > x), accurate also where the probability itself underflows."""
        point = check.real("x", x)
        if point < 0.0:
            return math.log1p(-self.tail(-point))
        largest, ratios = self._unit
        far = point > 1e300 * largest
        return -math.inf if far else _log_tail_and_hazard(ratios, point / largest)[0]

    def tail(self, x: float) -> float:
        """Return P(Z > x)."""
        point = check.real("x", x)
        upper = math.exp(self.log_tail(abs(point))) if point else 0.5
        return upper if point >= 0.0 else 1.0 - upper

    def half_width(self, delta: float) -> float:
        """Return the smallest c with P(|Z| <= c) >= 1 - delta."""
        # By Newton's method: ln P(Z > c) is concave, so that the iterates fall to the
        # root.
        target = math.log(0.5) + math.log(check.open_unit("delta", delta))
        largest, ratios = self._unit
        c = -float(ndtri_exp(target)) * math.sqrt(2.0) * float(np.linalg.norm(ratios))
        for _ in range(100):
            log_tail, hazard = _log_tail_and_hazard(ratios, c)
            step = (log_tail - target) / hazard
            c = max(c + step, 0.0)
            if abs(step) <= 1e-9 * c:  # its square is rounding
                break
        return c * largest

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Return `size` draws of Z."""
        check.generator("rng", rng)
        result = np.empty(check.integer("size", size, 1))
        block = max(1, (1 << 20) // self.weights.size)  # 8 MB
        for start in range(0, result.size, block):
            part = result[start : start + block]
            part[:] = rng.laplace(size=(part.size, self.weights.size)) @ self.weights
        return result


def _log_tail_and_hazard(v: Array, x: float) -> tuple[float, float]:
    """Return (ln P(Z > x), density(x) / P(Z > x)) for weights v whose largest is 1 and
    x >= 0.
    """
    # Lengths in the gap g = 1 - c to the pole: 1 - v^2 s^2 = (1 - v^2 c^2)(1 - r (s^2 -
    # c^2)/g).
    c, gap = _saddle_point(v, x)
    left, right = (1.0 - v) + v * gap, 1.0 + v * c  # 1 - v c, 1 + v c
    a = v * gap / left
    r, b = v * a / right, a / right
    d = 1.0 / math.sqrt(2.0 * float((b * b) @ (1.0 + (v * c) ** 2)) + (gap / c) ** 2)
    tail = density = 0.0
    for first in range(0, 40 * _NODES, _NODES):
        u = _STEP * np.arange(first, first + _NODES)
        shift = _BEND * d * (np.cosh(u) - 1.0) + 1j * d * np.sinh(u)
        s = c + gap * shift
        logs = np.log1p(-(shift * (s + c))[:, None] * r[None, :]).sum(axis=1)
        exponent = -logs - shift * (gap * x)
        terms = np.exp(exponent) * (_BEND * d * np.sinh(u) + 1j * d * np.cosh(u))
        terms[0] *= 1.0 if first else 0.5
        tail += float(np.sum((terms / s).imag))
        density += float(np.sum(terms.imag))
        if exponent[-1].real + math.log(math.cosh(u[-1])) < -_REACH:
            break
    if not 0.0 < tail < math.inf:
        raise ArithmeticError(
            f"the tail at x = {x!r} came out as {tail!r}, not a probability"
        )
    near = np.minimum(v * c, 0.5)
    logs = np.where(v * c < 0.5, np.log1p(-(near**2)), np.log(left * right))
    scale = -math.fsum(logs) - (c * x if c < 0.5 else x - gap * x)
    return scale + math.log(gap * tail * _STEP / math.pi), density / tail


def _saddle_point(v: Array, x: float) -> tuple[float, float]:
    """Return the root c in (0, 1) of K'(s) = x + 1/s, and 1 - c."""

    def excess(t: float) -> float:
        # at s with t = ln(s / (1 - s)): both keep their digits
        s, gap = float(expit(t)), float(expit(-t))
        a = v * gap / ((1.0 - v) + v * gap)
        return 2.0 * s * float(v @ (a / (1.0 + v * s))) - gap * x - gap / s

    low, high = -20.0 - math.log(v.size), 5.0 + math.log(x + 2.0)
    t = root(excess, low, high, xtol=1e-8)
    return float(expit(t)), float(expit(-t))


class Interval(NamedTuple):
    """The credible interval low .. high of a query, with the confidence it was made
    for.
    """

    low: float
    high: float
    confidence: float

    @property
    def length(self) -> float:
        """The distance between its ends, at least 0."""
        return self.high - self.low


def interval(estimate: float, law: NoiseLaw, delta: float) -> Interval:
    """Return the Interval estimate +- c, with c the smallest such that P(|Z| <= c) >= 1
    - delta.

    Given the *estimate* alone, under a flat prior, for a query chosen without looking
    at answers (E, Definition 2.5; `def-credible-interval`).

    >>> round(interval(10.0, NoiseLaw([1.0]), 0.5).low, 9)  # of an Interval
    9.306852819
    """
    centre = check.real("estimate", estimate)
    c = check.instance("law", law, NoiseLaw).half_width(delta)
    return Interval(centre - c, centre + c, 1.0 - delta)
