"""An exact draw of a count from an exponential mechanism for two categories, without a list.

The weight e^(-rate H) falls with the distance of the released count from the true one. So the
counts are cut into blocks, and the weight nearest to the truth bounds its block. A point is drawn
uniformly under these steps, and kept if it lies under the weights; ball arithmetic decides, with
more bits when it cannot. Only the ends of blocks and the counts drawn are ever looked at.
Book: `thm-exact-blocks`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.samplers.bits import BitSource

FIRST_PRECISION = 128
BITS = 8
UNIT = 128
"""Heights of steps are whole multiples of 2^-UNIT."""

_FEW = 24  # up to this many records each count is a block of its own
_KEPT = 4  # blocks are halved until at most one part in _KEPT can be waste
_SURE, _DUST = 2.0**-100, 2.0 ** (-UNIT - 1)


@dataclass(frozen=True)
class Weights:
    """The weights e^(-rate H) of the counts 0 … n against the truth `x`, in balls."""

    library: Any
    prior: tuple[float, float]
    x: int
    n: int
    rate: Fraction

    def ball(self, count: int, precision: int) -> Any:
        """Return an enclosure of the weight of `count`, computed with `precision` bits."""
        library = self.library
        with library.ctx.workprec(precision):
            if count == self.x:
                return library.arb(1)
            log_bc = library.arb(0)
            pairs = ((self.x, count), (self.n - self.x, self.n - count))
            for alpha, (own, other) in zip(self.prior, pairs, strict=True):
                a, b = library.arb(alpha) + own, library.arb(alpha) + other
                log_bc += ((a + b) / 2).lgamma() - (a.lgamma() + b.lgamma()) / 2
            speed = library.arb(library.fmpq(self.rate.numerator, self.rate.denominator))
            return (-speed * (-log_bc.expm1()).sqrt()).exp()

    def above(self, count: int) -> int:
        """Return a whole number of at least the weight times 2^UNIT, and 2^UNIT at most."""
        precision = FIRST_PRECISION
        while True:
            ball = self.ball(count, precision)
            if ball < _DUST:
                return 1
            if ball.is_finite() and ball.rad() < _SURE * ball:
                mantissa, exponent = (int(part) for part in ball.upper().man_exp())
                shift = exponent + UNIT
                top = mantissa << shift if shift >= 0 else -(-mantissa >> -shift)
                return min(1 << UNIT, max(1, top))
            precision *= 2


@dataclass(frozen=True)
class _Block:
    """`size` counts from `near` outwards (`way` -1 or 1), none heavier than `height`.

    `far` bounds the weight of the last of them from above; both in units of 2^-UNIT.
    """

    near: int
    size: int
    way: int
    height: int
    far: int

    @property
    def waste(self) -> int:
        """The most of its area that can lie above the weights."""
        return self.size * (self.height - self.far)

    def halves(self, weights: Weights) -> tuple[_Block, _Block]:
        """Return the nearer and the farther half."""
        inner = self.size // 2
        last = self.near + self.way * (inner - 1)
        middle = weights.above(last)
        return (
            _Block(self.near, inner, self.way, middle if inner == 1 else self.height, middle),
            _Block(
                last + self.way, self.size - inner, self.way,
                self.far if self.size - inner == 1 else middle, self.far,
            ),
        )  # fmt: skip


def draw_count(
    source: BitSource,
    library: Any,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    rate: Fraction,
) -> NDArray[np.int64]:
    """Return (r, n - r) with probability exactly proportional to e^(-rate H(BI(x), BI(r)))."""
    n, pair = int(counts.sum()), (float(prior[0]), float(prior[1]))
    weights = Weights(library, pair, int(counts[0]), n, rate)
    blocks = _blocks(weights)
    areas = list(accumulate(block.size * block.height for block in blocks))
    while True:
        count = _point(source, weights, blocks, areas)
        if count is not None:
            return np.array([count, n - count], dtype=np.int64)


def _blocks(weights: Weights) -> list[_Block]:
    """Cut 0 … n until a point under the steps is kept with a good probability."""
    x, n = weights.x, weights.n
    blocks: list[_Block] = []
    for way, room, end in ((-1, x, 0), (1, n - x, n)):
        if room:
            far = weights.above(end)
            near = far if room == 1 else weights.above(x + way)
            blocks.append(_Block(x + way, room, way, near, far))
    heap = [(-block.waste, place) for place, block in enumerate(blocks) if block.size > 1]
    heapq.heapify(heap)
    area = (1 << UNIT) + sum(block.size * block.height for block in blocks)
    waste = sum(block.waste for block in blocks)
    while heap and (n <= _FEW or waste * _KEPT > area):
        _, place = heapq.heappop(heap)
        whole = blocks[place]
        parts = whole.halves(weights)
        blocks[place] = parts[0]
        blocks.append(parts[1])
        area += sum(part.size * part.height for part in parts) - whole.size * whole.height
        waste += sum(part.waste for part in parts) - whole.waste
        for part, at in zip(parts, (place, len(blocks) - 1), strict=True):
            if part.size > 1:
                heapq.heappush(heap, (-part.waste, at))
    # The truth last: its height is exact, so the end of the range is no border to decide.
    return [*blocks, _Block(x, 1, 1, 1 << UNIT, 1 << UNIT)]


def _point(
    source: BitSource, weights: Weights, blocks: list[_Block], areas: list[int]
) -> int | None:
    """Return the count below a uniform point under the steps, or None where it is not kept.

    The point is one uniform number: the block, the count in it and the height above the count are
    its quotients. It is known to lie in an interval that each byte makes 256 times shorter.
    """
    known, bits = 0, 0
    while True:
        known, bits = (known << BITS) | source.bits(BITS), bits + BITS
        low, width = known * areas[-1], areas[-1]
        place = bisect_right(areas, low >> bits)
        block = blocks[place]
        column = block.height << bits
        start = (areas[place] - block.size * block.height) << bits
        which, under = divmod(low - start, column)
        if under + width > column:
            continue
        count = block.near + block.way * which
        kept = _under(weights, count, under, under + width, bits)
        if kept is not None:
            return count if kept else None


def _under(weights: Weights, count: int, low: int, high: int, bits: int) -> bool | None:
    # Heights are in units of 2^-(bits + UNIT); None where the weight lies between them.
    if count == weights.x:
        return True
    library = weights.library
    precision = FIRST_PRECISION << max(0, (2 * bits // FIRST_PRECISION).bit_length())
    ball = weights.ball(count, precision)
    with library.ctx.workprec(precision + bits + UNIT):
        if library.arb(library.fmpq(high, 1 << (bits + UNIT))) < ball:
            return True
        if library.arb(library.fmpq(low, 1 << (bits + UNIT))) > ball:
            return False
    return None
