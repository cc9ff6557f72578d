"""Exact draws of folded noise with plateaus: what completes it is solved for in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.samplers import balls
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.folded import choice, classes, enclosed_weights, falling, solved, weighed
from dpbayes.study.simplex_plateaus import Plateaus
from dpbayes.study.simplex_segments import apart

UNIT = 1 << 44
"""Weights are rounded down to whole multiples of one over this: any weights can be completed."""

PART = Fraction((1 << 20) - 1, 1 << 20)
"""The part of the rounded weights that is kept; folded noise makes up for the rest."""

_ORDERS = list(permutations(range(3)))


class PlateauDraw:
    """Exact draws of the mechanism that `found` becomes when its probabilities are completed.

    The answer s has probability m_s e^(-epsilon d(x, s)) + w_s e^(-epsilon d(x, P_s)), with w the
    rounded flats times `PART` and m as in `thm-plateaus`: private, and of sum one, exactly. Raises
    ValueError where some m is negative, or there are too many data sets; see `draw_folded`.

    >>> from dpbayes.samplers.bits import SystemBits
    >>> from dpbayes.study.simplex import simplex
    >>> from dpbayes.study.simplex_plateaus import plateaus
    >>> drawn = PlateauDraw(plateaus(simplex(12), 1.0), 12, Fraction(1))
    >>> int(drawn.draw(SystemBits(), [1, 5, 6]).sum())
    12
    """

    def __init__(self, found: Plateaus, n: int, epsilon: Fraction) -> None:
        _validate.positive("epsilon", float(epsilon))
        self.space, self.epsilon, self.half = classes(n, 3), epsilon, found.half
        if len(self.space.rows) != found.half.size:
            raise ValueError(f"n must be that of the plateaus, got {n!r}")
        self._points, self._flats = (
            np.floor(one * UNIT).astype(np.int64) for one in (found.points, found.flats)
        )
        self._weights: dict[int, list[Any]] = {}
        self._ladders: dict[tuple[int, tuple[int, ...]], list[Any]] = {}

    def draw(self, source: BitSource, counts: ArrayLike) -> NDArray[np.int64]:
        """Return an answer to the `counts` (3,), from fair bits."""
        x = _validate.counts("counts", counts)
        if x.size != 3 or int(x.sum()) != self.space.n:
            raise ValueError(f"counts must be 3 with the sum {self.space.n}, got {counts!r}")
        chosen = choice(source, lambda precision: self._ladder(x, precision))
        row, order = divmod(chosen, len(_ORDERS))
        return np.asarray(self.space.rows[row][list(_ORDERS[order])])

    def points(self, precision: int) -> list[Any]:
        """Return balls around m, one a class, or none if they are too wide."""
        if precision not in self._weights:
            self._weights[precision] = self._completed(precision)
        return self._weights[precision]

    def _completed(self, precision: int) -> list[Any]:
        library, space = balls.flint(), self.space
        base = enclosed_weights(space.n, 3, self.epsilon, precision)
        with library.ctx.workprec(precision):
            powers = falling(library, self.epsilon, space.n)
            part = library.fmpq(PART.numerator, PART.denominator)
            sums = [self._sum(library, powers, row) for row in space.rows]
            made = solved(space.n, 3, self.epsilon, precision, sums)
            if not base or not made:
                return []
            kept = [library.fmpq(int(one), UNIT) for one in self._points]
            m = [part * a + b - part * c for a, b, c in zip(kept, base, made, strict=True)]
        if any(one < 0 for one in m):
            raise ValueError("plateaus must leave no negative weight when they are completed")
        return m if all(one > 0 for one in m) else []

    def _sum(self, library: Any, powers: list[Any], x: NDArray[np.int64]) -> Any:
        # The sum over all answers of their rounded weights, before the part is taken.
        times = np.zeros(self.space.n + 1, dtype=np.int64)
        for near, far in self._apart(x):
            np.add.at(times, near, self._points * self.space.copies)
            np.add.at(times, far, self._flats * self.space.copies)
        return weighed(library, powers, times) / (UNIT * len(_ORDERS))

    def _apart(self, x: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        # For each order the records to replace from x to the answers in it, and to their plateaus.
        found = []
        for order in _ORDERS:
            steps = (x[np.argsort(order)] - self.space.rows).T
            near, far = apart(steps[:2], 0), np.zeros(self.half.size, dtype=np.int64)
            for half in np.unique(self.half):
                at = self.half == half
                far[at] = apart(steps[:2, at], 2 * int(half))
            found.append((near, far))
        return found

    def _ladder(self, x: NDArray[np.int64], precision: int) -> list[Any]:
        key = precision, tuple(x.tolist())
        if key not in self._ladders:
            self._ladders[key] = self._cumulative(x, precision)
        return self._ladders[key]

    def _cumulative(self, x: NDArray[np.int64], precision: int) -> list[Any]:
        library, m = balls.flint(), self.points(precision)
        if not m:
            return []
        powers, total, ladder = falling(library, self.epsilon, self.space.n), library.arb(0), []
        part, ways = library.fmpq(PART.numerator, PART.denominator), self._apart(x)
        for row, copies in enumerate(self.space.copies.tolist()):
            share = library.fmpq(copies, len(_ORDERS))
            w = part * library.fmpq(int(self._flats[row]), UNIT)
            for near, far in ways:
                total = total + share * (m[row] * powers[near[row]] + w * powers[far[row]])
                ladder.append(total)
        return ladder
