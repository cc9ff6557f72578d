"""Steps above f(r) = e^(power psi(r) + tilt (r - x)), the weight of one category's released count.

The cuts are found in floats, to waste little. Each height is a bound in ball arithmetic: psi falls
away from the truth x on both sides and the tilt is monotone, so two ends bound a block.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.samplers.lazy_number import LazyNumber

UNIT = 128
"""Heights of steps are whole multiples of 2^-UNIT."""

_GROWTH = 1.12
_HALVINGS = 60


@dataclass
class Category:
    """One category: its prior, its true count `x`, and psi of the counts 0 … n in balls."""

    library: Any
    prior: float
    x: int
    n: int
    precision: int
    _known: dict[int, Any] = field(default_factory=dict)
    _at_truth: dict[int, Any] = field(default_factory=dict)

    def psi(self, count: int, precision: int = 0) -> Any:
        """Return an enclosure of ln BC of one released count, 0 at the truth."""
        if precision <= self.precision:
            found = self._known.get(count)
            if found is None:
                found = self._known[count] = self._computed(count, self.precision)
            return found
        return self._computed(count, precision)

    def _computed(self, count: int, precision: int) -> Any:
        library = self.library
        with library.ctx.workprec(precision):
            if count == self.x:
                return library.arb(0)
            a, b = library.arb(self.prior) + self.x, library.arb(self.prior) + count
            truth = self._at_truth.get(precision)
            if truth is None:
                truth = self._at_truth[precision] = a.lgamma()
            return ((a + b) / 2).lgamma() - (truth + b.lgamma()) / 2

    def grid(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return counts that grow apart with their distance from the truth, and their psi."""
        room = max(self.x, self.n - self.x)
        steps = [0]
        while steps[-1] < room:
            steps.append(max(steps[-1] + 1, int(steps[-1] * _GROWTH)))
        away = np.array(steps, dtype=np.int64)
        below, above = away[away < self.x], away[away < self.n - self.x]
        counts = np.unique(np.concatenate([[0], self.x - below, self.x + above, [self.n]]))
        return counts, affinity_of_counts(self.prior, self.x, counts)


@dataclass(frozen=True)
class Steps:
    """Blocks of neighbouring counts from `starts` on, and a height for each in 2^-UNIT."""

    starts: list[int]
    sizes: list[int]
    heights: list[int]
    ends: list[int]

    @property
    def area(self) -> int:
        """The area below all steps."""
        return self.ends[-1]

    def column(self, number: LazyNumber) -> tuple[int, int]:
        """Return a count with probability proportional to its step, and the step's height."""
        place = number.choose(self.ends)
        return self.starts[place] + number.one_of(self.sizes[place]), self.heights[place]

    def height(self, count: int) -> int:
        """Return the height of the step above one count."""
        return self.heights[bisect_right(self.starts, count) - 1]


def steps_above(
    category: Category, power: Fraction, tilt: Fraction, cuts: NDArray[np.int64]
) -> Steps:
    """Return steps above f, the blocks beginning at `cuts`, which rise from 0."""
    library, x = category.library, category.x
    starts = [int(cut) for cut in cuts]
    sizes = [high - low for low, high in pairwise([*starts, category.n + 1])]
    heights, rising = [], tilt > 0
    with library.ctx.workprec(category.precision):
        speed, slope = (
            library.arb(library.fmpq(v.numerator, v.denominator)) for v in (power, tilt)
        )
        for start, size in zip(starts, sizes, strict=True):
            last = start + size - 1
            near = min(max(x, start), last)
            edge = last if rising else start
            heights.append(_above((speed * category.psi(near) + slope * (edge - x)).exp()))
    areas = (size * height for size, height in zip(sizes, heights, strict=True))
    return Steps(starts, sizes, heights, list(accumulate(areas)))


def _above(ball: Any) -> int:
    # A whole number of at least the ball in units of 2^-UNIT, and at least one.
    mantissa, exponent = (int(part) for part in ball.upper().man_exp())
    shift = exponent + UNIT
    return max(1, mantissa << shift if shift >= 0 else -(-mantissa >> -shift))


def cuts(
    counts: NDArray[np.int64], falls: NDArray[np.float64], rises: NDArray[np.float64], waste: float
) -> NDArray[np.int64]:
    """Return beginnings of blocks whose steps waste about the part `waste` of the area.

    `falls` and `rises` are the two parts of ln f at the grid `counts`: power psi, and the tilt.
    A block of b counts over which the parts vary by c together wastes up to b c; with the integral
    s of the root of that it takes about s^2 / (waste area) blocks that waste the same each.
    """
    logs = falls + rises
    values = np.exp(logs - logs.max())
    widths = np.diff(counts).astype(np.float64)
    area = float(values[0] + 0.5 * np.sum(widths * (values[1:] + values[:-1])))
    varied = np.abs(np.diff(falls)) + np.abs(np.diff(rises))
    changes = np.maximum(values[1:], values[:-1]) * -np.expm1(-varied)
    number = float(np.sum(np.sqrt(widths * changes))) ** 2 / (waste * area) + 2.0
    each = max(waste * area / number, 1e-300)
    parts = np.minimum(widths, np.ceil(np.sqrt(widths * changes / each))).clip(1, 256)
    times = parts.astype(np.int64)
    inner = (np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)) / np.repeat(
        parts, times
    )
    places = np.repeat(counts[:-1], times) + np.rint(inner * np.repeat(widths, times)).astype(
        np.int64
    )
    run = np.repeat(np.cumsum(changes) - changes, times) + inner * np.repeat(changes, times)
    places, run = np.append(places, counts[-1] + 1), np.append(run, run[-1] + changes[-1])
    return _tight(_blocks(places.tolist(), run.tolist(), each), counts, falls, rises, each)


def _tight(
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    falls: NDArray[np.float64],
    rises: NDArray[np.float64],
    each: float,
) -> NDArray[np.int64]:
    """Return these beginnings, and more of them where a height would be far above f.

    In a long block the part that falls is bounded at one end and the tilt at the other. It is cut
    in two where this bound is above all of f, or e times f there and the area counts.
    """
    logs, truth = falls + rises, float(counts[falls.argmax()])
    top = float(logs.max())
    for _ in range(_HALVINGS):
        last = np.append(starts[1:], counts[-1] + 1) - 1
        ends = np.stack([starts, last])
        near = np.interp(np.clip(truth, starts, last), counts, falls)
        bound = near + np.interp(ends, counts, rises).max(axis=0)
        inside = np.maximum.reduceat(
            np.append(logs, -np.inf), np.minimum(np.searchsorted(counts, starts), logs.size)
        )
        loose = bound - np.maximum(inside, np.interp(ends, counts, logs).max(axis=0)) > 1.0
        much = last - starts + 1 > each * np.exp(np.clip(top - bound, -600.0, 600.0))
        bad = (last > starts) & ((bound > top + 0.1) | (loose & much))
        if not bad.any():
            break
        starts = np.union1d(starts, (starts[bad] + last[bad] + 1) // 2)
    return starts


def _blocks(places: list[int], run: list[float], each: float) -> NDArray[np.int64]:
    """Return where blocks begin that are as long as they can be and waste `each` at most.

    A block from i to j wastes (places[j] - places[i]) (run[j] - run[i]), which rises with j: its
    end is looked for in growing strides first, then by bisection.
    """
    found, first, length = [0], 0, 1
    last = len(places) - 1
    while first < last:
        place, height = places[first], run[first]
        good, stride = first, length
        while good + stride <= last and (
            (places[good + stride] - place) * (run[good + stride] - height) <= each
        ):
            good, stride = good + stride, 2 * stride
        bad = min(good + stride, last + 1)
        while bad - good > 1:
            middle = (good + bad) // 2
            if (places[middle] - place) * (run[middle] - height) <= each:
                good = middle
            else:
                bad = middle
        length = max(1, good - first)
        first += length
        found.append(places[first])
    return np.unique(np.array(found[:-1], dtype=np.int64))
