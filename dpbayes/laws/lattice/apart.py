"""Clamped noise where counts are far from each other and from 0, beside empty categories alike.

Then it is certain who pays: the largest counts first, and after all of them the empty categories
that ended above the level. What these add does not depend on the level, and how far all others are
below it does not depend on the power: products of matrices give all levels at once.
Book: `thm-clamped`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice import sizes
from dpbayes.laws.lattice.below_level import Lower
from dpbayes.laws.lattice.circles import (
    BEYOND,
    TILTS,
    Circle,
    Nodes,
    fewest_nodes,
    log_bound,
    lossless,
)
from dpbayes.laws.lattice.fewer_nodes import (
    MOST_CAREFUL,
    Parts,
    added,
    climb,
    doublings,
    kept_turns,
    ladder,
    rounded,
)
from dpbayes.laws.lattice.long_prefixes import prefixes
from dpbayes.laws.lattice.panel_polynomials import times
from dpbayes.laws.lattice.prefixes import Category
from dpbayes.laws.lattice.shortening import largest
from dpbayes.laws.lattice.smooth_sums import asked_for, smooth_sum, straight_sum
from dpbayes.laws.lattice.survivors import survivors_at

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_PART = 0.1  # of what may be in doubt for each of what is left out
_TOLERATED = 3.0  # times that, of nodes that were enough at another level
_FIRST = 6  # times 1 / epsilon: levels of the first panel; each next one is twice as long
_AT_ONCE = 1024  # nodes
_ROUNDING = 2e-15

LARGEST_DOUBT = 1e-11
"""Largest probability of counts out of order, which is added to the error."""


@dataclass(frozen=True)
class Apart:
    """Counts in falling order, far from each other and from 0, and empty categories alike.

    Noise leaves them in this order, but for the probability `outside`. At each level the
    probability `sure` may be in doubt for each of several reasons, and from level `last` on no
    more than that is left. Weights are to be multiplied by `scale`.
    """

    full: Sequence[Category]
    empty: Category
    epsilon: float
    last: int
    sure: float
    scale: float
    lower: Lower
    outside: float = 0.0

    def moment(self, exponent: float) -> tuple[float, float]:
        """Return E[BC^exponent; clamped] for an exponent > 0, and its estimated error."""
        power, panels = _Power(self, exponent), self._panels
        power.begin(asked_for(panels))
        allowed = _PART * self.sure / self.scale * self.last
        found, doubt = smooth_sum(power.at, panels, allowed, one=True, costly=True)
        error = self.outside + self.sure + power.error() + doubt * self.scale
        return float(found[0]) * self.scale, error

    @property
    def _panels(self) -> list[tuple[int, int]]:
        ends, length = [0], max(1, int(_FIRST / (self.epsilon * self.lower.full)))
        while ends[-1] < self.last:
            ends.append(min(ends[-1] + length, self.last))
            length *= 2
        return list(pairwise(ends))


class _Power:
    """The sums at all levels for one power."""

    def __init__(self, apart: Apart, exponent: float) -> None:
        self.apart, self.exponent = apart, exponent
        self.lower, self.rho = apart.lower, apart.lower.rho
        self.lower.start(exponent)
        self.every = [(q, e) for q in range(self.lower.copies) for e in range(q + 1)]
        self.terms = self.every
        self.alias = _PART * apart.sure
        self.values: dict[int, float] = {}
        self.errors: dict[int, float] = {}

    @property
    def span(self) -> int:
        """So many nodes read the released records exactly."""
        full, empty = self.apart.full, self.apart.empty
        return sum(one.last - one.first for one in full) + self.lower.copies * (empty.last + 1) + 1

    def begin(self, levels: Whole) -> None:
        """Choose a circle that reads all of these levels, and read them."""
        tilts = Nodes.positive(-np.log(self.rho) * TILTS)
        self._add_lower(levels)
        with np.errstate(over="ignore", invalid="ignore"):
            bounds = self._totals(levels, tilts) * self.apart.scale
            whole = log_bound(bounds.sum(axis=0))
        near = lossless(np.where(BEYOND, np.inf, whole))
        highest = log_bound(bounds).max(axis=0)
        best = fewest_nodes(highest, tilts.log_radius, self.span, self.alias, near)
        self.circle = Circle(best.log_radius, rounded(best.nodes))
        self.dropped = self._drop(levels, Nodes.positive(np.array([best.log_radius])))
        self.times = doublings(self.circle.nodes)
        self._read(levels)

    def at(self, levels: Whole) -> Floats:
        """Return the sums at some levels, shape (1, levels)."""
        fresh = levels[[t not in self.values for t in levels.tolist()]]
        if fresh.size:
            self._add_lower(fresh)
            self._read(fresh)
        return np.array([[self.values[t] for t in levels.tolist()]])

    def error(self) -> float:
        """Return the sum of the errors at all levels."""
        return straight_sum(self.errors, 0, self.apart.last)

    def _read(self, levels: Whole) -> None:
        allowed = self.alias / self.apart.scale
        while True:
            whole = self.circle.nodes
            turns = kept_turns(whole // 2 + 1, MOST_CAREFUL, self.times)
            nodes = Nodes(np.array([self.circle.log_radius]), turns, whole)
            rules = ladder(whole, turns, self.times)
            parts = self._parts(levels, nodes, added(rules))
            found, changes, _ = climb(parts, levels.size, rules, allowed)
            if not self.times or changes.max() <= _TOLERATED * allowed:
                break
            self.times -= 1
        most = self._totals(levels, Nodes.positive(np.array([self.circle.log_radius])))[:, 0]
        errors = np.maximum(changes, allowed) + _ROUNDING * most
        errors = errors * self.apart.scale + 2.0 * self.alias + self.dropped
        self.values |= dict(zip(levels.tolist(), found.tolist(), strict=True))
        self.errors |= dict(zip(levels.tolist(), errors.tolist(), strict=True))

    def _parts(self, levels: Whole, nodes: Nodes, steps: list[Whole]) -> Parts:
        """Return what the nodes of each rule add to some of the levels."""
        folds = self.circle.folds(nodes.turns) / self.circle.nodes

        def parts(some: Whole, rule: int) -> Floats:
            places = steps[rule]
            return np.asarray(self._totals(levels[some], nodes.at(places)).real * folds[places])

        return parts

    def _drop(self, levels: Whole, node: Nodes) -> float:
        """Leave out terms that add next to nothing at a positive node, and return how little."""
        products, lower = self._products(levels, node), self.lower.at(levels)
        q, e = np.array(self.terms).T
        heights = survivors_at(self.apart.empty, self.exponent, self.rho, node, self.terms)[:, 0]
        none = np.einsum("tqp,pt->qt", lower[..., : self.lower.full], products)
        some = lower[:, q, np.maximum(self.lower.full + e - 1, 0)].T * products[-1]
        most = self.apart.scale * heights * np.where(e[:, None] > 0, some, none[q]).max(axis=1)
        kept, dropped = largest(most, self.alias)
        self.terms = [self.terms[place] for place in kept.tolist()]
        return dropped

    def _add_lower(self, levels: Whole) -> None:
        fresh = levels[[t not in self.lower.known for t in levels.tolist()]]
        if not fresh.size:
            return
        node, full = Nodes.positive(np.zeros(1)), self.lower.full
        products = self._products(fresh, node)
        heights = survivors_at(self.apart.empty, self.exponent, self.rho, node, self.every)
        for place, level in enumerate(fresh.tolist()):
            weights = np.zeros((self.lower.copies, full + self.lower.copies - 1))
            for (q, e), (height,) in zip(self.every, heights, strict=True):
                if e:
                    weights[q, full + e - 1] = height * products[-1, place]
                else:
                    weights[q, :full] = height * products[:, place]
            self.lower.add(level, weights, self.alias, self.apart.scale)

    def _kept_and_paid(
        self, category: Category, levels: Whole, nodes: Nodes
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the sums of a full category that does not pay, and of one that does."""
        total = sum(one.count for one in self.apart.full)
        sums = prefixes(category, self.exponent, self.rho, nodes, (0, self.apart.last), total)
        kept, paid = sums.lowered(levels), sums.lowered(levels + 1)
        kept *= (self.rho**levels)[:, None]
        paid *= (self.rho ** (levels + 1.0))[:, None]
        return kept, paid

    def _products(self, levels: Whole, node: Nodes) -> Floats:
        """Return the products over all full categories if the first 1, 2, ... of them pay.

        Shape (full, levels), for one positive node.
        """
        each = [self._kept_and_paid(one, levels, node) for one in self.apart.full]
        kept, paid = (np.array(some)[..., 0] for some in zip(*each, strict=True))
        after = np.cumprod(np.append(kept[1:], np.ones_like(kept[:1]), axis=0)[::-1], axis=0)
        return np.asarray(np.cumprod(paid, axis=0) * after[::-1])

    def _totals(self, levels: Whole, nodes: Nodes) -> NDArray[Any]:
        """Return what each node adds to the sum at each level, all terms together."""
        parts = [
            self._sum(levels, nodes.at(slice(first, first + _AT_ONCE)))
            for first in range(0, nodes.size, _AT_ONCE)
        ]
        return np.asarray(np.concatenate(parts, axis=1))

    def _sum(self, levels: Whole, nodes: Nodes) -> NDArray[Any]:
        lower, full = self.lower.at(levels), self.lower.full
        heights = survivors_at(self.apart.empty, self.exponent, self.rho, nodes, self.terms)
        q, e = np.array(self.terms).T
        none, some = np.flatnonzero(e == 0), np.flatnonzero(e > 0)
        # The first ones pay: those that stopped paying before go on, and so do those that pay.
        total: NDArray[Any] = np.zeros((levels.size, nodes.size), dtype=heights.dtype)
        paying: NDArray[Any] = np.ones_like(total)
        for place, category in enumerate(self.apart.full):
            kept, paid = self._kept_and_paid(category, levels, nodes)
            total *= kept
            paying *= paid
            total += paying * times(lower[:, q[none], place], heights[none])
        total += paying * times(lower[:, q[some], full + e[some] - 1], heights[some])
        return total


def order_in_doubt(prior: Floats, counts: Whole, epsilon: float) -> float:
    """Return a bound on the probability that noise leaves counts out of order, or clamps one.

    It is 1 unless some counts are 0, and these alike. Others in order are not clamped: who is above
    the level that such a one stays below has won more than it, by its true count at least.

    >>> counts = np.array([0, 80, 0, 160])
    >>> order_in_doubt(np.ones(4), counts, 1.0) < 1e-11
    True
    >>> order_in_doubt(np.array([1.0, 1.0, 2.0, 1.0]), counts, 1.0)
    1.0
    """
    empty = counts == 0
    if not empty.any() or empty.all() or np.unique(prior[empty]).size > 1:
        return 1.0
    gap = int(np.diff(np.append(0, np.sort(counts[~empty]))).min())
    return sizes.out_of_order(counts.size, epsilon, gap)
