"""Where a release gets its randomness: fair bits from the operating system, and nothing
else.
"""

from __future__ import annotations

import secrets
from typing import Protocol


class BitSource(Protocol):
    """Something that gives fair, independent bits."""

    def bits(self, count: int) -> int:
        """Return a uniform whole number below 2^count."""
        ...


class SystemBits:
    """Bits of the operating system's generator for cryptographic use; there is no
    seed."""

    def bits(self, count: int) -> int:
        """Return a uniform whole number below 2^count."""
        return secrets.randbits(count)


class Uniform:
    """A uniform number in [0, 1) of which only as many bits are drawn as are needed.

    It lies between `known` / 2^`bits` and (`known` + 1) / 2^`bits`. A choice by it is
    made once all numbers in that interval choose alike; until then it is refined. The
    bits to come are independent of those drawn, so the choice has exactly the law that
    it would have with all bits of the number at hand.
    """

    STEP = 8  # bits that are drawn at a time

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self.known = 0
        self.bits = 0

    def refine(self) -> None:
        """Draw 8 bits more: the interval becomes 256 times shorter."""
        self.known = (self.known << self.STEP) | self._source.bits(self.STEP)
        self.bits += self.STEP


def below(source: BitSource, bound: int) -> int:
    """Return a uniform whole number below `bound` >= 1, by rejection."""
    width, value = (bound - 1).bit_length(), bound
    while value >= bound:
        value = source.bits(width) if width else 0
    return value
