"""How probable it is that clamped noise ends at an output with empty categories.

The projection lowers all counts to a level t, and the e largest of the c kept counts m_j pay one
more. So it came from y_j = m_j + t, or one more, and from y_i <= t in the empty categories, which
are short of c t + e records together. A category one above the level may pay that one, too. Book:
`thm-few-categories`. Sums over the level are closed where one or two categories are empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.nested import Floats, Whole, inner_sums
from dpbayes.laws.panels import Points, range_points

_TAIL = 37.0  # noise beyond so many times 1 / epsilon has probability below e^-29
_LONGEST = 6.0  # times 1 / epsilon: how far one polynomial follows the noise


@dataclass(frozen=True)
class Landings:
    """Weights e^(-epsilon |y - x|_1 / 2) of the noisy counts behind an output.

    There are at least as many records as categories, at most four of these, and at most three
    empty ones.
    """

    counts: Whole
    epsilon: float
    nodes: int = 17

    @cached_property
    def reach(self) -> int:
        """No noisy count is followed further from the true one."""
        return int(np.ceil(_TAIL / self.epsilon)) + 1

    @cached_property
    def longest(self) -> int:
        """The longest panel over which the noise is a polynomial to rounding, a power of two."""
        return 1 << max(4, int(np.log2(_LONGEST / self.epsilon)))

    def weights(self, kept: Sequence[int], held: Sequence[Whole]) -> Floats:
        """Return the weight of clamped noise for `held` counts of the `kept` categories.

        The counts have shapes that are broadcast to that of the weights.
        """
        empty = [i for i in range(self.counts.size) if i not in kept]
        shape = np.broadcast_shapes(*(one.shape for one in held))
        held = [np.broadcast_to(one, shape).ravel() for one in held]
        moves = np.array([one - self.counts[j] for j, one in zip(kept, held, strict=True)])
        total = np.zeros(held[0].size)
        for paying in range(len(kept)):
            for payers in combinations(range(len(kept)), paying):
                some = np.flatnonzero(self._pays(payers, held)) if paying else np.arange(total.size)
                if not some.size:
                    continue
                moved = moves if some.size == total.size else moves[:, some]
                moved = moved + np.array([[j in payers] for j in range(len(kept))])
                if len(empty) == 1:
                    total[some] += self._one_empty(int(self.counts[empty[0]]), moved, paying)
                elif len(empty) == 2:
                    total[some] += self._two_empty(empty, moved, paying)
                else:
                    total[some] += self._three_empty(empty, moved)
        if len(kept) == len(empty) == 2:
            total += self._paid_all(kept, held, moves, empty)
        return total.reshape(shape)

    def _paid_all(
        self, kept: Sequence[int], held: Sequence[Whole], moves: Whole, empty: Sequence[int]
    ) -> Floats:
        """Return the weight of noise that leaves one more above the level, by one, which it pays.

        Then the kept category that does not pay is above by one as well, and comes later.
        """
        total = np.zeros(held[0].shape)
        for spared, (one, other) in product(range(2), (empty, empty[::-1])):
            at = (held[spared] == 1) & (one < kept[spared])
            if at.any():
                moved = np.vstack((moves[:, at], np.full(at.sum(), 1 - self.counts[one])))
                moved[1 - spared] += 1
                total[at] += self._one_empty(int(self.counts[other]), moved, 2)
        return total

    def _pays(self, payers: tuple[int, ...], held: Sequence[Whole]) -> NDArray[np.bool_]:
        """Say where these are the largest noisy counts, the earlier of two equal ones first."""
        pays = np.ones(held[0].shape, dtype=bool)
        for j in payers:
            for other in range(len(held)):
                if other not in payers:
                    pays &= held[j] + 1 - held[other] >= (1 if other < j else 0)
        return pays

    def _one_empty(self, count: int, moved: Whole, paying: int) -> Floats:
        """Return the sum over t of rho^(count + c t + paying + sum of |moved + t|)."""
        kept, half = len(moved), 0.5 * self.epsilon
        # Each move may be negative up to its own turn; between turns the series is geometric. The
        # moves sum to 0 or more, so that they never all fall.
        turns = _in_order(np.maximum(-moved, 0 if paying else 1).astype(np.float64))
        rows, total = moved.astype(np.float64), np.zeros(moved.shape[1])
        for j, turn in enumerate(turns):
            exponent = np.asarray(kept * turn + (count + paying), dtype=np.float64)
            for row in rows:  # for few rows faster than a sum over an axis
                exponent += np.abs(row + turn)
            # From this turn on j + 1 of the kept counts rise, before it j.
            share = -1.0 / np.expm1(-self.epsilon * (j + 1))
            share += 1.0 / np.expm1(-self.epsilon * j) if j else 0.0
            exponent *= -half
            total += share * np.exp(exponent, out=exponent)
        return total

    def _two_empty(self, empty: Sequence[int], moved: Whole, paying: int) -> Floats:
        """Return the sum over t of rho^(sum of |moved + t|) and of all ways two may be short."""
        kept, odds = len(moved), 1.0 / np.expm1(self.epsilon)  # 1 - q would lose digits
        first = 0 if paying else 1
        short = np.array([int(self.counts[i]) for i in empty])
        ends = np.vstack((-moved, np.repeat(short[:, None], moved.shape[1], axis=1)))
        ends = np.vstack((np.full(moved.shape[1], first), np.sort(np.maximum(ends, first), axis=0)))
        total = np.zeros(moved.shape[1])
        for j, start in enumerate(ends):
            # Up to the next end the ways are a line less a multiple of q^t, times a power of q.
            length = ends[j + 1] - start if j + 1 < len(ends) else np.full_like(start, self._never)
            exponent = np.abs(moved + start).sum(axis=0) + short.sum() + kept * start + paying
            rises = self.epsilon * (moved + start >= 0).sum(axis=0)
            above = start - short[:, None]  # how many of the heights are above the true count
            line = 1.0 + paying + kept * start + np.minimum(short[:, None], start).sum(axis=0)
            line += (above >= 0).sum(axis=0) * odds
            slope = kept + (above < 0).sum(axis=0)
            bent = np.where(above >= 0, np.exp(-self.epsilon * np.maximum(above, 0)), 0.0)
            sums, firsts = _geometric(rises, length)
            ways = line * sums + slope * firsts
            ways -= bent.sum(axis=0) * odds * _geometric(rises + self.epsilon, length)[0]
            total += np.exp(-0.5 * self.epsilon * exponent) * ways
        return total

    @cached_property
    def _never(self) -> int:
        return int(np.ceil(800.0 / self.epsilon))  # powers of q underflow

    def _three_empty(self, empty: Sequence[int], moved: Whole) -> Floats:
        """Return the sum over t of rho^|moved + t| and of all ways three may be short."""
        short, last = [int(self.counts[i]) for i in empty], self.reach + 2

        def levels(move: int) -> Points:
            ends = sorted({1, last, *(t + e for t in (*short, -move) for e in (0, 1))})
            inside = [t for t in ends if 1 <= t <= last]
            return range_points(inside, self.longest, self.nodes)

        def terms(owner: Whole, t: Whole) -> tuple[Floats, Floats]:
            far = np.abs(moved[0, owner] + t) + t + sum(short)
            ways = np.exp(-0.5 * self.epsilon * far) * self._three_ways(short, t)
            return ways, ways

        return np.asarray(inner_sums([levels(move) for move in moved[0].tolist()], terms)[0, 0])

    def _three_ways(self, short: Sequence[int], t: Whole) -> Floats:
        """Return the weight of noisy counts up to t of three, -t in all, over rho^(t + counts)."""
        # Those above their true counts x are at x + h, h up to t - x, with q^h. The others share
        # freely what is left.
        capped = [np.minimum(x, t) for x in short]
        most = sum(capped) + t
        ways = 0.5 * (most + 1.0) * (most + 2.0)
        heights = []
        for x, cap in zip(short, capped, strict=True):
            sums, firsts = _geometric(np.full(t.size, self.epsilon), np.maximum(t - x, 0) + 1)
            heights.append(sums - 1.0)
            ways += (most - cap + x + 1.0) * heights[-1] + firsts
        return np.asarray(ways + sum(a * b for a, b in combinations(heights, 2)))


def _in_order(rows: Whole) -> list[Whole]:
    """Return the least, the second, ... of each column: for few rows faster than a sort."""
    found: list[Whole] = []
    for row in rows:
        for j, least in enumerate(found):
            found[j], row = np.minimum(least, row), np.maximum(least, row)
        found.append(row)
    return found


def _geometric(rate: Floats, length: Whole) -> tuple[Floats, Floats]:
    """Return the sums of e^(-rate i) and of i e^(-rate i) over 0 <= i < length, for rate > 0."""
    share, ends = -np.expm1(-rate), np.exp(-rate * length)
    missing = -np.expm1(-rate * length)
    return missing / share, ((1.0 - share) * missing / share - length * ends) / share
