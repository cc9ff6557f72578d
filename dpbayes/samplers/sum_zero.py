"""Exact draws of lattice noise: one whole number by enclosures, then two uniform compositions.

A two-sided geometric variable is the difference of two geometric ones, u_i - v_i. So noise with
sum zero is u - v with sum u = sum v = m, where P(m) is proportional to C(m+k-1, k-1)^2 e^(-epsilon
m), and given m both are uniform. Nothing is rejected. Book: `thm-lattice-sampler`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpbayes.samplers.bits import BitSource, below
from dpbayes.samplers.whole_numbers import lattice_by_coins

FIRST_PRECISION = 128
BITS = 8
LARGEST_TABLE = 20_000
"""Where the table of m would be longer, entries are drawn one by one and a coin keeps them."""


def lattice(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """Return z of length k >= 2 with sum 0 and probability proportional to e^(-epsilon |z|_1 / 2).

    >>> from dpbayes.samplers.bits import SystemBits
    >>> sum(lattice(SystemBits(), 5, Fraction(1, 2)))
    0
    """
    # The weights of m peak near 2k/epsilon and fall by e^-128 within 128/epsilon of there.
    if (2 * k + FIRST_PRECISION) / epsilon > LARGEST_TABLE:
        return lattice_by_coins(source, k, epsilon)
    m = _moved(source, k, epsilon)
    return [u - v for u, v in zip(_parts(source, m, k), _parts(source, m, k), strict=True)]


def _parts(source: BitSource, m: int, k: int) -> list[int]:
    """Return a uniform choice among the ways to write m as an ordered sum of k parts >= 0."""
    places = m + k - 1
    parts = [0] * k
    if m < k:
        # Stars: a star at place p with i stars before it has p - i bars before it.
        for i, place in enumerate(sorted(_subset(source, places, m))):
            parts[place - i] += 1
        return parts
    before = -1
    for i, place in enumerate(sorted(_subset(source, places, k - 1))):
        parts[i] = place - before - 1
        before = place
    parts[-1] = places - before - 1
    return parts


def _subset(source: BitSource, size: int, chosen: int) -> set[int]:
    # Floyd's way: after the step for `last` the set is a uniform subset of 0 … last.
    found: set[int] = set()
    for last in range(size - chosen, size):
        place = below(source, last + 1)
        found.add(last if place in found else place)
    return found


def _moved(source: BitSource, k: int, epsilon: Fraction) -> int:
    """Return m >= 0 with probability proportional to C(m+k-1, k-1)^2 e^(-epsilon m)."""
    precision, known, bits = FIRST_PRECISION, 0, 0
    while True:
        ladder = _ladder(k, epsilon, precision)
        while 2 * bits < precision:
            known, bits = (known << BITS) | source.bits(BITS), bits + BITS
            m = ladder.settled(known, bits)
            if m is not None:
                return m
        precision *= 2


@dataclass(frozen=True)
class _Ladder:
    """Bounds of the sums of the weights of 0 … m, in one whole unit, and of the sum of all."""

    low: list[int]
    high: list[int]
    total: int

    def settled(self, known: int, bits: int) -> int | None:
        # The uniform number lies between known and known + 1, over 2^bits.
        first, last = known * self.low[-1] >> bits, -(-(known + 1) * self.total >> bits)
        m = bisect_right(self.high, first)
        return m if m < len(self.low) and last <= self.low[m] else None


@lru_cache(maxsize=16)
def _ladder(k: int, epsilon: Fraction, precision: int) -> _Ladder:
    # Weights in units of 2^-precision of the first, each rounded down and up.
    below_one, above_one = _decay(epsilon, precision)
    low, high = [1 << precision], [1 << precision]
    term = low[0], high[0]
    m = 0
    while True:
        grown, shrunk = (m + k) ** 2, (m + 1) ** 2
        # The terms after m sum to less than term * ratio / (1 - ratio): the ratios fall with m.
        rest = shrunk * (1 << precision) - grown * above_one
        if rest > 0 and term[1] * grown * above_one < high[-1] * rest >> precision:
            tail = -(-term[1] * grown * above_one // rest)
            return _Ladder(low, high, high[-1] + tail)
        term = (
            term[0] * grown * below_one // (shrunk << precision),
            -(-term[1] * grown * above_one // (shrunk << precision)),
        )
        low.append(low[-1] + term[0])
        high.append(high[-1] + term[1])
        m += 1


def _decay(epsilon: Fraction, precision: int) -> tuple[int, int]:
    """Return whole bounds of e^-epsilon 2^precision, at most a few units apart."""
    halvings = max(0, (epsilon.numerator // epsilon.denominator).bit_length() + 1)
    guard = precision + halvings + 16
    step = epsilon / (1 << halvings)
    low = high = term_low = term_high = 1 << guard
    # The series of e^step in bounds; what is left out is less than the last term.
    i = 1
    while term_high > 1:
        term_low = term_low * step.numerator // (step.denominator * i)
        term_high = -(-term_high * step.numerator // (step.denominator * i))
        low, high, i = low + term_low, high + term_high, i + 1
    high += term_high
    bounds = (1 << 2 * guard) // high, -(-(1 << 2 * guard) // low)
    for _ in range(halvings):
        bounds = bounds[0] ** 2 >> guard, -(-(bounds[1] ** 2) >> guard)
    shift = guard - precision
    return bounds[0] >> shift, -(-bounds[1] >> shift)
