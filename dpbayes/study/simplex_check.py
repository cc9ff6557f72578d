"""Prices of a lower bound checked answer by answer, in whole numbers: a second road.

For an answer s a linear program finds the private column that undercuts the prices most. The
program is not trusted: its multipliers only choose a tree over the data around s. Along that tree
what is left over is passed to s, each product rounded down, so what arrives is proved.
`tools/check_prices.py` checks all the prices that ship with the package.
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

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.study.simplex import Simplex, all_rows, simplex

Numbers = NDArray[np.int64]

_BITS = 128  # binary digits after the point of every whole number that is formed
_ONE = 1 << _BITS
_TERMS = 80  # of the series of e^epsilon
_REACH = 14.0  # windows go this many times 1/epsilon beyond what is nearer than its price
_DOUBT = 1e-6  # data are called farther than their price only if H^2 is above v^2 by this part
_TOLERANCE = 1e-10  # of the linear program, the least that the solver takes


class PriceCheck:
    """Prices `units` / 2^`bits` (M,), one whole number for each class of `space`; flat prior.

    Raises ValueError for another prior, or for prices that do not belong to the classes.
    """

    def __init__(self, space: Simplex, epsilon: float, units: Numbers, bits: int) -> None:
        if space.prior != 1.0:
            raise ValueError(f"prices are checked for the flat prior 1, got {space.prior!r}")
        if len(units) != len(space.rows):
            raise ValueError(f"{len(units)} prices for {len(space.rows)} classes of data")
        self.space, self.epsilon = space, _validate.positive("epsilon", epsilon)
        self.units = units
        self.bits = _validate.integer("bits", bits, minimum=1, maximum=_BITS)
        _exponential_above(self.epsilon)

    @property
    def lower(self) -> float:
        """The mean of the prices over all data: the bound, if no answer undercuts them."""
        whole = int(self.space.copies.sum()) << self.bits
        sold = zip(self.units.tolist(), self.space.copies.tolist(), strict=True)
        return float(Fraction(sum(unit * copies for unit, copies in sold), whole))

    def least(self, number: int) -> float:
        """Return what V(s) is at least, s the sorted row of the class `number`.

        No private column u has a sum over x of u(x) (H(x, s) - v_x) below V(s) u(s). Where this is
        not negative for any s, `lower` is proved. Book: `thm-simplex-certificate`, with shares 0
        and 1.

        >>> check = PriceCheck(simplex(4), 1.0, np.array([39, 39, 39, 39]), 7)
        >>> check.lower, round(check.least(0), 6)
        (0.3046875, 0.017421)
        """
        s = self.space.rows[number]
        around, units = self._window(s)
        return least_around(s, around, units, self.bits, self.epsilon)

    def least_of_some(self, count: int, random: np.random.Generator) -> float:
        """Return the smallest of `least` for so many classes of answers, drawn at random.

        >>> check = PriceCheck(simplex(4), 1.0, np.array([39, 39, 39, 39]), 7)
        >>> check.least_of_some(3, np.random.default_rng(1)) > 0.0
        True
        """
        size = len(self.units)
        some = random.choice(size, min(count, size), replace=False)
        return min(self.least(int(number)) for number in some)

    @cached_property
    def _every(self) -> tuple[Numbers, NDArray[np.float64], NDArray[np.float64]]:
        # All data; the -ln BC below which an answer is nearer than the price; and the -ln BC of
        # single counts.
        every = all_rows(self.space.n, self.space.k)
        prices = self.units[self.space.place[tuple(every[:, :-1].T)]] / 2.0**self.bits
        limits = -np.log1p(-np.minimum((1.0 + _DOUBT) * prices**2, 1.0 - 1e-15))
        return every, limits, self.space.affinities(self.space.n)

    def _window(self, s: Numbers) -> tuple[Numbers, list[int]]:
        # The data around s and the units of their prices; beyond these data H is above v.
        every, limits, table = self._every
        n = self.space.n
        logs = np.zeros(len(every))
        for count, x in zip(s, every.T, strict=True):
            logs += table[count, n - count :][x]
        nearer = np.abs(every[logs < limits] - s).sum(axis=1) // 2
        radius = int(nearer.max(initial=0)) + int(np.ceil(_REACH / self.epsilon)) + 2
        at = np.flatnonzero((np.abs(every[:, :-1] - s[:-1]) <= radius).all(axis=1))
        at = at[np.abs(every[at] - s).sum(axis=1) <= 2 * radius]
        around = every[at]
        return around, self.units[self.space.place[tuple(around[:, :-1].T)]].tolist()


def least_around(s: Numbers, around: Numbers, units: list[int], bits: int, epsilon: float) -> float:
    """Return what V(s) is at least, from the data `around` s and their prices; flat prior.

    Beyond these data no price may be above the distance to s. `around` (P, k) holds s and every
    histogram up to some number of replaced records, `units` / 2^`bits` are the prices.

    >>> rows = np.array([[0, 2], [1, 1], [2, 0]])
    >>> round(least_around(rows[1], rows, [1, 1, 1], 2, 1.0), 6)
    -0.133304
    """
    apart = np.abs(around - s).sum(axis=1) // 2
    n, middle = int(s.sum()), int(np.flatnonzero(apart == 0)[0])
    moves = (around - s).astype(np.float64)
    logs = sum(affinity_by_step(1.0 + m, z) for m, z in zip(s, moves.T, strict=True))
    spare = distance_from_log_affinity(np.asarray(logs)) - np.array(units) / 2.0**bits
    start, end = _neighbours(around, n)
    tree = _tree(spare, apart, start, end, middle, epsilon)
    order, parent = breadth_first_order(tree, middle, directed=False)
    factor = _exponential_above(epsilon)
    left = [
        distance_below(x, s.tolist()) - (unit << _BITS - bits)
        for x, unit in zip(around.tolist(), units, strict=True)
    ]
    for y in order[:0:-1].tolist():
        passed = left[y]
        left[parent[y]] += (
            (passed << _BITS) // factor
            if passed >= 0
            else (passed * factor) >> _BITS  # towards minus infinity
        )
    return left[middle] / _ONE


def distance_below(x: list[int], s: list[int]) -> int:
    """Return a whole number that is at most 2^128 H(x, s), the Hellinger distance; flat prior.

    H^2 = 1 - BC, and BC^2 is the product over the categories of Gamma((a + b) / 2)^2 / (Gamma(a)
    Gamma(b)), a = x_i + 1 and b = s_i + 1: rational numbers, times pi for each odd a + b.

    >>> round(distance_below([0, 2], [1, 1]) / 2**128, 12)
    0.408606716899
    >>> round((1.0 - 3.0 * np.pi * 2.0**0.5 / 16.0) ** 0.5, 12)
    0.408606716899
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
    if odd:  # Gamma(m + 1/2) = sqrt(pi) (2m)! / (4^m m!); pi is below the double after its own
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
        raise ValueError(f"epsilon must be at most {_TERMS / 2:g} for a check, got {epsilon!r}")
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
        found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(rows) - 1)]
        same = keys[found] == wanted
        starts.append(start[same])
        ends.append(found[same])
    return np.concatenate(starts), np.concatenate(ends)


def _tree(
    spare: NDArray[np.float64],
    apart: Numbers,
    start: Numbers,
    end: Numbers,
    middle: int,
    epsilon: float,
) -> sparse.csr_array:
    # A tree over all data of the window, of pairs with the largest multipliers of the program:
    # least sum of u (H - v) with u = 1 at s and u(end) <= e^epsilon u(start) for neighbours.
    # In the place of u stands u e^(epsilon d), so that no number is tiny.
    size, pairs = len(spare), np.arange(len(start))
    private = sparse.csr_array(
        (
            np.append(np.ones(pairs.size), -np.exp(epsilon * (1 + apart[end] - apart[start]))),
            (np.append(pairs, pairs), np.append(end, start)),
        ),
        (pairs.size, size),
    )
    one = np.arange(size) == middle
    optimize: Any = import_module("scipy.optimize")
    found = optimize.linprog(
        spare * np.exp(-epsilon * apart),
        private,
        np.zeros(pairs.size),
        bounds=np.column_stack([np.where(one, 1.0, 0.0), np.where(one, 1.0, np.inf)]),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
        },
    )
    used = np.zeros(pairs.size)
    if found.success:
        used = -found.ineqlin.marginals * np.exp(epsilon * apart[end])
    pair = np.minimum(start, end), np.maximum(start, end)
    both = sparse.coo_array((np.maximum(used, 0.0), pair), (size, size)).tocsr()
    both.data = 1.0 / (1e-12 + both.data)
    return sparse.csr_array(minimum_spanning_tree(both))


Case = tuple[int, int, float]
"""Categories, records and epsilon."""

CASES: tuple[Case, ...] = tuple((3, n, e) for n in (300, 1000) for e in (5.0, 2.0, 1.0, 0.5))
"""The cases whose prices are kept."""


@dataclass(frozen=True)
class Prices:
    """Prices `units` / 2^`bits` (M,), one for each class of data sets in the order of `simplex`."""

    units: NDArray[np.int64]
    bits: int

    def check(self, case: Case) -> PriceCheck:
        """Return the check of these prices; flat prior."""
        k, n, epsilon = case
        return PriceCheck(simplex(n, k), epsilon, self.units, self.bits)

    @property
    def values(self) -> NDArray[np.float64]:
        """The prices as floating-point numbers, exactly."""
        return np.asarray(self.units / 2.0**self.bits)


def read_prices() -> dict[Case, Prices]:
    """Return the prices that ship with the package; a search found them (in commit f14be0f)."""
    source = files("dpbayes").joinpath("data", "simplex-prices.npz")
    found = {}
    with as_file(source) as name, np.load(name) as arrays:
        for key in arrays.files:
            k, n, epsilon, bits = key.split(" ")
            # Second differences are small numbers, and pack well.
            units = np.cumsum(np.cumsum(arrays[key].astype(np.int64)))
            found[int(k), int(n), float(epsilon)] = Prices(units, int(bits))
    return found
