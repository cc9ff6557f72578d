"""Exact draws of folded noise: its weights solved for in ball arithmetic, its answers listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.posteriors import compositions, number_of_candidates
from dpbayes.samplers import balls, candidates
from dpbayes.samplers.bits import BitSource

LARGEST = 400
"""Most classes of data sets, equal but for the order of the counts, solved for in balls."""

LARGEST_FLOAT = 1_000
"""Most classes that are solved for in floats."""

LARGEST_LIST = 2_000_000
"""Most numbers in the list of all answers, k an answer."""

FIRST_PRECISION = 128

MOST_PRECISION = 512
"""Bits with which the sign of every weight must be told: enough for epsilon above about 1e-20."""


@dataclass(frozen=True)
class Classes:
    """The histograms of n records over k categories, and which are equal up to their order.

    `rows` (M, k) has one histogram for each class, sorted upwards, in lexicographic order; `copies`
    (M,) how many each class has; `every` (N, k) all histograms, `number` (N,) the class of each.
    """

    n: int
    k: int
    rows: NDArray[np.int64]
    copies: NDArray[np.int64]
    every: NDArray[np.int64]
    number: NDArray[np.int64]

    def apart(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of records to replace from x to each histogram, shape (N,)."""
        return np.asarray(np.abs(self.every - x).sum(axis=1) // 2)

    def alike(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many histograms of each class are d records from x, (M, n + 1).

        >>> classes(2, 3).alike(np.array([0, 0, 2])).tolist()
        [[1, 0, 2], [0, 2, 1]]
        """
        places = self.number * (self.n + 1) + self.apart(x)
        size = len(self.rows)
        return np.bincount(places, minlength=size * (self.n + 1)).reshape(size, self.n + 1)


@lru_cache(maxsize=8)
def classes(n: int, k: int) -> Classes:
    """Return the data sets, or say that they or their classes are too many.

    >>> found = classes(4, 3)
    >>> found.rows.tolist(), found.copies.tolist()
    ([[0, 0, 4], [0, 1, 3], [0, 2, 2], [1, 1, 2]], [3, 6, 3, 3])
    """
    if number_of_candidates(n, k) * k > LARGEST_LIST:
        raise ValueError(
            f"counts must have a list of all answers of at most {LARGEST_LIST} numbers for folded "
            f"noise, got n = {n} records over k = {k} categories; lattice takes them"
        )
    every = compositions(n, k)
    rows, number, copies = np.unique(
        np.sort(every, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    check_classes(n, k, len(rows), LARGEST_FLOAT)
    return Classes(n, k, rows, copies, every, number.ravel())


def check_classes(n: int, k: int, number: int, limit: int, why: str = "") -> None:
    """Refuse more classes of data sets than the limit."""
    if number > limit:
        raise ValueError(
            f"counts must have at most {limit} classes of data sets, equal but for the order of "
            f"the counts, for folded noise{why}, got {number} for n = {n} records over k = {k} "
            "categories; lattice takes them"
        )


def draw_folded(source: BitSource, counts: ArrayLike, epsilon: Fraction) -> NDArray[np.int64]:
    """Return r with probability exactly w_r e^(-epsilon d(x, r)), x the `counts` (k,).

    The law of folded noise, from fair bits. `epsilon` is exact, a Fraction. Raises ValueError where
    a weight is negative and there is no such mechanism, where that cannot be told, or where there
    are more than `LARGEST` classes; ImportError without python-flint. Book: `thm-folded-sampler`.

    >>> from dpbayes.samplers.bits import SystemBits
    >>> int(draw_folded(SystemBits(), [2, 5, 1], Fraction(1)).sum())
    8
    """
    x = _validate.counts("counts", counts)
    _validate.positive("epsilon", float(epsilon))
    space, key = classes(int(x.sum()), x.size), tuple(x.tolist())
    decided_weights(space.n, space.k, epsilon, FIRST_PRECISION)
    chosen = choice(
        source, lambda precision: _cumulative(space.n, space.k, key, epsilon, precision)
    )
    return np.asarray(space.every[chosen])


def choice(source: BitSource, ladder: Callable[[int], list[Any]]) -> int:
    """Return i with the probability that is the i-th step of a ladder of balls.

    `ladder(precision)` gives balls around the sums of the first probabilities, or none where more
    precision is needed. Book: `thm-exact-candidates`.
    """
    library, precision = balls.flint(), FIRST_PRECISION
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


@lru_cache(maxsize=4)
def _cumulative(n: int, k: int, x: tuple[int, ...], epsilon: Fraction, precision: int) -> list[Any]:
    # Sums of the probabilities of all answers, in order; none if the weights need more precision.
    library, space = balls.flint(), classes(n, k)
    weights = enclosed_weights(n, k, epsilon, precision)
    ladder, total = [], library.arb(0)
    if weights:
        powers = falling(library, epsilon, n)
        for number, d in zip(space.number, space.apart(np.array(x)), strict=True):
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
    weights = solved(n, k, epsilon, precision, [1] * len(classes(n, k).rows))
    if any(one < 0 for one in weights):
        raise ValueError(missing(n, k, float(epsilon)))
    return weights if all(one > 0 for one in weights) else []


def decided_weights(n: int, k: int, epsilon: Fraction, precision: int) -> list[Any]:
    """Return balls around the weights of folded noise, one a class, that tell their signs.

    The precision is doubled until they do. Raises ValueError where a weight is negative, or where
    `MOST_PRECISION` bits do not tell.

    >>> len(decided_weights(2, 3, Fraction(1, 10**9), 2))
    2
    """
    weights = enclosed_weights(n, k, epsilon, precision)
    while not weights and precision < MOST_PRECISION:
        precision *= 2
        weights = enclosed_weights(n, k, epsilon, precision)
    if not weights:
        raise ValueError(
            f"epsilon must be larger to tell in {precision} bits whether folded noise exists at "
            f"n = {n} records over k = {k} categories, got {float(epsilon):g}; lattice takes every "
            "epsilon"
        )
    return weights


def missing(n: int, k: int, epsilon: float) -> str:
    """Return the words for a size and an epsilon at which there is no folded noise."""
    return (
        f"epsilon must be larger for folded noise to exist at n = {n} records over k = {k} "
        f"categories, got {epsilon:g}, where a weight is negative; lattice takes every epsilon"
    )


def solved(n: int, k: int, epsilon: Fraction, precision: int, right: list[Any]) -> list[Any]:
    """Return balls c, one a class, with the sum over r of c_r e^(-epsilon d(x, r)) as given.

    `right` has one number or ball for each class of x. None if they are too wide to be solved for.
    """
    library = balls.flint()
    with library.ctx.workprec(precision):
        try:
            found = _matrix(n, k, epsilon, precision).solve(library.arb_mat([[x] for x in right]))
        except ZeroDivisionError:  # the balls are too wide to tell the matrix from a singular one
            return []
        return [found[i, 0] for i in range(len(right))]


@lru_cache(maxsize=2)
def _matrix(n: int, k: int, epsilon: Fraction, precision: int) -> Any:
    library, space = balls.flint(), classes(n, k)
    check_classes(n, k, len(space.rows), LARGEST, " in ball arithmetic")
    powers = falling(library, epsilon, n)
    return library.arb_mat(
        [[weighed(library, powers, one) for one in space.alike(row)] for row in space.rows]
    )


def falling(library: Any, epsilon: Fraction, n: int) -> list[Any]:
    """Return balls around e^(-epsilon d) for d = 0 … n."""
    fall = library.arb(library.fmpq(-epsilon.numerator, epsilon.denominator))
    return [(fall * d).exp() for d in range(n + 1)]


def weighed(library: Any, powers: list[Any], times: NDArray[np.int64]) -> Any:
    """Return the sum of the powers, each so many times."""
    parts = [powers[d] * int(times[d]) for d in np.flatnonzero(times)]
    return sum(parts, library.arb(0))
