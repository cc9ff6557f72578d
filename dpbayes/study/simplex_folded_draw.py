"""Exact draws of folded noise: its weights solved for in ball arithmetic, its answers listed."""

from __future__ import annotations

from collections.abc import Callable
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
    space, key = listed(int(x.sum()), x.size), tuple(x.tolist())
    chosen = choice(
        source, lambda precision: _cumulative(space.n, space.k, key, epsilon, precision)
    )
    return np.asarray(all_rows(space.n, space.k)[chosen])


def choice(source: BitSource, ladder: Callable[[int], list[Any]]) -> int:
    """Return i with the probability that is the i-th step of a ladder of balls.

    `ladder(precision)` gives balls around the sums of the first probabilities, or none where more
    precision is needed. Book: `thm-exact-candidates`.
    """
    library, precision = candidates.flint(), FIRST_PRECISION
    known, bits = 0, 0
    while True:
        with library.ctx.workprec(precision):
            steps = ladder(precision)
            while steps and 2 * bits < precision:
                known = (known << candidates.BITS) | source.bits(candidates.BITS)
                bits += candidates.BITS
                chosen = candidates.settled(library, steps, known, bits)
                if chosen is not None:
                    return chosen
        precision *= 2


@lru_cache(maxsize=8)
def listed(n: int, k: int) -> Simplex:
    """Return the data sets, or say that their classes are too many."""
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
    library, space = candidates.flint(), listed(n, k)
    weights = enclosed_weights(n, k, epsilon, precision)
    ladder, total = [], library.arb(0)
    if weights:
        powers, every = falling(library, epsilon, n), all_rows(n, k)
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
    weights = solved(n, k, epsilon, precision, [1] * len(listed(n, k).rows))
    if any(one < 0 for one in weights):
        raise ValueError(
            f"folded noise does not exist for n = {n}, k = {k}, epsilon = {float(epsilon):g}: a "
            "weight is negative; it exists at larger epsilon"
        )
    return weights if all(one > 0 for one in weights) else []


def solved(n: int, k: int, epsilon: Fraction, precision: int, right: list[Any]) -> list[Any]:
    """Return balls c, one a class, with the sum over r of c_r e^(-epsilon d(x, r)) as given.

    `right` has one number or ball for each class of x. None if they are too wide to be solved for.
    """
    library = candidates.flint()
    with library.ctx.workprec(precision):
        try:
            found = _matrix(n, k, epsilon, precision).solve(library.arb_mat([[x] for x in right]))
        except ZeroDivisionError:  # the balls are too wide to tell the matrix from a singular one
            return []
        return [found[i, 0] for i in range(len(right))]


@lru_cache(maxsize=8)
def _matrix(n: int, k: int, epsilon: Fraction, precision: int) -> Any:
    library, space, every = candidates.flint(), listed(n, k), all_rows(n, k)
    place, rows = space.place[tuple(every[:, :-1].T)], []
    powers = falling(library, epsilon, n)
    for row in space.rows:
        times = np.zeros((len(space.rows), n + 1), dtype=np.int64)
        np.add.at(times, (place, np.abs(every - row).sum(axis=1) // 2), 1)
        rows.append([weighed(library, powers, one) for one in times])
    return library.arb_mat(rows)


def falling(library: Any, epsilon: Fraction, n: int) -> list[Any]:
    """Return balls around e^(-epsilon d) for d = 0 … n."""
    fall = library.arb(library.fmpq(-epsilon.numerator, epsilon.denominator))
    return [(fall * d).exp() for d in range(n + 1)]


def weighed(library: Any, powers: list[Any], times: NDArray[np.int64]) -> Any:
    """Return the sum of the powers, each so many times."""
    parts = [powers[d] * int(times[d]) for d in np.flatnonzero(times)]
    return sum(parts, library.arb(0))
