"""A lower bound for three categories: stored prices, checked answer by answer in whole
numbers.

A price for each data set of n records, alike under a renaming of the categories, proves
a bound on the mean distance of every epsilon-DP mechanism that answers with such a data
set, if no answer undercuts it. The multipliers of a linear program only choose a tree
over the data around an answer: along it what is left over is passed on, each product
rounded down, so what arrives is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.resources import as_file, files
from itertools import permutations
from math import factorial, isqrt, nextafter, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.laws.sum_zero import LatticeNoise, project
from dpbayes.posteriors import compositions

Numbers = NDArray[np.int64]
Array = NDArray[np.float64]
optimize: Any = import_module("scipy.optimize")

CASES = tuple((n, e) for n in (300, 1000) for e in (0.5, 1.0, 2.0, 5.0))
"""Records and epsilon of the prices that are kept."""

_BITS = 128  # binary digits after the point of every whole number that is formed
_ONE = 1 << _BITS
_TERMS = 80  # of the series of e^epsilon
# windows go this many times 1/epsilon beyond what is nearer than its price
_REACH = 14.0
# data are called farther than their price only if H^2 is above v^2 by this part
_DOUBT = 1e-6
_TOLERANCE = 1e-10  # of the linear program, the least that the solver takes
_NEGLECTED = 1e-7  # probability of noise that is left out of a mean


@dataclass(frozen=True)
class Simplex:
    """Data sets of n records over three categories: one for each class of equal ones.

    `rows` (M, 3) are sorted upwards, `copies` (M,) counts the orders of each; `every`
    (N, 3) are all data sets, `place` (N,) the number of the class of each.
    """

    rows: Numbers
    copies: Numbers
    every: Numbers
    place: Numbers

    def mean(self, values: Array) -> float:
        """Return the mean over all data sets of a value (M,) for each class."""
        return float(values @ self.copies / self.copies.sum())

    @cached_property
    def affinities(self) -> Array:
        """-ln BC of any two counts, shape (n + 1, n + 1), flat prior."""
        at = np.arange(self.rows[0].sum() + 1)
        return np.asarray(-affinity_by_step(1.0 + at[:, None], at - at[:, None]))


@lru_cache(maxsize=1)
def simplex(n: int) -> Simplex:
    """Return the data sets of n records, up to about a thousand."""
    every = compositions(n, 3)
    rows = np.sort(every, axis=1)
    # A sorted row is known by its first two counts.
    _, first, place, copies = np.unique(rows[:, :2] @ (n + 1, 1), True, True, True)
    return Simplex(rows[first], copies, every, place)


def lattice_means(space: Simplex, epsilon: float) -> Array:
    """Return the mean distance of lattice noise with the l2 projection in each class,
    (M,).

    The mean over all orders of the counts: of two equally large noisy counts the
    projection charges the earlier one, so the mean of the sorted row and of its
    reverse. Noise of probability 1e-7 at most, the longest, is left out: no mean is
    wrong by more.
    """
    n, noise = int(space.rows[0].sum()), LatticeNoise(3, epsilon)
    reach = noise.reach(_NEGLECTED)
    steps = noise.points(reach)
    weights = np.exp(-0.5 * epsilon * np.abs(steps).sum(axis=1))
    side = n + 2 * reach + 1
    noisy = np.indices((side, side)).reshape(2, -1).T - reach
    answers = project(np.column_stack((noisy, n - noisy.sum(axis=1)))).T
    offsets, logs = steps[:, 0] * side + steps[:, 1], space.affinities
    found = np.zeros(len(space.rows))
    for number, row in enumerate(space.rows):
        for x in (row, row[::-1]):
            at = (x[0] + reach) * side + x[1] + reach + offsets
            away = sum(
                logs[count][answer[at]]
                for count, answer in zip(x, answers, strict=True)
            )
            found[number] += distance_from_log_affinity(-np.asarray(away)) @ weights
    return np.asarray(found / (2.0 * weights.sum()))


class PriceCheck:
    """Prices `units` / 2^`bits` (M,), one whole number for each class of `space`; flat
    prior.
    """

    def __init__(
        self, space: Simplex, epsilon: float, units: Numbers, bits: int
    ) -> None:
        self.space, self.epsilon = space, epsilon
        self.units, self.bits = units, bits

    @property
    def lower(self) -> float:
        """The mean of the prices over all data: the bound, if no answer undercuts
        them."""
        whole = int(self.space.copies.sum()) << self.bits
        sold = zip(self.units.tolist(), self.space.copies.tolist(), strict=True)
        return float(Fraction(sum(unit * copies for unit, copies in sold), whole))

    def least_of_some(self, count: int, random: np.random.Generator) -> float:
        """Return the smallest of `least` for so many classes of answers, drawn at
        random.
        """
        size = len(self.units)
        some = random.choice(size, min(count, size), replace=False)
        return min(self.least(int(number)) for number in some)

    @cached_property
    def _limits(self) -> Array:
        # The -ln BC below which an answer is nearer than the price, for all data.
        prices = self.units[self.space.place] / 2.0**self.bits
        return np.asarray(
            -np.log1p(-np.minimum((1.0 + _DOUBT) * prices**2, 1.0 - 1e-15))
        )

    def _window(self, s: Numbers) -> Numbers:
        # The places of the data around s; beyond these data H is above the price.
        every, table = self.space.every, self.space.affinities
        logs = sum(table[count][x] for count, x in zip(s, every.T, strict=True))
        apart = np.abs(every - s).sum(axis=1) // 2
        nearer = apart[logs < self._limits]
        radius = int(nearer.max(initial=0)) + int(np.ceil(_REACH / self.epsilon)) + 2
        return np.flatnonzero(apart <= radius)

    def least(self, number: int) -> float:
        """Return what V(s) is at least, s the sorted row of the class `number`.

        No private column u has a sum over x of u(x) (H(x, s) - v_x) below V(s) u(s).
        Where this is not negative for any s, `lower` is proved. Book:
        `thm-simplex-certificate`, with shares 0 and 1.
        """
        s = self.space.rows[number]
        at = self._window(s)
        around, units = self.space.every[at], self.units[self.space.place[at]]
        apart = np.abs(around - s).sum(axis=1) // 2
        middle = int(np.flatnonzero(apart == 0)[0])
        logs = sum(
            self.space.affinities[m][x] for m, x in zip(s, around.T, strict=True)
        )
        spare = distance_from_log_affinity(-np.asarray(logs)) - units / 2.0**self.bits
        start, end = _neighbours(around, int(s.sum()))
        tree = _tree(spare, apart, start, end, middle, self.epsilon)
        order, parent = breadth_first_order(tree, middle, directed=False)
        factor = _exponential_above(self.epsilon)
        left = [
            distance_below(x, s.tolist()) - (unit << _BITS - self.bits)
            for x, unit in zip(around.tolist(), units.tolist(), strict=True)
        ]
        for y in order[:0:-1].tolist():
            rest = left[y]  # rounded towards minus infinity on its way
            left[parent[y]] += (
                (rest << _BITS) // factor if rest >= 0 else (rest * factor) >> _BITS
            )
        return float(Fraction(left[middle], _ONE))


def distance_below(x: list[int], s: list[int]) -> int:
    """Return a whole number that is at most 2^128 H(x, s), the Hellinger distance; flat
    prior.

    H^2 = 1 - BC, and BC^2 is the product over the categories of Gamma((a + b) / 2)^2 /
    (Gamma(a) Gamma(b)), a = x_i + 1 and b = s_i + 1: rational numbers, times pi for
    each odd a + b.
    """
    square = _ONE
    for count, other in zip(x, s, strict=True):
        square = -((-square * _squared_affinity_above(count + 1, other + 1)) >> _BITS)
    affinity = isqrt(square << _BITS) + 1
    return isqrt(max(_ONE - affinity, 0) << _BITS)


@lru_cache(maxsize=1 << 16)
def _squared_affinity_above(a: int, b: int) -> int:
    middle, odd = divmod(a + b, 2)
    below = _factorial(a - 1) * _factorial(b - 1)
    above = _factorial(middle - 1) ** 2
    # Gamma(m + 1/2) = sqrt(pi) (2m)! / (4^m m!); pi is below the double after its own
    if odd:
        ratio = Fraction(nextafter(pi, 4.0))
        above = _factorial(2 * middle) ** 2 * ratio.numerator
        below *= (_factorial(middle) ** 2 << 4 * middle) * ratio.denominator
    return -(-(above << _BITS) // below)


_factorial = lru_cache(maxsize=1 << 13)(factorial)


@lru_cache(maxsize=8)
def _exponential_above(epsilon: float) -> int:
    # The series of e^epsilon; beyond its terms it falls at least as fast as halves.
    step, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    if 2.0 * epsilon > _TERMS:
        raise ValueError(
            f"epsilon must be at most {_TERMS / 2:g} for a check, got {epsilon!r}"
        )
    for number in range(_TERMS):
        total += term
        term *= step / (number + 1)
    total += 2 * term
    return -(-(total.numerator << _BITS) // total.denominator)


def _neighbours(rows: Numbers, n: int) -> tuple[Numbers, Numbers]:
    # All pairs of rows that differ in one record, by their places.
    k = rows.shape[1]
    strides = (n + 1) ** np.arange(k)
    keys = rows @ strides
    order = np.argsort(keys)
    starts, ends = [], []
    for i, j in permutations(range(k), 2):
        start = np.flatnonzero(rows[:, j] > 0)
        wanted = keys[start] + strides[i] - strides[j]
        found = order[
            np.minimum(np.searchsorted(keys, wanted, sorter=order), len(rows) - 1)
        ]
        same = keys[found] == wanted
        starts.append(start[same])
        ends.append(found[same])
    return np.concatenate(starts), np.concatenate(ends)


def _tree(
    spare: Array,
    apart: Numbers,
    start: Numbers,
    end: Numbers,
    middle: int,
    epsilon: float,
) -> sparse.csr_array:
    # A tree over all data of the window, of pairs with the largest multipliers of the
    # program: least sum of u (H - v) with u = 1 at s and u(end) <= e^epsilon u(start)
    # for neighbours. In the place of u stands u e^(epsilon d), so that no number is
    # tiny.
    size, pairs = len(spare), np.arange(len(start))
    private = sparse.csr_array(
        (
            np.append(
                np.ones(pairs.size), -np.exp(epsilon * (1 + apart[end] - apart[start]))
            ),
            (np.append(pairs, pairs), np.append(end, start)),
        ),
        (pairs.size, size),
    )
    one = np.arange(size) == middle
    found = optimize.linprog(
        spare * np.exp(-epsilon * apart),
        private,
        np.zeros(pairs.size),
        bounds=np.column_stack([np.where(one, 1.0, 0.0), np.where(one, 1.0, np.inf)]),
        method="highs-ds",
        options={
            f"{which}_feasibility_tolerance": _TOLERANCE for which in ("primal", "dual")
        },
    )
    used = np.zeros(pairs.size)
    if found.success:
        used = -found.ineqlin.marginals * np.exp(epsilon * apart[end])
    pair = np.minimum(start, end), np.maximum(start, end)
    both = sparse.coo_array((np.maximum(used, 0.0), pair), (size, size)).tocsr()
    both.data = 1.0 / (1e-12 + both.data)
    return sparse.csr_array(minimum_spanning_tree(both))


def stored_check(n: int, epsilon: float) -> PriceCheck:
    """Return the check of the kept prices of one of `CASES`."""
    if (n, epsilon) not in CASES:
        raise ValueError(f"n and epsilon must be one of {CASES}, got {(n, epsilon)}")
    source = files("dpbayes").joinpath("data", "simplex-prices.npz")
    with as_file(source) as name, np.load(name) as arrays:
        (key,) = (key for key in arrays.files if key.startswith(f"3 {n} {epsilon:g} "))
        # Second differences are small numbers, and pack well.
        units = np.cumsum(np.cumsum(arrays[key].astype(np.int64)))
    return PriceCheck(simplex(n), epsilon, units, int(key.split()[-1]))
