"""Exact draws of lattice noise, in time linear in k.

A two-sided geometric variable is the difference u - v of two geometric ones. So noise z
with sum zero and weight e^(-epsilon |z|_1 / 2) is u - v, where u and v are vectors of k
whole numbers >= 0 with the same sum m,

    P(m) is proportional to C(m + k - 1, k - 1)^2 e^(-epsilon m),

and given m both are uniform among the C(m + k - 1, k - 1) such vectors. Nothing is
rejected. The weights of m are irrational; their sums are enclosed between whole
multiples of a small unit, a uniform number is known to as many bits as were drawn, and
m is decided once no doubt is left. Book: `thm-lattice-sampler`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from dpbayes.samplers.bits import BitSource, Uniform, below
from dpbayes.samplers.whole_numbers import lattice_by_coins

FIRST_PRECISION = 128  # bits of the weights that are tried first, doubled where needed
LARGEST_TABLE = 20_000
"""Where more numbers m matter, entries are drawn one by one and a coin keeps them."""


def lattice(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """Return z of length k with sum 0 and probability proportional to e^(-epsilon |z|_1
    / 2).

    For k >= 2 and a fraction epsilon > 0; no floating-point number takes part.

    >>> from dpbayes.samplers.bits import SystemBits
    >>> sum(lattice(SystemBits(), 5, Fraction(1, 2)))
    0
    """
    # The weights of m peak near 2k/epsilon and fall by e^-128 within 128/epsilon of
    # there.
    if (2 * k + FIRST_PRECISION) / epsilon > LARGEST_TABLE:
        return lattice_by_coins(source, k, epsilon)
    m = half_size(source, k, epsilon)
    ups, downs = composition(source, m, k), composition(source, m, k)
    return [up - down for up, down in zip(ups, downs, strict=True)]


def composition(source: BitSource, m: int, k: int) -> list[int]:
    """Return a uniform one of the C(m + k - 1, k - 1) ways to write m as an ordered sum
    of k whole numbers >= 0.

    Of m + k - 1 places in a row k - 1 hold bars, and the stars between two bars are a
    part. The fewer of bars and stars are placed.
    """
    places = m + k - 1
    if m < k:
        parts = [0] * k
        # The i-th star, at place p, has p - i bars before it.
        for i, place in enumerate(sorted(_subset(source, places, m))):
            parts[place - i] += 1
        return parts
    bars = [-1, *sorted(_subset(source, places, k - 1)), places]
    return [after - bar - 1 for bar, after in pairwise(bars)]


def _subset(source: BitSource, size: int, chosen: int) -> set[int]:
    # Floyd's way: after the step for `last` the set is a uniform subset of 0 … last.
    found: set[int] = set()
    for last in range(size - chosen, size):
        place = below(source, last + 1)
        found.add(last if place in found else place)
    return found


def half_size(source: BitSource, k: int, epsilon: Fraction) -> int:
    """Return m >= 0 with probability proportional to C(m+k-1, k-1)^2 e^(-epsilon m)."""
    uniform, precision = Uniform(source), FIRST_PRECISION
    while True:
        ladder = Ladder.of(k, epsilon, precision)
        while 2 * uniform.bits < precision:
            uniform.refine()
            m = ladder.settled(uniform.known, uniform.bits)
            if m is not None:
                return m
        precision *= 2


@dataclass(frozen=True)
class Ladder:
    """Bounds of the sums of the weights of 0 … m, m = 0, 1, …, in one whole unit.

    `total` bounds the sum of all weights from above, and `low[-1]` from below.
    """

    low: list[int]
    high: list[int]
    total: int

    @staticmethod
    @lru_cache(maxsize=16)
    def of(k: int, epsilon: Fraction, precision: int) -> Ladder:
        """Return bounds in units of 2^-precision of the first weight, as far as it
        matters.
        """
        decay_low, decay_high = exponential_bounds(epsilon, precision)
        term_low = term_high = 1 << precision
        low, high, m = [term_low], [term_high], 0
        while True:
            # The next weight is this one times ((m + k) / (m + 1))^2 e^-epsilon.
            grown, shrunk = (m + k) ** 2, (m + 1) ** 2 << precision
            # These ratios fall with m, so all that follows is at most term ratio / (1 -
            # ratio).
            rest = shrunk - grown * decay_high
            if (
                rest > 0
                and term_high * grown * decay_high < high[-1] * rest >> precision
            ):
                tail = _up(term_high * grown * decay_high, rest)
                return Ladder(low, high, high[-1] + tail)
            term_low = term_low * grown * decay_low // shrunk
            term_high = _up(term_high * grown * decay_high, shrunk)
            low.append(low[-1] + term_low)
            high.append(high[-1] + term_high)
            m += 1

    def settled(self, known: int, bits: int) -> int | None:
        """Return m for a uniform number in [known, known + 1] / 2^bits, or None if it
        is open.
        """
        first = known * self.low[-1] >> bits
        last = _up((known + 1) * self.total, 1 << bits)
        m = bisect_right(self.high, first)
        return m if m < len(self.low) and last <= self.low[m] else None


def exponential_bounds(epsilon: Fraction, precision: int) -> tuple[int, int]:
    """Return whole bounds of 2^precision e^-epsilon, a few units apart.

    e^(epsilon / 2^h), epsilon / 2^h below 1, is summed by its series, inverted, and
    squared h times, rounded down and up at each step.
    """
    halvings = (epsilon.numerator // epsilon.denominator).bit_length() + 1
    guard = precision + halvings + 16
    step = epsilon / (1 << halvings)
    low = high = term_low = term_high = 1 << guard
    i = 1
    while term_high > 1:
        term_low = term_low * step.numerator // (step.denominator * i)
        term_high = _up(term_high * step.numerator, step.denominator * i)
        low, high, i = low + term_low, high + term_high, i + 1
    high += term_high  # what is left out is less than the last term
    low, high = (1 << 2 * guard) // high, _up(1 << 2 * guard, low)
    for _ in range(halvings):
        low, high = low**2 >> guard, _up(high**2, 1 << guard)
    return low >> guard - precision, _up(high, 1 << guard - precision)


def _up(numerator: int, denominator: int) -> int:
    # The quotient rounded up.
    return -(-numerator // denominator)
