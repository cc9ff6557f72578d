"""Independent noise on all counts but the last, of two or three: all outputs, summed by panels.

Of three, two released counts give the third and the total, and probability and distance are smooth
in both but for kinks where noise begins, at all true counts and where the last category runs empty.
So noise may reach over millions of counts. Book: `thm-product-law`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.nested import Floats, Whole, inner_sums, outer_sums
from dpbayes.laws.panels import Points, range_points

_ROUNDING = 1e-12
_NODES = (17, 21, 25)
_SURE = 1e-9
_LONGEST = 6.0  # times the scale of the noise: how far one polynomial follows it
_LARGEST_PANEL = 1 << 40
_FAR = 2.0**60
_ROUND = 4.0  # a strip of this width is e^-25 of an error
_FEW_CROSSED = 4
_LOOKED_AT = 100_000

Values = Callable[[Floats], Floats]


class OneCount(Protocol):
    """The distribution of one released count: probabilities from `start` on."""

    @property
    def start(self) -> int:
        """The least count listed."""
        ...

    @property
    def stop(self) -> int:
        """One more than the largest."""
        ...

    @property
    def log_probabilities(self) -> Floats:
        """Logarithms of the probabilities of all counts between."""
        ...


@dataclass(frozen=True)
class PanelledProduct:
    """The law of one or two released counts, independent of each other, and of what is left of n.

    `prior` and `counts` have shape (2,) or (3,).
    """

    MOST: ClassVar[int] = 3
    """So many categories at most."""

    prior: Floats
    counts: Whole
    marginals: Sequence[OneCount]

    @property
    def smooth(self) -> bool:
        """Whether sums over the second count are smooth in the first.

        Where the total is above n, ln BC is close to -c - e^2 / (8 y), with e the distance from the
        line of `_alike` counts y and c what the emptied last category costs. If c is next to 0 the
        root has a cusp there, and a sum over whole numbers sees on which side of one the line runs.
        It does not if 8 c y is large, and it is seen if the line crosses few whole numbers. With
        one released count there is no such line: nothing is above n.
        """
        if self.counts.size == 2:
            return True
        emptied = -float(self._logs(2, np.zeros(1, dtype=np.int64))[0])
        least = float((self.counts + self.prior)[:2].min())
        crossed = self._alike(self.marginals[0].stop) - int(self.counts[1])
        return 8.0 * emptied * least >= _ROUND**2 or crossed <= _FEW_CROSSED

    def mean(self, values: Values) -> tuple[float, float]:
        """Return E[values(ln BC)] for values from 0 to 1, and what is in doubt.

        In doubt is what each panel's polynomial leaves, and what all probabilities miss of 1. While
        that is more than 1e-9, more nodes are taken.
        """
        for nodes in _NODES:
            (value, mass), (doubt, unsure) = self._sums(values, nodes)
            error = float(doubt + unsure + abs(1.0 - mass)) + _ROUNDING
            if error <= _SURE:
                break
        return float(value), error

    def _sums(self, values: Values, nodes: int) -> NDArray[np.float64]:
        if self.counts.size == 2:
            return self._sums_of_one(values, nodes)
        first, second = self.marginals
        x, y, n = int(self.counts[0]), int(self.counts[1]), int(self.counts.sum())
        # Where the kinks of the second count cross each other or an end of its range.
        crossings = [
            end
            for m in (second.start, second.stop - 1)
            for end in (n - m, x + y - m, self._unlike(m))
        ]
        outer = self._points(first, {x, n - y, n, *crossings}, nodes)
        inner = [
            self._points(second, {y, n - r, x + y - r, self._alike(r)}, nodes)
            for r in outer.places.tolist()
        ]
        held = self._logs(0, outer.places)
        chances = np.exp(second.log_probabilities)

        def terms(owner: Whole, released: Whole) -> tuple[Floats, Floats]:
            total = outer.places[owner] + released
            logs = held[owner] + self._logs(1, released) + self._logs(2, np.maximum(n - total, 0))
            above = total > n
            if above.any():
                logs[above] -= affinity_of_counts(float(self.prior.sum()), n, total[above])
            weights = chances[released - second.start]
            return values(np.minimum(logs, 0.0)) * weights, weights

        own = np.exp(first.log_probabilities[outer.places - first.start])
        return outer_sums(outer, own, inner_sums(inner, terms))

    def _sums_of_one(self, values: Values, nodes: int) -> NDArray[np.float64]:
        (first,) = self.marginals
        points = self._points(first, {int(self.counts[0])}, nodes)
        logs = self._logs(0, points.places)
        logs += self._logs(1, int(self.counts.sum()) - points.places)
        own = np.exp(first.log_probabilities[points.places - first.start])
        rows = np.zeros((2, 2, own.size))
        rows[0] = np.stack((values(np.minimum(logs, 0.0)), np.ones(own.size)))
        return outer_sums(points, own, rows)

    def _alike(self, first: int) -> int:
        """Return the second count that has to the first the proportion of the true ones.

        Where the last category is empty the posteriors are alike along this line, however large
        their total.
        """
        (x, y), (a, b) = self.counts[:2] + self.prior[:2], self.prior[:2]
        return int(min(max((first + a) * (y / x) - b, 0.0), _FAR))

    def _unlike(self, second: int) -> int:
        """Return the first count for which `_alike` is the second."""
        (x, y), (a, b) = self.counts[:2] + self.prior[:2], self.prior[:2]
        return int(min(max((second + b) * (x / y) - a, 0.0), _FAR))

    def _points(self, one: OneCount, kinks: set[int], nodes: int) -> Points:
        ends = {one.start, one.start + 1, one.stop - 1, one.stop}
        near = {kink + e for kink in kinks for e in (0, 1)}
        ends |= {place for place in near if one.start < place < one.stop}
        return range_points(sorted(ends), self._longest, nodes)

    @cached_property
    def _longest(self) -> int:
        # The noise falls by the same share a step, but for its ends and its middle.
        falls = [_falls(one.log_probabilities) for one in self.marginals]
        rate = max(float(np.median(fall)) if fall.size else 0.0 for fall in falls)
        return 1 << int(np.log2(min(max(_LONGEST / max(rate, 1e-300), 16.0), _LARGEST_PANEL)))

    def _logs(self, one: int, released: Whole) -> Floats:
        return affinity_of_counts(self.prior[one], int(self.counts[one]), released)


def _falls(logs: Floats) -> Floats:
    """Return how much these fall or rise from a number to the next, at many places."""
    step = max(1, logs.size // _LOOKED_AT)
    return np.abs(logs[1::step] - logs[:-1:step])
