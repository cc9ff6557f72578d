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


def below(source: BitSource, bound: int) -> int:
    """Return a uniform whole number below `bound` >= 1, by rejection."""
    width, value = (bound - 1).bit_length(), bound
    while value >= bound:
        value = source.bits(width) if width else 0
    return value
