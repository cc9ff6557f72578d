"""An exact draw of a histogram from an exponential mechanism, any number of categories, no list.

The weight e^(-rate H) lies below a short sum of powers of the affinity (`exponential_sums`), and a
power is a product over the categories. So a power is chosen, all counts but one are drawn
independently under steps (`category_steps`), the last follows from the total, and the histogram is
kept with the probability that turns this law into the wanted one, decided in ball arithmetic.
Book: `thm-exact-mixture`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.posteriors import number_of_candidates
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.category_steps import UNIT, Category, Steps, cuts, steps_above
from dpbayes.samplers.exponential_sums import Dominating, dominating
from dpbayes.samplers.lazy_number import LazyNumber

_SPARE_BITS = 64  # candidates lighter than 2^-64 of the truth, all together, are not told apart
_WASTE = 1.5  # the logarithm of how many draws under the steps of a power are lost to waste
_MOST = 1.0  # the part of a category's area that may be waste
_SMALL = 0.05  # powers that together make less than this of the draws have coarse steps
_ROUNDS = 24
_SLACK = 64
_ENTRIES_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Power:
    """One power of the affinity: its tilt, the steps of all categories but the last, and a bound.

    `top` bounds the last category's weight, in units of 2^-UNIT.
    """

    power: Fraction
    tilt: Fraction
    steps: tuple[Steps, ...]
    top: int

    @property
    def area(self) -> int:
        """The product of all areas and the bound, in units of 2^(-UNIT k)."""
        return math.prod(step.area for step in self.steps) * self.top


@dataclass(frozen=True)
class Envelope:
    """All that is prepared before the first bit is drawn.

    `order` puts the largest category last; the truth alone is the choice after the powers.
    """

    categories: tuple[Category, ...]
    order: tuple[int, ...]
    rate: Fraction
    bound: Dominating
    powers: tuple[Power, ...]
    ends: tuple[int, ...]


def draw_histogram(
    source: BitSource,
    library: Any,
    counts: NDArray[np.int64],
    prior: NDArray[np.float64],
    rate: Fraction,
) -> NDArray[np.int64]:
    """Return r in R with probability exactly proportional to e^(-rate H(BI(x), BI(r)))."""
    prepared = envelope(library, counts, prior, rate)
    while True:
        found = attempt(source, prepared)
        if found is not None:
            return found


def envelope(
    library: Any, counts: NDArray[np.int64], prior: NDArray[np.float64], rate: Fraction
) -> Envelope:
    """Return the sum of powers above the weight, and steps above every power."""
    n, k = int(counts.sum()), counts.size
    order = tuple(int(i) for i in np.argsort(counts, kind="stable"))
    shared: dict[tuple[float, int], Category] = {}
    # Differences of lnGamma lose as many bits as its value and the smallest of them span.
    precision = _SLACK + 3 * (n + math.ceil(float(prior.max()))).bit_length()
    categories = tuple(
        shared.setdefault(key, Category(library, *key, n, precision))
        for key in ((float(prior[i]), int(counts[i])) for i in order)
    )
    depth = number_of_candidates(n, k).bit_length() + _SPARE_BITS
    bound = dominating(library, rate, _nearest(categories), depth)
    grids = _Grids(categories)
    tilts = grids.tilts(np.array([float(power) for power in bound.powers]))
    logs = np.array([
        math.log(c.numerator) - math.log(c.denominator) + log
        for c, (_, log) in zip(bound.coefficients, tilts, strict=True)
    ])  # fmt: skip
    shares = logs - np.logaddexp.reduce(logs)
    powers = tuple(
        grids.steps(power, Fraction(tilt), max(0.0, math.log(_SMALL) - share) + _WASTE)
        for power, (tilt, _), share in zip(bound.powers, tilts, shares.tolist(), strict=True)
    )
    unit = 1 << (UNIT * k)
    areas = [c * power.area for c, power in zip(bound.coefficients, powers, strict=True)]
    areas.append(bound.at_truth * unit)
    whole = math.lcm(*(area.denominator for area in areas))
    ends = tuple(accumulate(int(area * whole) for area in areas))
    return Envelope(categories, order, rate, bound, powers, ends)


def _nearest(categories: tuple[Category, ...]) -> Any:
    # At least two counts of another histogram differ from the truth, by one or more.
    def least(category: Category) -> Any:
        beside = [c for c in (category.x - 1, category.x + 1) if 0 <= c <= category.n]
        return min((-category.psi(c)).lower() for c in beside)

    first, second = sorted(least(category) for category in categories)[:2]
    with categories[0].library.ctx.workprec(categories[0].precision):
        return first + second


class _Grids:
    """The categories in floats: only to choose tilts and cuts, on which no probability depends."""

    def __init__(self, categories: tuple[Category, ...]) -> None:
        self.categories = categories
        self.different = list({id(category): category for category in categories}.values())
        self.place = {id(category): i for i, category in enumerate(self.different)}
        found = [category.grid() for category in self.different]
        width = max(counts.size for counts, _ in found)
        shape = len(found), width
        self.found = found
        self.away, self.psi = np.zeros(shape), np.zeros(shape)
        self.log_width = np.full(shape, -np.inf)
        for row, ((counts, psi), category) in enumerate(zip(found, self.different, strict=True)):
            size = counts.size
            self.away[row, :size], self.psi[row, :size] = counts - category.x, psi
            gaps = np.diff(counts).astype(np.float64)
            widths = 0.5 * (np.append(gaps, 1.0) + np.append(1.0, gaps))
            self.log_width[row, :size] = np.log(widths)
        self.times = np.zeros(len(found))
        for category in categories[:-1]:
            self.times[self.place[id(category)]] += 1.0
        self.last = self.place[id(categories[-1])]

    def tilts(self, powers: NDArray[np.float64]) -> list[tuple[float, float]]:
        """Return the tilt with which most draws are kept, and the log area then, for each power."""
        low, high = np.full(powers.size, -30.0), np.full(powers.size, 30.0)
        for _ in range(_ROUNDS):
            middle = 0.5 * (low + high)
            falls = self._at(powers, _scaled(middle))[0] > 0.0
            low, high = np.where(falls, low, middle), np.where(falls, middle, high)
        best = _scaled(0.5 * (low + high))
        return list(zip(best.tolist(), self._at(powers, best)[1].tolist(), strict=True))

    def _at(
        self, powers: NDArray[np.float64], tilts: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # The slopes of the logarithms of the areas in the tilt, and the logarithms.
        size = self.found[self.last][0].size
        slopes, areas = np.empty(powers.size), np.empty(powers.size)
        rows = max(_ENTRIES_AT_ONCE // self.away.size, 1)
        for first in range(0, powers.size, rows):
            some = slice(first, first + rows)
            logs = powers[some, None, None] * self.psi + tilts[some, None, None] * self.away
            weights = logs + self.log_width
            tops = weights.max(axis=2)
            masses = np.exp(weights - tops[:, :, None])
            sums = masses.sum(axis=2)
            means = np.einsum("pcw,cw->pc", masses, self.away) / sums
            last = logs[:, self.last, :size]
            top = last.argmax(axis=1)
            slopes[some] = means @ self.times + self.away[self.last, top]
            areas[some] = (np.log(sums) + tops) @ self.times + last.max(axis=1)
        return slopes, areas

    def steps(self, power: Fraction, tilt: Fraction, waste: float) -> Power:
        """Return the steps of one power that waste about e^-waste of the draws at most."""
        part = min(_MOST, waste / (len(self.categories) - 1))
        made = []
        for category, (counts, psi) in zip(self.different, self.found, strict=True):
            rises = np.asarray(float(tilt) * (counts - category.x), dtype=np.float64)
            beginnings = cuts(counts, float(power) * psi, rises, part)
            made.append(steps_above(category, power, tilt, beginnings))
        steps = tuple(made[self.place[id(category)]] for category in self.categories)
        return Power(power, tilt, steps[:-1], max(steps[-1].heights))


def _scaled(t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1e-11 * np.sinh(t))


def attempt(source: BitSource, prepared: Envelope) -> NDArray[np.int64] | None:
    """Return a histogram with probability proportional to its weight, or None."""
    number = LazyNumber(source)
    place = number.choose(prepared.ends)
    truth = [category.x for category in prepared.categories]
    chosen, heights = truth, []
    if place < len(prepared.powers):
        power = prepared.powers[place]
        drawn = [step.column(number) for step in power.steps]
        rest = prepared.categories[0].n - sum(count for count, _ in drawn)
        if rest < 0:
            return None
        chosen = [*(count for count, _ in drawn), rest]
        heights = [*(height for _, height in drawn), power.top]
    if not _kept(number, prepared, place, chosen, heights):
        return None
    released = np.zeros(len(chosen), dtype=np.int64)
    released[list(prepared.order)] = chosen
    return released


def _kept(
    number: LazyNumber, prepared: Envelope, place: int, chosen: list[int], heights: list[int]
) -> bool:
    """Return whether the number is below the probability of keeping the histogram."""
    library = prepared.categories[0].library
    precision = prepared.categories[0].precision
    while True:
        with library.ctx.workprec(precision):
            for bound, last in _bounds(prepared, place, chosen, heights, precision):
                low, high = (library.arb(end) for end in number.enclosed(library))
                if low > bound:
                    return False
                while last:
                    if high < bound:
                        return True
                    if 2 * number.bits > precision:
                        break
                    number.refine()
                    low, high = (library.arb(end) for end in number.enclosed(library))
                    if low > bound:
                        return False
        precision *= 2


def _bounds(
    prepared: Envelope, place: int, chosen: list[int], heights: list[int], precision: int
) -> Iterator[tuple[Any, bool]]:
    """Yield falling bounds of the probability, each computed from one count more, the last exact.

    With f_i the weights of the counts under the power, s_i their steps, g the weight and G the sum
    of powers it is the product of f_i / s_i and of g / G.
    """
    library = prepared.categories[0].library
    categories = prepared.categories
    kept = library.arb(1)
    for i in reversed(range(len(heights))):
        power = prepared.powers[place]
        log = _arb(library, power.power) * categories[i].psi(chosen[i], precision)
        log += _arb(library, power.tilt) * (chosen[i] - categories[i].x)
        kept *= log.exp() / library.arb(library.fmpq(heights[i], 1 << UNIT))
        yield kept, False
    yield kept * _ratio(prepared, chosen, precision), True


def _ratio(prepared: Envelope, chosen: list[int], precision: int) -> Any:
    # g / G, where G counts the truth's own share at the truth only.
    library, bound = prepared.categories[0].library, prepared.bound
    pairs = list(zip(prepared.categories, chosen, strict=True))
    if all(category.x == count for category, count in pairs):
        return 1 / _arb(library, bound.at_truth + sum(bound.coefficients))
    log_bc = sum((category.psi(count, precision) for category, count in pairs), library.arb(0))
    total = library.arb(0)
    for power, coefficient in zip(bound.powers, bound.coefficients, strict=True):
        total += _arb(library, coefficient) * (_arb(library, power) * log_bc).exp()
    return (-_arb(library, prepared.rate) * (-log_bc.expm1()).sqrt()).exp() / total


def _arb(library: Any, value: Fraction) -> Any:
    return library.arb(library.fmpq(value.numerator, value.denominator))
