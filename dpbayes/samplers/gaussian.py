"""Exact draws of discrete Gaussian noise, from fair bits and whole numbers alone."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import bernoulli_exp, two_sided_geometric


def discrete_gaussian(source: BitSource, variance: Fraction) -> int:
    """Return z with probability proportional to e^(-z^2 / (2 v)), for a fraction v > 0.

    After Canonne, Kamath and Steinke (2020): y with probability proportional to e^(-|y|/t),
    t = floor(sqrt v) + 1, is kept with probability e^(-(|y| - v/t)^2 / (2 v)). Book:
    `thm-gaussian-sampler`.
    """
    unit = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = two_sided_geometric(source, Fraction(1, unit))
        if bernoulli_exp(source, (abs(y) - variance / unit) ** 2 / (2 * variance)):
            return y


def sum_zero_gaussian(source: BitSource, k: int, variance: Fraction) -> list[int]:
    """Return z with sum 0 and probability proportional to e^(-|z|^2 / (2 v)).

    The first k - 1 entries are drawn independently and kept with probability e^(-s^2 / (2 v)), s
    their sum; the last entry is -s.
    """
    while True:
        free = [discrete_gaussian(source, variance) for _ in range(k - 1)]
        total = sum(free)
        if bernoulli_exp(source, Fraction(total * total) / (2 * variance)):
            return [*free, -total]
