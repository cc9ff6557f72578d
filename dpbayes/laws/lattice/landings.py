"""How probable it is that clamped noise ends at an output with empty categories.

The projection lowers all counts to a level t, and the e largest of the c kept counts m_j pay one
more. So it came from y_j = m_j + t, or one more, and from y_i <= t in the empty categories, which
are short of c t + e records together. A category one above the level may pay that one, too. Book:
`thm-few-categories`.
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
        """Return the weight of clamped noise for `held` counts of the `kept` categories, (m,)."""
        empty = [i for i in range(self.counts.size) if i not in kept]
        size = np.broadcast_shapes(*(one.shape for one in held))
        total = np.zeros(size)
        moves = np.array([one - self.counts[j] for j, one in zip(kept, held, strict=True)])
        for paying in range(len(kept)):
            for payers in combinations(range(len(kept)), paying):
                pays = self._pays(payers, held)
                if not pays.any():
                    continue
                moved = moves[:, pays]
                moved[list(payers)] += 1
                if len(empty) == 1:
                    total[pays] += self._one_empty(int(self.counts[empty[0]]), moved, paying)
                else:
                    total[pays] += self._more_empty(empty, moved, paying)
        if len(kept) == len(empty) == 2:
            total += self._paid_all(kept, held, moves, empty)
        return total

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
        first = 0 if paying else 1
        # Each move may be negative up to its own turn; between turns the series is geometric.
        turns = np.sort(np.maximum(-moved, first), axis=0)
        total, start = np.zeros(moved.shape[1]), np.full(moved.shape[1], first)
        for j in range(kept + 1):
            exponent = count + kept * start + paying + np.abs(moved + start).sum(axis=0)
            slope = j * self.epsilon  # j of the kept counts rise, the others fall
            terms = np.exp(-half * exponent)
            if j == kept:
                total -= terms / np.expm1(-slope)
            elif j:  # the moves sum to 0 or more, so that they never all fall
                total += terms * np.expm1(-slope * (turns[j] - start)) / np.expm1(-slope)
            start = turns[j] if j < kept else start
        return total

    def _more_empty(self, empty: Sequence[int], moved: Whole, paying: int) -> Floats:
        """Return the sum over t of rho^(sum of |moved + t|) and of all ways to be short."""
        kept = len(moved)
        counts = [int(self.counts[i]) for i in empty]
        first, last = (0 if paying else 1), self.reach + 2
        halves = [(a + b) // 2 for a, b in combinations(counts, 2)]

        def levels(column: Whole) -> Points:
            kinks = [m + e for m in (*counts, *halves, *(-column).tolist()) for e in (0, 1)]
            ends = sorted({first, last, *(t for t in kinks if first < t < last)})
            return range_points(ends, self.longest, self.nodes)

        def terms(owner: Whole, t: Whole) -> tuple[Floats, Floats]:
            far = np.abs(moved[:, owner] + t).sum(axis=0)
            ways = np.exp(-0.5 * self.epsilon * far)
            ways *= self._ways(counts, -(kept * t + paying), t)
            return ways, ways

        return np.asarray(inner_sums([levels(column) for column in moved.T], terms)[0, 0])

    def _ways(self, counts: Sequence[int], total: Whole, cap: Whole) -> Floats:
        """Return the weight of noisy counts up to `cap` with this total, (m,)."""
        if len(counts) == 2:
            return self._pair(counts[0], counts[1], total, cap)
        one, a, b = counts

        def heights(total: int, cap: int) -> Points:
            first, last = total - 2 * cap, cap + 1
            first, last = max(first, one - self.reach), min(last, one + self.reach + 1)
            kinks = [one, total - a - b, total - cap - a, total - cap - b]
            inner = [m + e for m in kinks for e in (0, 1)]
            ends = sorted({first, max(first, last), *(y for y in inner if first < y < last)})
            return range_points(ends, self.longest, self.nodes)

        def terms(owner: Whole, y: Whole) -> tuple[Floats, Floats]:
            ways = np.exp(-0.5 * self.epsilon * np.abs(y - one))
            ways *= self._pair(a, b, total[owner] - y, cap[owner])
            return ways, ways

        inner = [heights(*pair) for pair in zip(total.tolist(), cap.tolist(), strict=True)]
        return np.asarray(inner_sums(inner, terms)[0, 0])

    def _pair(self, a: int, b: int, total: Whole, cap: Whole) -> Floats:
        """Return the sum of rho^(|y - a| + |total - y - b|) where neither is above `cap`."""
        low, high = total - cap, cap
        near, far = np.minimum(a, total - b), np.maximum(a, total - b)
        ways = np.maximum(np.minimum(high, far) - np.maximum(low, near) + 1, 0).astype(np.float64)
        ways += self._beyond(near - np.minimum(high, near - 1), near - low)
        ways += self._beyond(np.maximum(low, far + 1) - far, high - far)
        return np.asarray(ways * np.exp(-0.5 * self.epsilon * (far - near)))

    def _beyond(self, first: Whole, last: Whole) -> Floats:
        """Return the sum of e^(-epsilon h) over first <= h <= last, for first >= 1."""
        number = np.maximum(last - first + 1, 0)
        share = np.expm1(-self.epsilon * number) / np.expm1(-self.epsilon)
        return np.asarray(np.exp(-self.epsilon * first) * share)
