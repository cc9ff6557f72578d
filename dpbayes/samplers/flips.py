"""An exact draw of permute-and-flip: random order from whole numbers, coins from enclosures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.posteriors import compositions
from dpbayes.samplers import candidates
from dpbayes.samplers.bits import BitSource, below


def draw_flip(
    source: BitSource, counts: NDArray[np.int64], prior: NDArray[np.float64], rate: Fraction
) -> NDArray[np.int64]:
    """Return the first r in uniformly random order whose coin of e^(-rate H) shows heads.

    The truth has H = 0 and is always taken, so the walk ends. Book: `thm-exact-candidates`.
    """
    candidates.check_size(counts)
    library = candidates.flint()
    rows, truth = compositions(int(counts.sum()), counts.size), counts.tolist()

    @cache
    def tables(precision: int) -> list[list[Any]]:
        with library.ctx.workprec(precision):
            return candidates.affinity_tables(library, counts, prior)

    order = list(range(len(rows)))
    while True:
        # One step of Fisher and Yates: a uniform choice among those not yet visited.
        place = below(source, len(order))
        order[place], order[-1] = order[-1], order[place]
        row = rows[order.pop()].tolist()
        if row == truth:
            return np.array(row, dtype=np.int64)

        def enclosure(precision: int, row: list[int] = row) -> Any:
            return candidates.weight(library, tables(precision), row, rate)

        if _heads(source, library, enclosure):
            return np.array(row, dtype=np.int64)


def _heads(source: BitSource, library: Any, enclosure: Callable[[int], Any]) -> bool:
    precision, known, bits = candidates.FIRST_PRECISION, 0, 0
    while True:
        with library.ctx.workprec(precision):
            probability = enclosure(precision)
            while 2 * bits < precision:
                known = (known << candidates.BITS) | source.bits(candidates.BITS)
                bits += candidates.BITS
                if library.arb(library.fmpq(known + 1, 1 << bits)) < probability:
                    return True
                if library.arb(library.fmpq(known, 1 << bits)) > probability:
                    return False
        precision *= 2
