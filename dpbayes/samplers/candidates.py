"""Exact draws of candidates by ball arithmetic: exponential mechanisms and
permute-and-flip.

The weights e^(-rate H) are irrational, so no finite computation holds them. Balls
enclose them, a uniform number is known to as many bits as were drawn, and the choice is
made once the enclosures leave no doubt. All candidates are listed; at two categories
blocks of them are (`draw_count`). Book: `thm-exact-candidates`, `thm-exact-blocks`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.samplers.balls import FIRST_PRECISION, affinity_tables, flint
from dpbayes.samplers.bits import BitSource, Uniform, below

# more candidates are refused: listing them takes some seconds and 100 MB
LARGEST = 200_000
UNIT = 128  # heights of steps are whole multiples of 2^-UNIT
_FEW = 24  # up to this many records each count is a block of its own
_KEPT = 4  # blocks are halved until at most one part in _KEPT can be waste
_SURE, _DUST = 2.0**-100, 2.0 ** (-UNIT - 1)


def check_size(counts: Whole) -> None:
    """Refuse candidate sets above `LARGEST`."""
    n, k = int(counts.sum()), counts.size
    size = number_of_candidates(n, k)
    if size > LARGEST:
        raise ValueError(
            f"n = {n} records over k = {k} categories have {size} candidates; a release"
            f" that lists them takes at most {LARGEST}: use lattice noise, which is"
            " better there"
        )


def draw_candidate(
    source: BitSource, counts: Whole, prior: Floats, rate: Fraction
) -> Whole:
    """Return r in R with probability exactly proportional to e^(-rate H(BI(x),
    BI(r)))."""
    if counts.size == 2:
        return draw_count(source, flint(), counts, prior, rate)
    check_size(counts)
    library, candidates = flint(), compositions(int(counts.sum()), counts.size)
    chosen = decided(
        source, library, lambda: _cumulative(library, candidates, counts, prior, rate)
    )
    return np.asarray(candidates[chosen])


def decided(source: BitSource, library: Any, ladder: Callable[[], list[Any]]) -> int:
    """Return i with probability w_i / (w_0 + … + w_m), the weights being enclosed.

    `ladder()` returns balls around the sums w_0, w_0 + w_1, …, all of them, computed
    with the precision that `library.ctx` has when it is called. Book:
    `thm-exact-candidates`.
    """
    uniform, precision = Uniform(source), FIRST_PRECISION
    while True:
        with library.ctx.workprec(precision):
            sums = ladder()
            # The balls are wider than 2^-precision of the total. More than half as many
            # bits of the uniform number are of no use before the balls are narrower.
            while 2 * uniform.bits < precision:
                uniform.refine()
                chosen = settled(library, sums, uniform.known, uniform.bits)
                if chosen is not None:
                    return chosen
        precision *= 2


def settled(library: Any, ladder: list[Any], known: int, bits: int) -> int | None:
    """Return the i whose share of the total holds all of [known, known + 1] / 2^bits.

    `ladder` are balls around the sums of the first weights; the share of i lies between
    the sums i - 1 and i. None where the interval touches a ball between two shares.
    Book: `thm-exact-candidates`.
    """
    unit, total, final = library.fmpq(1, 1 << bits), ladder[-1], len(ladder) - 1
    low = total * (known * unit)
    high = total * ((known + 1) * unit)
    # A comparison of balls is true only if it holds for all points in them. So this
    # search for the first sum that is surely above the interval may end too late where
    # balls overlap; what it ends at is checked on both sides.
    first, last = 0, final
    while first < last:
        middle = (first + last) // 2
        if high < ladder[middle]:
            last = middle
        else:
            first = middle + 1
    # No number lies below the first share or above the last: nothing to check there.
    surely_below_its_end = first == final or high < ladder[first]
    surely_above_its_start = first == 0 or ladder[first - 1] < low
    return first if surely_below_its_end and surely_above_its_start else None


def _cumulative(
    library: Any, candidates: Whole, counts: Whole, prior: Floats, rate: Fraction
) -> list[Any]:
    tables = affinity_tables(library, counts, prior)
    truth = counts.tolist()
    total = library.arb(0)
    ladder = []
    for row in candidates.tolist():
        total = total + (1 if row == truth else weight(library, tables, row, rate))
        ladder.append(total)
    return ladder


def weight(
    library: Any, tables: list[list[Any]], row: list[int], rate: Fraction
) -> Any:
    """Return an enclosure of e^(-rate H) for a candidate that is not the truth."""
    speed = library.arb(library.fmpq(rate.numerator, rate.denominator))
    log_bc = sum(table[r] for table, r in zip(tables, row, strict=True))
    return (-speed * (-log_bc.expm1()).sqrt()).exp()


@dataclass(frozen=True)
class Weights:
    """The weights e^(-rate H) of the counts 0 … n against the truth `x`, in balls."""

    library: Any
    prior: tuple[float, float]
    x: int
    n: int
    rate: Fraction

    def ball(self, count: int, precision: int) -> Any:
        """Return an enclosure of the weight of `count`, computed with `precision`
        bits."""
        library = self.library
        with library.ctx.workprec(precision):
            if count == self.x:
                return library.arb(1)
            log_bc = library.arb(0)
            pairs = ((self.x, count), (self.n - self.x, self.n - count))
            for alpha, (own, other) in zip(self.prior, pairs, strict=True):
                a, b = library.arb(alpha) + own, library.arb(alpha) + other
                log_bc += ((a + b) / 2).lgamma() - (a.lgamma() + b.lgamma()) / 2
            speed = library.arb(
                library.fmpq(self.rate.numerator, self.rate.denominator)
            )
            return (-speed * (-log_bc.expm1()).sqrt()).exp()

    def above(self, count: int) -> int:
        """Return a whole number of at least the weight times 2^UNIT, and 2^UNIT at
        most.
        """
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
        """Return the nearer and the farther half.

        A block of one count is as high as that count's weight, a longer one as the
        weight just before it.
        """
        inner = self.size // 2
        outer = self.size - inner
        last = self.near + self.way * (inner - 1)
        middle = weights.above(last)
        height = middle if inner == 1 else self.height
        nearer = _Block(self.near, inner, self.way, height, middle)
        height = self.far if outer == 1 else middle
        return nearer, _Block(last + self.way, outer, self.way, height, self.far)


def draw_count(
    source: BitSource, library: Any, counts: Whole, prior: Floats, rate: Fraction
) -> Whole:
    """Return (r, n - r) with probability exactly proportional to e^(-rate H(BI(x),
    BI(r))).
    """
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
    while blocks:
        area = (1 << UNIT) + sum(block.size * block.height for block in blocks)
        if n > _FEW and sum(block.waste for block in blocks) * _KEPT <= area:
            break
        widest = max(blocks, key=lambda block: (block.size > 1, block.waste))
        if widest.size == 1:
            break
        blocks.remove(widest)
        blocks.extend(widest.halves(weights))
    # The truth last: its height is exact, so the end of the range is no border to
    # decide.
    return [*blocks, _Block(x, 1, 1, 1 << UNIT, 1 << UNIT)]


def _point(
    source: BitSource, weights: Weights, blocks: list[_Block], areas: list[int]
) -> int | None:
    """Return the count below a uniform point under the steps, or None where the point
    lies above that count's weight.

    `areas` are the sums of the first blocks' areas. The columns of all counts, block
    after block, make one long range; the point is a uniform number u in it. What block
    u lies in, which of its columns, and how far up that column are quotients and a
    remainder, and all three follow from u alone.
    """
    uniform = Uniform(source)
    while True:
        uniform.refine()
        # In units of 2^-bits of the range u lies between `low` and `low + width`.
        bits, width = uniform.bits, areas[-1]
        low = uniform.known * width
        place = bisect_right(areas, low >> bits)
        block = blocks[place]
        column = block.height << bits
        start_of_block = (areas[place] - block.size * block.height) << bits
        which, height = divmod(low - start_of_block, column)
        if height + width > column:
            continue  # u may lie in the next column: draw more of its bits
        count = block.near + block.way * which
        kept = _under(weights, count, height, height + width, bits)
        if kept is not None:
            return count if kept else None


def _under(weights: Weights, count: int, low: int, high: int, bits: int) -> bool | None:
    """Return whether all heights between `low` and `high` lie below a count's weight.

    Heights are in units of 2^-(bits + UNIT). False if all lie above, None if the weight
    may lie between them, or its enclosure is too wide to tell.
    """
    if count == weights.x:
        return True  # its column is exactly as high as its weight, 1
    library = weights.library
    # FIRST_PRECISION times a power of two, and more than twice the bits of the point:
    # the enclosure of the weight is then far narrower than the interval of heights.
    precision = FIRST_PRECISION
    while 2 * bits >= precision:
        precision *= 2
    ball = weights.ball(count, precision)
    with library.ctx.workprec(precision + bits + UNIT):
        lowest, highest = (
            library.arb(library.fmpq(height, 1 << (bits + UNIT)))
            for height in (low, high)
        )
        if highest < ball:
            return True
        if lowest > ball:
            return False
    return None


def draw_flip(source: BitSource, counts: Whole, prior: Floats, rate: Fraction) -> Whole:
    """Return the first r in uniformly random order whose coin of e^(-rate H) shows
    heads.

    The truth has H = 0 and is always taken, so the walk ends. Book:
    `thm-exact-candidates`.
    """
    check_size(counts)
    library = flint()
    rows, truth = compositions(int(counts.sum()), counts.size), counts.tolist()

    @cache
    def tables(precision: int) -> list[list[Any]]:
        """Return the tables at the library's precision, which is the argument."""
        return affinity_tables(library, counts, prior)

    order = list(range(len(rows)))
    while True:
        # One step of Fisher and Yates: a uniform choice among those not yet visited.
        place = below(source, len(order))
        order[place], order[-1] = order[-1], order[place]
        row = rows[order.pop()].tolist()
        if row == truth:
            return np.array(row, dtype=np.int64)

        def coin(row: list[int] = row) -> list[Any]:
            """Return the sums of the weights of heads, and of heads and tails."""
            heads = weight(library, tables(library.ctx.prec), row, rate)
            return [heads, library.arb(1)]

        if decided(source, library, coin) == 0:
            return np.array(row, dtype=np.int64)
