"""The best noise far from the edges: exact lower bounds by rational certificates.

For large n the problem is: a law P on the whole vectors z with sum 0, P(z) <= e^epsilon P(z') for
neighbours z, z' = z + e_i - e_j, with the least E l(Z), l(z) = sqrt(sum_i z_i^2 / w_i).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from itertools import permutations
from math import isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import bernoulli_exp, lattice_by_coins
from dpbayes.study.noise_symmetry import Orbits, orbits

Share = Fraction | int | str

_SCALE = 10**18
_ROUNDED = 10**12
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_DEPTH = 30.0  # means of noises leave out e^-30
_LARGEST_PLATEAU = 40


@dataclass(frozen=True)
class Window:
    """The vectors with positive part at most `radius`, their lengths and the steps among them.

    `points` (N, k); `squares` (N,) exact squared lengths, whole numbers over `common`; `first`,
    `second` (E,) the ends of every step e_i - e_j that stays inside.
    """

    points: NDArray[np.int64]
    squares: tuple[int, ...]
    common: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.float64]:
        """l(z) of every point, shape (N,)."""
        return np.asarray(np.sqrt([square / self.common for square in self.squares]))

    @property
    def steps(self) -> NDArray[np.int64]:
        """Distance of every point from 0 in replaced records, shape (N,)."""
        return np.asarray(np.abs(self.points).sum(axis=1) // 2)


@lru_cache(maxsize=16)
def window(shares: tuple[Fraction, ...], radius: int) -> Window:
    """Return the window of that radius for these shares."""
    points = LatticeNoise(len(shares), 1.0).points(radius)
    # All over one denominator: whole numbers are added.
    inverse = [1 / share for share in shares]
    common = lcm(*(one.denominator for one in inverse))
    weights = np.array([int(one * common) for one in inverse], dtype=object)
    squares = tuple(((points**2).astype(object) @ weights).tolist())
    strides = (2 * radius + 3) ** np.arange(len(shares) - 1, -1, -1)
    keys = points @ strides  # they rise, as the points do
    first, second = [], []
    for i, j in permutations(range(len(shares)), 2):
        wanted = keys + strides[i] - strides[j]
        end = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        start = np.flatnonzero(keys[end] == wanted)
        first.append(start)
        second.append(end[start])
    return Window(points, squares, common, np.concatenate(first), np.concatenate(second))


@dataclass(frozen=True)
class NoiseBound:
    """A rational lower bound on E l(Z) of every epsilon-DP noise, with what lattice noise has.

    `lower` is proved by exact arithmetic; `lattice` is the mean of lattice noise, `plateau` that of
    the best plateau noise tried, with the length up to which it is flat; both up to about 1e-10.
    `window` is the order of what the certificate loses by ending at its radius,
    radius^k e^(-epsilon radius); it is no bound.
    """

    lower: Fraction
    lattice: float
    plateau: float
    flat_to: float
    window: float

    @property
    def lattice_gap(self) -> float:
        """Lattice noise over the bound, less 1."""
        return self.lattice / float(self.lower) - 1.0

    @property
    def plateau_gap(self) -> float:
        """The best plateau noise over the bound, less 1."""
        return self.plateau / float(self.lower) - 1.0


def noise_bound(shares: list[Share], epsilon: float, radius: int) -> NoiseBound:
    """Return a certified lower bound for these shares and epsilon, and two noises beside it.

    `shares` are exact (fractions, whole numbers, or text such as "1/3") and are divided by their
    sum. `radius` is how far the window of the certificate reaches: more is sharper and slower.
    Book: `thm-noise-certificate`.

    >>> found = noise_bound([1, 1, 1], 1.0, 14)
    >>> 0.0 <= found.lattice_gap < 1e-4
    True
    """
    budget = _validate.positive("epsilon", epsilon)
    exact = [Fraction(share) for share in shares]
    if min(exact) <= 0 or len(exact) < 2:
        raise ValueError(f"shares must be at least 2 positive numbers, got {shares!r}")
    total = sum(exact, Fraction(0))
    divided = tuple(share / total for share in exact)
    space = window(divided, radius)
    same = orbits(space.points, space.first, space.second, divided)
    lower = _certified(space, same, _flow(space, same, budget), budget, radius)
    wide = LatticeNoise(len(exact), 1.0).points(int(np.ceil(_DEPTH / budget)) + 6)
    lengths = np.sqrt((wide**2 / np.array([float(share / total) for share in exact])).sum(axis=1))
    lattice_mean = _decaying_mean(lengths, np.abs(wide).sum(axis=1) // 2, budget)
    ended = radius ** len(exact) * float(np.exp(-budget * radius))
    return NoiseBound(lower, lattice_mean, *_best_plateau(wide, lengths, budget), ended)


def _flow(space: Window, same: Orbits, epsilon: float) -> NDArray[np.float64]:
    # Maximise v subject to l(z) - v + sum of f leaving z - e^epsilon sum of f entering z >= 0, with
    # f the same on each orbit of steps; z runs over one point of each orbit.
    sparse: Any = import_module("scipy.sparse")
    optimize: Any = import_module("scipy.optimize")
    row = np.full(len(space.points), -1)
    row[same.kept] = np.arange(same.kept.size)
    shape = (same.kept.size, same.many)

    def sums(ends: NDArray[np.int64]) -> Any:
        here = row[ends] >= 0
        entries = (np.ones(int(here.sum())), (row[ends[here]], same.step[here]))
        return sparse.coo_array(entries, shape)

    below = np.exp(epsilon) * sums(space.second) - sums(space.first)
    below = sparse.hstack([below, np.ones((same.kept.size, 1))]).tocsr()
    cost = np.zeros(same.many + 1)
    cost[-1] = -1.0
    lengths = space.lengths[same.kept]
    result = optimize.linprog(
        cost, A_ub=below, b_ub=lengths, bounds=(0, None), method="highs", options=_OPTIONS
    )
    if not result.success:
        raise ArithmeticError(f"the linear program was not solved: {result.message}")
    return np.asarray(result.x[:-1], dtype=np.float64)


def _certified(
    space: Window, same: Orbits, flow: NDArray[np.float64], epsilon: float, radius: int
) -> Fraction:
    # The flow, rounded to fractions, leaves an exact slack at each point; v is the least of them.
    # What leaves and what enters are sums of whole numbers over one denominator.
    growth = _exp_above(epsilon)
    largest = float(flow.max(initial=0.0)) * _ROUNDED * space.points.shape[1] ** 2
    whole: Any = np.int64 if largest < 2.0**62 else object
    amounts = np.array([int(amount * _ROUNDED) for amount in flow], dtype=whole)
    leaving, entering = (np.zeros(len(space.points), dtype=amounts.dtype) for _ in range(2))
    np.add.at(leaving, space.first, amounts[same.step])
    np.add.at(entering, space.second, amounts[same.step])
    slack = [
        Fraction(isqrt(space.squares[z] * _SCALE * _SCALE // space.common), _SCALE)
        + Fraction(int(leaving[z]), _ROUNDED)
        - growth * Fraction(int(entering[z]), _ROUNDED)
        for z in same.kept.tolist()
    ]
    # Beyond the window l(z) >= 2 (radius + 1), by Cauchy and Schwarz with shares of sum 1.
    return min(*slack, Fraction(2 * (radius + 1)))


def _exp_above(epsilon: float) -> Fraction:
    value = Context(prec=40).exp(Decimal(epsilon))
    return Fraction(value) * (1 + Fraction(1, 10**35))


def _decaying_mean(lengths: NDArray[np.float64], apart: NDArray[np.int64], epsilon: float) -> float:
    weights = np.exp(-epsilon * apart)
    return float((weights * lengths).sum() / weights.sum())


def _best_plateau(
    points: NDArray[np.int64], lengths: NDArray[np.float64], epsilon: float
) -> tuple[float, float]:
    # P(z) falls by e^-epsilon for each step away from the points of length at most `flat`. The mean
    # falls, then rises with `flat`: stop at the third rise.
    best, worse = (float("inf"), 0.0), 0
    apart = np.full(len(points), np.iinfo(np.int64).max)
    before = -1.0
    for flat in np.unique(np.round(np.sort(lengths)[: 4 * _LARGEST_PLATEAU], 9)):
        inside = lengths <= flat + 1e-8
        if int(inside.sum()) > _LARGEST_PLATEAU or worse == 3:
            break
        for centre in points[inside & (lengths > before)]:
            apart = np.minimum(apart, np.abs(points - centre).sum(axis=1) // 2)
        before = flat + 1e-8
        mean = _decaying_mean(lengths, apart, epsilon)
        worse = 0 if mean < best[0] * (1.0 - 1e-12) else worse + 1
        best = min(best, (mean, float(flat))) if worse == 0 else best
    return best


def plateau(shares: list[Share], flat_to: float) -> NDArray[np.int64]:
    """Return the vectors z with sum 0 and l(z) <= flat_to, shape (m, k).

    >>> len(plateau([1, 33, 66], 4.2641))
    5
    """
    exact = [Fraction(share) for share in shares]
    total = sum(exact, Fraction(0))
    # l(z) is at least the l1 norm, which is twice the positive part.
    space = window(tuple(share / total for share in exact), int(flat_to / 2.0) + 1)
    return np.asarray(space.points[space.lengths <= flat_to + 1e-9])


def draw_plateau(source: BitSource, flat: NDArray[np.int64], epsilon: Fraction) -> list[int]:
    """Return z with probability proportional to e^(-epsilon d(z, flat)), from fair bits.

    d counts replaced records to the nearest vector of `flat` (m, k), which holds 0. A lattice draw
    z is kept with probability e^(-epsilon (rho + d(z, flat) - d(z, 0))), rho the largest distance
    of `flat` from 0. Book: `thm-plateau-sampler`.
    """
    rho = int(np.abs(flat).sum(axis=1).max()) // 2
    while True:
        z = lattice_by_coins(source, flat.shape[1], epsilon)
        apart = min(sum(abs(a - b) for a, b in zip(z, row, strict=True)) for row in flat.tolist())
        excess = rho + apart // 2 - sum(map(abs, z)) // 2
        if bernoulli_exp(source, epsilon * excess):
            return z
