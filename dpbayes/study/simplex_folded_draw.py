"""Exact draws of folded noise: its weights solved for in ball arithmetic, its answers listed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.samplers import candidates
from dpbayes.samplers.bits import BitSource
from dpbayes.study.simplex import Simplex, all_rows, simplex

LARGEST = 400
"""Most classes of data sets, equal up to the order of the counts: so many unknowns are solved."""

FIRST_PRECISION = 128


def draw_folded(source: BitSource, counts: ArrayLike, epsilon: Fraction) -> NDArray[np.int64]:
    """Return r with probability exactly w_r e^(-epsilon d(x, r)), x the `counts` (k,).

    The law of `simplex_folded.folded`, from fair bits. `epsilon` is exact, a Fraction. Raises
    ValueError where a weight is negative and there is no such mechanism, or where there are more
    than `LARGEST` classes; ImportError without python-flint. Book: `thm-folded-sampler`.

    >>> from dpbayes.samplers.bits import SystemBits
    >>> int(draw_folded(SystemBits(), [2, 5, 1], Fraction(1)).sum())
    8
    """
    x = _validate.counts("counts", counts)
    _validate.positive("epsilon", float(epsilon))
    space = _space(int(x.sum()), x.size)
    library, precision = candidates.flint(), FIRST_PRECISION
    known, bits = 0, 0
    while True:
        with library.ctx.workprec(precision):
            ladder = _cumulative(space.n, space.k, tuple(x.tolist()), epsilon, precision)
            while ladder and 2 * bits < precision:
                known = (known << candidates.BITS) | source.bits(candidates.BITS)
                bits += candidates.BITS
                chosen = candidates.settled(library, ladder, known, bits)
                if chosen is not None:
                    return np.asarray(all_rows(space.n, space.k)[chosen])
        precision *= 2


@lru_cache(maxsize=8)
def _space(n: int, k: int) -> Simplex:
    space = simplex(n, k)
    if len(space.rows) > LARGEST:
        raise ValueError(
            f"n = {n} over k = {k} categories has {len(space.rows)} classes of data sets; folded "
            f"noise is drawn for at most {LARGEST}"
        )
    return space


@lru_cache(maxsize=32)
def _cumulative(n: int, k: int, x: tuple[int, ...], epsilon: Fraction, precision: int) -> list[Any]:
    # Sums of the probabilities of all answers, in order; none if the weights need more precision.
    library, space = candidates.flint(), _space(n, k)
    weights = enclosed_weights(n, k, epsilon, precision)
    ladder, total = [], library.arb(0)
    if weights:
        powers, every = _powers(library, epsilon, n), all_rows(n, k)
        apart = np.abs(every - np.array(x)).sum(axis=1) // 2
        for number, d in zip(space.place[tuple(every[:, :-1].T)], apart, strict=True):
            total = total + weights[number] * powers[d]
            ladder.append(total)
    return ladder


@lru_cache(maxsize=32)
def enclosed_weights(n: int, k: int, epsilon: Fraction, precision: int) -> list[Any]:
    """Return balls around the weights of folded noise, one a class, or none if they are too wide.

    Too wide are balls that hold 0: no weight is 0 at a rational epsilon. Raises ValueError where a
    weight is negative.

    >>> [round(float(one.mid()), 6) for one in enclosed_weights(2, 3, Fraction(1), 128)]
    [0.597651, 0.276185]
    """
    library, space, every = candidates.flint(), _space(n, k), all_rows(n, k)
    place = space.place[tuple(every[:, :-1].T)]
    with library.ctx.workprec(precision):
        powers, matrix = _powers(library, epsilon, n), []
        for row in space.rows:
            times = np.zeros((len(space.rows), n + 1), dtype=np.int64)
            np.add.at(times, (place, np.abs(every - row).sum(axis=1) // 2), 1)
            matrix.append([_sum(library, powers, one) for one in times])
        ones = library.arb_mat([[1]] * len(matrix))
        try:
            solved = library.arb_mat(matrix).solve(ones)
        except ZeroDivisionError:  # the balls are too wide to tell the matrix from a singular one
            return []
        weights = [solved[i, 0] for i in range(len(matrix))]
    if any(one < 0 for one in weights):
        raise ValueError(
            f"folded noise does not exist for n = {n}, k = {k}, epsilon = {float(epsilon):g}: a "
            "weight is negative; it exists at larger epsilon"
        )
    return weights if all(one > 0 for one in weights) else []


def _powers(library: Any, epsilon: Fraction, n: int) -> list[Any]:
    fall = library.arb(library.fmpq(-epsilon.numerator, epsilon.denominator))
    return [(fall * d).exp() for d in range(n + 1)]


def _sum(library: Any, powers: list[Any], times: NDArray[np.int64]) -> Any:
    parts = [powers[d] * int(times[d]) for d in np.flatnonzero(times)]
    return sum(parts, library.arb(0))
