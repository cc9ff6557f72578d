"""Exact samplers from fair bits and whole numbers: no floating-point number takes part.

After Canonne, Kamath and Steinke (2020). Rates are fractions; a float epsilon is turned
into the fraction it stands for, so nothing is rounded. Book: `thm-exact-samplers`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpbayes.samplers.bits import BitSource, below


def bernoulli_exp(source: BitSource, gamma: Fraction) -> bool:
    """Return True with probability e^-gamma, for a fraction gamma >= 0.

    For gamma <= 1 the number K of successes of Bernoulli(gamma), Bernoulli(gamma/2), …
    before the first failure is even with probability 1 - gamma + gamma^2/2 - … =
    e^-gamma. A larger gamma is a product of e^-1, most of which are never drawn.
    """
    p, q = gamma.numerator, gamma.denominator
    while p > q:
        if not _small_coin(source, 1, 1):
            return False
        p -= q
    return _small_coin(source, p, q)


def _small_coin(source: BitSource, p: int, q: int) -> bool:
    trials = 1
    while below(source, q * trials) < p:
        trials += 1
    return trials % 2 == 1


def geometric(source: BitSource, rate: Fraction) -> int:
    """Return g >= 0 with probability proportional to e^(-rate g), for a fraction rate >
    0.

    With rate = s/t: u + t v has this law for rate 1/t when u < t is kept with
    probability e^(-u/t) and v is geometric of rate 1; then the quotient by s has rate
    s/t. The work does not grow with 1/rate.
    """
    step, unit = rate.numerator, rate.denominator
    while True:
        offset = below(source, unit)
        if _small_coin(source, offset, unit):
            break
    blocks = 0
    while _small_coin(source, 1, 1):
        blocks += 1
    return (offset + unit * blocks) // step


def two_sided_geometric(source: BitSource, rate: Fraction) -> int:
    """Return z with probability proportional to e^(-rate |z|)."""
    while True:
        negative, size = source.bits(1), geometric(source, rate)
        if not negative:
            return size
        if size:  # a negative zero would count zero twice
            return -size


def floored_laplace(source: BitSource, rate: Fraction) -> int:
    """Return floor(Y) for Y ~ Laplace(1/rate): a fair sign and a geometric size."""
    return -1 - geometric(source, rate) if source.bits(1) else geometric(source, rate)


def rounded_laplace(source: BitSource, rate: Fraction) -> int:
    """Return Y ~ Laplace(1/rate) rounded to the nearest whole number."""
    if not bernoulli_exp(source, rate / 2):
        return 0
    size = 1 + geometric(source, rate)
    return -size if source.bits(1) else size


def lattice_by_coins(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """Return z with sum 0 and probability proportional to e^(-epsilon |z|_1 / 2).

    The first k-1 entries are drawn independently with rate epsilon/2 and kept with
    probability e^(-epsilon |s| / 2), s their sum; the last entry is -s. Book:
    `thm-lattice-sampler`.
    """
    rate = epsilon / 2
    while True:
        free = [two_sided_geometric(source, rate) for _ in range(k - 1)]
        if bernoulli_exp(source, rate * abs(sum(free))):
            return [*free, -sum(free)]


def discrete_gaussian(source: BitSource, variance: Fraction) -> int:
    """Return z with probability proportional to e^(-z^2 / (2 v)), for a fraction v > 0.

    After Canonne, Kamath and Steinke (2020): y with probability proportional to
    e^(-|y|/t), t = floor(sqrt v) + 1, is kept with probability e^(-(|y| - v/t)^2 / (2
    v)). Book: `thm-gaussian-sampler`.
    """
    unit = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = two_sided_geometric(source, Fraction(1, unit))
        if bernoulli_exp(source, (abs(y) - variance / unit) ** 2 / (2 * variance)):
            return y


def sum_zero_gaussian(source: BitSource, k: int, variance: Fraction) -> list[int]:
    """Return z with sum 0 and probability proportional to e^(-|z|^2 / (2 v)).

    The first k - 1 entries are drawn independently and kept with probability e^(-s^2 /
    (2 v)), s their sum; the last entry is -s.
    """
    while True:
        free = [discrete_gaussian(source, variance) for _ in range(k - 1)]
        total = sum(free)
        if bernoulli_exp(source, Fraction(total * total) / (2 * variance)):
            return [*free, -total]


def weighted(source: BitSource, weights: Sequence[Fraction]) -> int:
    """Return i with probability exactly weights[i] / their sum, for fractions of at
    least 0.
    """
    unit = math.lcm(*(weight.denominator for weight in weights))
    shares = [weight.numerator * (unit // weight.denominator) for weight in weights]
    return bisect_right(list(accumulate(shares)), below(source, sum(shares)))


def plain(values: Iterable[int]) -> NDArray[np.int64]:
    """Return whole numbers as an array, cut at 2^62.

    Noise has no largest value; the cut is post-processing and keeps the arrays plain.
    """
    return np.array(
        [max(-(2**62), min(2**62, int(value))) for value in values], dtype=np.int64
    )
