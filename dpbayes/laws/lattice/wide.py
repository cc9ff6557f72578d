"""Moments of BC where noise is clamped and wide: many levels and heights, all of them smooth.

One power at a time, and only powers that the mean needs. The affinity keeps noisy counts near the
true ones, so that few levels, heights and nodes matter even where noise reaches far.
Book: `thm-clamped`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.growing_root import NoMoment
from dpbayes.laws.lattice import noise, sizes
from dpbayes.laws.lattice.apart import LARGEST_DOUBT, Apart, order_in_doubt
from dpbayes.laws.lattice.below_level import Lower
from dpbayes.laws.lattice.chains import once
from dpbayes.laws.lattice.circles import BEYOND, TILTS, UPRIGHT, Circle, Nodes, log_bound, lossless
from dpbayes.laws.lattice.known_circles import KnownCircles
from dpbayes.laws.lattice.long_prefixes import AnyPrefixes, prefixes
from dpbayes.laws.lattice.pivots import equal_runs
from dpbayes.laws.lattice.prefixes import Category, Edges
from dpbayes.laws.lattice.shortening import largest, shortened
from dpbayes.laws.lattice.smooth_sums import LONGEST_RULE, smooth_sum, straight_sum
from dpbayes.laws.lattice.thinning import Thinning
from dpbayes.laws.lattice.wide_levels import WideHeights, WideLevel
from dpbayes.laws.lattice.windows import windows_of_all

_SURE = 1e-12  # of a level, times 5 epsilon where noise is wide and levels are many
_MANY = 5.0
_PART = 0.3  # of that for each of what is left out
_TOLERATED = 3.0  # times that, of nodes that were enough at another level
_ROUNDING = 2e-15
_FIRST = 3.0  # times 1 / epsilon: as many levels first, then twice as many, and so on
_FAR = 1e6  # times the bound of all levels beyond
_NO_LEVELS = 10.0  # times that of one level: levels whose bounds are smaller come last

LARGEST_K = 64
"""Products over more categories leave the range of floats."""

LARGEST_LOG = 690.0
"""Largest logarithm of what the weights of all noise vectors are divided by."""

LARGEST_WORK = 8_000_000_000
"""Numbers multiplied for one power, in up to a minute."""

MOST_WORK = 20_000_000_000
"""Numbers multiplied for all powers, in some two minutes; what more would tell is left out."""

LARGEST_LEVEL = 600_000_000
"""Numbers multiplied at one level before any sum is refined, in some seconds."""


class NotFollowed(NoMoment):
    """One power takes more than `LARGEST_WORK` or `LARGEST_LEVEL`, or leaves what is in range."""


@dataclass(frozen=True)
class WideNoise:
    """Clamped lattice noise at these true counts, followed no farther than `reach`.

    Released counts are followed as far as BC^`least` is not nothing.
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    epsilon: float
    reach: int
    least: float = 0.0

    circles: dict[int, tuple[float, Circle]] = field(default_factory=dict, compare=False)
    """The circle for the shortfall at each level, and the least exponent it is known for.

    What a higher power weighs less is read wrongly in no larger part.
    """

    times: dict[int, int] = field(default_factory=dict, compare=False)
    """How often nodes were left out at levels from each of these numbers on, for another power."""

    work: list[int] = field(default_factory=lambda: [0], compare=False)
    """Numbers multiplied for all powers until now."""

    _octaves: dict[float, WideNoise] = field(default_factory=dict, compare=False)

    @property
    def possible(self) -> bool:
        """Whether there are few enough categories, and a noise vector's weight is in range."""
        k = self.counts.size
        return k <= LARGEST_K and noise.log_normaliser(k, self.epsilon) < LARGEST_LOG

    def renewed(self) -> WideNoise:
        """Return this noise with all of the work before it, whatever was asked so far."""
        self.work[0] = 0
        return self

    def _from(self, exponent: float) -> WideNoise:
        """Return the same noise with windows for powers from the last power of two on."""
        least = 2.0 ** math.floor(math.log2(exponent)) if exponent > 0.0 else 0.0
        if least not in self._octaves:
            self._octaves.clear()
            self._octaves[least] = replace(self, least=least, _octaves={})
        return self._octaves[least]

    @cached_property
    def runs(self) -> list[tuple[Category, int]]:
        """The categories, and how often each follows itself."""
        runs = equal_runs(self.prior, self.counts)
        kinds = [(float(self.prior[i]), int(self.counts[i])) for i, _ in runs]
        made = once(kinds, lambda run: Category(*kinds[run], self.reach, self.least))
        made = windows_of_all(made, [copies for _, copies in runs])
        return [(category, copies) for category, (_, copies) in zip(made, runs, strict=True)]

    @property
    def sure(self) -> float:
        """The probability of a level that may be in doubt for each of several reasons."""
        return _SURE * min(1.0, _MANY * self.epsilon)

    @cached_property
    def last(self) -> int:
        """From this level on all together have at most probability `sure`, or no count gets there.

        Who ends at 0 is short of the level for each of the others, so that the positive part of the
        noise is at least the level.
        """
        unlikely = sizes.radius(self.counts.size, self.epsilon, self.sure) + 1
        return min(unlikely, self.reach + int(self.counts.max()))

    @cached_property
    def heights(self) -> dict[int, WideHeights]:
        """Windows and blocks of heights at each level; they are the same for all powers."""
        return {}

    @cached_property
    def lower(self) -> Lower | None:
        """What empty categories below a level give if the order of all counts is certain."""
        if order_in_doubt(self.prior, self.counts, self.epsilon) > LARGEST_DOUBT:
            return None
        copies = int(np.count_nonzero(self.counts == 0))
        return Lower(self.counts.size - copies, copies, float(np.exp(-0.5 * self.epsilon)))

    def apart(self, lower: Lower) -> Apart:
        """Return the same noise where the order of all counts is certain."""
        made = {category.count: category for category, _ in self.runs}
        *counts, _ = sorted(made, reverse=True)
        scale = float(np.exp(-noise.log_normaliser(self.counts.size, self.epsilon)))
        outside = order_in_doubt(self.prior, self.counts, self.epsilon)
        full = [made[x] for x in counts]
        return Apart(full, made[0], self.epsilon, self.last, self.sure, scale, lower, outside)

    @property
    def quick(self) -> bool:
        """Whether all levels of a power are read at once, in a fraction of a second."""
        return self.lower is not None and not any(
            one.long for one, _ in self.runs if one.count == 0
        )

    def moment(self, exponent: float) -> tuple[float, float]:
        """Return E[BC^exponent; clamped] for an exponent > 0, and its estimated error.

        Raises `NotFollowed`.
        """
        if not self.possible:
            raise NotFollowed
        part = self._from(exponent)
        if self.lower is not None and part.quick:
            return part.apart(self.lower).moment(exponent)
        sums, first = _LevelSums(part, exponent), 0
        while first < self.last and not sums.ended:
            end = min(2 * first + max(1, int(_FIRST / self.epsilon)), self.last)
            sums.add(first, end)
            first = end
        sums.forget()
        return sums.value, sums.error


class _LevelSums:
    """The sum over levels for one exponent, and what successive levels share."""

    def __init__(self, part: WideNoise, exponent: float) -> None:
        self.part, self.exponent = part, exponent
        self.total = int(part.counts.sum())
        self.rho = float(np.exp(-0.5 * part.epsilon))
        self.scale = float(np.exp(-noise.log_normaliser(part.counts.size, part.epsilon)))
        self.sure = part.sure
        self.tilts = Nodes.positive(-np.log(self.rho) * TILTS)
        self.value, self.error, self.ended, self.work = 0.0, part.sure, False, 0
        self._bounds: dict[int, float] = {}

    def add(self, first: int, end: int) -> None:
        """Add the levels from `first` to `end`, and see whether those beyond matter."""
        self._range = first, end
        self._tilted = self._prefixes(self.tilts)
        alias, times = _PART * self.sure, self.part.times.get(first, math.inf)
        self._known = KnownCircles(self._prefixes, self.tilts.log_radius, alias, times)
        self._errors: dict[int, float] = {}
        inner = [int(x) for x in np.unique(self.part.counts) if first < x < end]
        panels = list(pairwise([first, *inner, end]))
        found, doubt = smooth_sum(
            self._levels, panels, self.sure * (end - first), one=True, costly=True
        )
        self.value += float(found[0])
        self.error += doubt + straight_sum(self._errors, first, end)
        bounds = [self._bounds[t] for t in sorted(self._bounds)]
        beyond = bounds[-1] * (self.part.last - end)
        small = max(self._bounds[t] for t in self._errors) < _NO_LEVELS * self.sure
        # Many empty categories hardly ever are as low as the first levels: bounds may rise.
        falling = len(bounds) > 1 and bounds[-1] < bounds[-2]
        self.ended = small and falling and beyond < self.sure
        self.error += beyond if self.ended else 0.0

    def forget(self) -> None:
        """Let go of what levels share, which would else be kept until cycles are collected."""
        self._known.kept.clear()
        self._tilted = []

    def _levels(self, levels: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([[self._level(t) for t in levels.tolist()]])

    def _prefixes(self, nodes: Nodes) -> list[AnyPrefixes]:
        rest = self.exponent, self.rho, nodes, self._range, self.total
        kinds = [category for category, _ in self.part.runs]
        return once(kinds, lambda run: prefixes(kinds[run], *rest))

    def _over(self, t: int) -> bool:
        """Set down the last bound if the last two fall, and all from here on is nothing."""
        before = sorted(self._bounds)[-2:]
        if len(before) < 2 or t < before[1]:
            return False
        falling = self._bounds[before[1]] < self._bounds[before[0]]
        if not falling or _FAR * self._bounds[before[1]] * self.part.last > self.sure:
            return False
        self._bounds[t] = self._errors[t] = self._bounds[before[1]]
        return True

    def _level(self, t: int) -> float:
        if self._over(t):
            return 0.0
        heights = self.part.heights.setdefault(t, WideHeights(self.part.runs, t))
        level = WideLevel(self.part.runs, self.exponent, self.part.epsilon, t, heights)
        alias = _PART * self.sure
        shortfall = self._shortfall(level, alias)
        every = list(range(TILTS.size))
        found = level.bounds(level.coarse, self._tilted, self.tilts, every, shortfall) * self.scale
        least = np.minimum(found[:, int(np.argmin(found.sum(axis=0)))], found[:, UPRIGHT])
        bound = float(least.sum())
        self._bounds[t] = bound
        if bound < self.sure:
            self._errors[t] = bound
            return 0.0
        kept, dropped = largest(least, alias)
        value, error = self._read(level, shortfall, kept, log_bound(found[kept].sum(axis=0)))
        self._errors[t] = dropped + error + _ROUNDING * bound
        return value

    def _shortfall(self, level: WideLevel, alias: float) -> Circle:
        least, circle = self.part.circles.get(level.level, (np.inf, None))
        if circle is None or least > self.exponent:
            circle = level.shortfall_circle(self._tilted, UPRIGHT, alias, self.scale)
            self.part.circles[level.level] = self.exponent, circle
        return circle

    def _read(
        self,
        level: WideLevel,
        shortfall: Circle,
        kept: NDArray[np.int64],
        logs: NDArray[np.float64],
    ) -> tuple[float, float]:
        alias = _PART * self.sure
        near = lossless(np.where(BEYOND, np.inf, logs))
        records, shared = self._known.find(logs, near, level.span)
        edges: Edges = (level.coarse[0][kept], level.coarse[1][kept])
        node = int(np.argmin(np.abs(self.tilts.log_radius - records.log_radius)))
        records, tail = shortened(
            level, edges, self._tilted, node, records, shortfall, alias / self.scale
        )
        known, records = self._known.share(records, shared)
        panels, neglect = level.panels(kept), alias / self.scale
        while True:
            value, doubt, change = self._sum(level, panels, known.rule, records, shortfall)
            if change <= _TOLERATED * neglect or not known.times:
                break
            self._known.fewer_left_out(known)
            self.part.times[self._range[0]] = known.times
        return value * self.scale, self.sure + (tail + change + doubt) * self.scale

    def _sum(
        self,
        level: WideLevel,
        panels: list[tuple[int, int]],
        known: Thinning,
        records: Circle,
        shortfall: Circle,
    ) -> tuple[float, float, float]:
        """Return the sum over heights, its doubt, and what leaving out nodes changes."""
        each = shortfall.nodes * len(self.part.runs)
        if each * known.rules[0].places.size * sum(min(b - a, LONGEST_RULE) for a, b in panels) > (
            LARGEST_LEVEL
        ):
            raise NotFollowed
        starts, asked, changes = [a for a, _ in panels], *np.zeros((2, len(panels)))
        lengths = np.array([b - a for a, b in panels])
        tolerance = _PART * self.sure / self.scale / lengths.sum()

        def values(blocks: NDArray[np.int64]) -> NDArray[np.float64]:
            found, change, terms = known.read(level, blocks, records, shortfall, tolerance)
            self.work += each * terms
            self.part.work[0] += each * terms
            if self.work > LARGEST_WORK or self.part.work[0] > MOST_WORK:
                raise NotFollowed
            owner = np.searchsorted(starts, blocks, side="right") - 1
            np.add.at(asked, owner, 1.0)
            np.add.at(changes, owner, np.maximum(change, tolerance))
            return found[None]

        found, doubt = smooth_sum(values, panels, self.sure / self.scale, one=True)
        if not np.isfinite(found[0]):
            raise NotFollowed
        return float(found[0]), doubt, float((changes / asked) @ lengths)
