"""One uniform number of which only as many bits are drawn as the choices made with it need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from dpbayes.samplers.bits import BitSource

BITS = 8
LONGEST = 4096
"""Numbers of more bits are drawn anew after a choice: their place in its cell is uniform."""


class LazyNumber:
    """A uniform number of [0, 1), known to lie in [low, low + width) / whole.

    A choice cuts [0, 1) into cells. It is made as soon as the number is known to lie in one of
    them, and the number's place within its cell is again uniform, whatever was chosen.
    """

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self._low, self._width, self._whole = 0, 1, 1
        self.bits = 0

    def refine(self) -> None:
        """Draw `BITS` more bits."""
        byte = self._source.bits(BITS)
        self._low = (self._low << BITS) + byte * self._width
        self._whole <<= BITS
        self.bits += BITS

    def choose(self, ends: Sequence[int]) -> int:
        """Return i with probability (ends[i] - ends[i - 1]) / ends[-1]; `ends` do not fall."""
        while True:
            i = bisect_right(ends, self._low * ends[-1] // self._whole)
            start = ends[i - 1] if i else 0
            if (self._low + self._width) * ends[-1] <= ends[i] * self._whole:
                self._enter(start, ends[i] - start, ends[-1])
                return i
            self.refine()

    def one_of(self, size: int) -> int:
        """Return a uniform whole number below `size` >= 1."""
        while True:
            i = self._low * size // self._whole
            if (self._low + self._width) * size <= (i + 1) * self._whole:
                self._enter(i, 1, size)
                return i
            self.refine()

    def _enter(self, start: int, length: int, total: int) -> None:
        self._low = self._low * total - start * self._whole
        self._width *= total
        self._whole *= length
        if self._whole.bit_length() > LONGEST:
            self._low, self._width, self._whole = 0, 1, 1

    def enclosed(self, library: Any) -> tuple[Any, Any]:
        """Return exact fractions that the number lies between."""
        whole = self._whole
        return library.fmpq(self._low, whole), library.fmpq(self._low + self._width, whole)
