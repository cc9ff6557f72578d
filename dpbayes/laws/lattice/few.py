"""Sum-zero noise on three or four counts of any size: all outputs, summed by panels.

Two or three numbers describe an output, and probability and distance are smooth in them but for
kinks at the true counts, at equal counts and at empty categories. Nothing is transformed, so
neither wide noise nor large counts cost more than longer panels. Book: `thm-few-categories`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.lattice import noise, sizes
from dpbayes.laws.lattice.landings import Landings
from dpbayes.laws.nested import Floats, Whole, inner_sums, outer_sums, single_sums
from dpbayes.laws.panels import Points, range_points

LARGEST_K = 4
"""So many categories are summed directly."""

_NODES = (17, 21, 25)  # of a panel
_SURE = 1e-9
_ROUNDING = 1e-12
_NOTHING = 40.0
_LARGEST_TABLE = 4_000_000  # log-affinities of one category that are kept

Values = Callable[[Floats], Floats]


@dataclass(frozen=True)
class FewCategories:
    """The law of lattice noise with the nearest histogram (l2) at these counts, shape (k,).

    k is 3 or 4, and there are at least k records.

    >>> from dpbayes.divergences import distance_from_log_affinity
    >>> law = FewCategories(np.ones(3), np.array([1_999_990, 10, 0]), 1e-4)
    >>> found = law.mean(distance_from_log_affinity)
    >>> round(found, 6), found.error < 1e-9
    (0.989143, True)
    """

    prior: Floats
    counts: Whole
    epsilon: float
    nodes: int = _NODES[0]
    exponent: float = 1.0

    def mean(self, values: Values, exponent: float = 1.0) -> Estimate:
        """Return E[values(ln BC)] for values that fall from 1 to 0 as BC^exponent rises to 1.

        The error adds what each panel's polynomial leaves in doubt and what all probabilities miss
        of 1. While it is more than 1e-9, more nodes are taken.
        """
        for nodes in _NODES:
            found = replace(self, nodes=nodes, exponent=exponent)._mean(values)
            if found.error <= _SURE:
                break
        return found

    def _mean(self, values: Values) -> Estimate:
        # Far from the truth values are 1: what is below that is summed.
        def below(logs: Floats) -> Floats:
            return 1.0 - values(logs)

        inner, rest = (
            self._scale * _added(self._unclamped(below)),
            self._scale * _added(self._clamped(below)),
        )
        missing = abs(sizes.probability_clamped(self.counts, self.epsilon) - rest[0, 1])
        value = 1.0 - self._scale - inner[0, 0] - rest[0, 0]
        error = inner[1, 0] + rest[1].sum() + missing + _ROUNDING
        return Estimate(value, error, "quadrature")

    @property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        return float(_added(self._clamped(np.zeros_like))[0, 1] * self._scale)

    def probability(self, output: Whole) -> float:
        """Return the probability of one output of n records."""
        weight = float(np.exp(-0.5 * self.epsilon * np.abs(output - self.counts).sum()))
        kept = np.flatnonzero(output).tolist()
        if len(kept) < output.size:
            weight += float(self._landings.weights(kept, [output[j : j + 1] for j in kept])[0])
        return weight * self._scale

    @cached_property
    def _scale(self) -> float:
        return float(np.exp(-noise.log_normaliser(self.counts.size, self.epsilon)))

    @cached_property
    def _landings(self) -> Landings:
        return Landings(self.counts, self.epsilon, self.nodes)

    @cached_property
    def _tables(self) -> list[tuple[int, Floats]]:
        """For each category the first of some released counts, and the ln BC of these."""
        found = []
        for prior, count in zip(self.prior, self.counts.tolist(), strict=True):
            first = max(0, count - self._landings.reach)
            last = count + 3 * self._landings.reach
            short = last - first < _LARGEST_TABLE
            released = np.arange(first, last + 1 if short else first)
            found.append((first, affinity_of_counts(prior, count, released)))
        return found

    def _logs(self, one: int, released: Whole) -> Floats:
        first, table = self._tables[one]
        if table.size:
            return table[released - first]
        return affinity_of_counts(self.prior[one], int(self.counts[one]), released)

    def _lost(self, one: int) -> Points:
        """Return points for the records that a category may lose, from 1 on."""
        return self._points(1, min(self._far[one][0], self._landings.reach))

    def _points(self, first: int, last: int) -> Points:
        return range_points([first, last + 1], self._landings.longest, self._landings.nodes)

    @cached_property
    def _far(self) -> list[tuple[int, int]]:
        """How many records each category loses or wins where BC^exponent is above e^-40."""
        found = []
        for prior, x in zip(self.prior, self.counts.tolist(), strict=True):

            def near(moved: int, prior: float = float(prior), x: int = x) -> bool:
                log = float(affinity_of_counts(prior, x, x + moved))
                return self.exponent * log > -_NOTHING

            down = bisect_left(range(1, x + 1), True, key=lambda lost: not near(-lost))
            up = bisect_left(
                range(1, 3 * self._landings.reach), True, key=lambda won: not near(won)
            )
            found.append((down, up))
        return found

    def _decay(self, size: Whole) -> Floats:
        return np.asarray(np.exp(-self.epsilon * size))

    def _unclamped(self, values: Values) -> Iterator[Floats]:
        """Yield the sums over outputs where just these categories lost records."""
        every = range(self.counts.size)
        for number in every[1:]:
            for losers in combinations(every, number):
                winners = [i for i in every if i not in losers]
                if self.counts.size == 3:
                    yield self._plane(values, losers, winners, 0, 0.0)
                else:
                    yield self._space(values, losers, winners)

    def _space(self, values: Values, losers: Sequence[int], winners: Sequence[int]) -> Floats:
        one, lost = losers[0], self._lost(losers[0])
        left = self._logs(one, self.counts[one] - lost.places)
        rows = [
            self._plane(values, losers[1:], winners, size, log)
            for size, log in zip(lost.places.tolist(), left.tolist(), strict=True)
        ]
        both = np.array(rows).reshape(-1, 2, 2).transpose(1, 2, 0)
        return outer_sums(lost, self._decay(lost.places), both)

    def _plane(
        self,
        values: Values,
        losers: Sequence[int],
        winners: Sequence[int],
        size: int,
        log: float,
    ) -> Floats:
        """Sum over two numbers where another category lost `size` records, and `log` in ln BC."""
        if not losers:
            return self._won(values, winners, size, log)
        one, lost = losers[0], self._lost(losers[0])
        left = self._logs(one, self.counts[one] - lost.places) + log
        x = self.counts
        if len(losers) == 1:
            i, j = winners
            inner = [self._shared(i, j, size + c) for c in lost.places.tolist()]
        else:
            i, j = losers[1], winners[0]
            inner = [self._lost(i)] * lost.places.size

        def won(owner: Whole, place: Whole) -> tuple[Floats, Floats]:
            logs = self._logs(i, x[i] + place)
            logs += self._logs(j, x[j] + (size + lost.places[owner] - place))
            logs += left[owner]
            return values(logs), np.ones(logs.size)

        def gone(owner: Whole, place: Whole) -> tuple[Floats, Floats]:
            logs = self._logs(i, x[i] - place)
            logs += self._logs(j, x[j] + (size + lost.places[owner] + place))
            logs += left[owner]
            weights = self._decay(place)
            return values(logs) * weights, weights

        rows = inner_sums(inner, won if len(losers) == 1 else gone)
        return outer_sums(lost, self._decay(lost.places), rows)

    def _won(self, values: Values, winners: Sequence[int], size: int, log: float) -> Floats:
        (h, i, j), x = winners, self.counts
        most = [self._far[one][1] for one in winners]
        outer = self._points(max(0, size - most[1] - most[2]), min(size, most[0]))
        left = self._logs(h, x[h] + outer.places) + log

        def terms(owner: Whole, won: Whole) -> tuple[Floats, Floats]:
            logs = self._logs(i, x[i] + won)
            logs += self._logs(j, x[j] + (size - outer.places[owner] - won))
            logs += left[owner]
            return values(logs), np.ones(logs.size)

        inner = [self._shared(i, j, size - a) for a in outer.places.tolist()]
        return outer_sums(outer, np.ones(outer.places.size), inner_sums(inner, terms))

    def _shared(self, i: int, j: int, size: int) -> Points:
        """Return points for what i wins where i and j together win `size`, which is in reach."""
        return self._points(max(0, size - self._far[j][1]), min(size, self._far[i][1]))

    def _clamped(self, values: Values) -> Iterator[Floats]:
        """Yield the sums over clamped noise that leaves records in just these categories."""
        every = range(self.counts.size)
        for number in every[1:]:
            for kept in combinations(every, number):
                empty = [i for i in every if i not in kept]
                if self.counts[empty].sum() > self._landings.reach:
                    continue
                log = sum(float(self._logs(i, np.zeros(1, dtype=np.int64))[0]) for i in empty)
                if number == 1:
                    yield self._corner(values, kept[0], log)
                elif number == 2:
                    yield self._edge(values, kept, log)
                else:
                    yield self._face(values, kept, log)

    def _corner(self, values: Values, one: int, log: float) -> Floats:
        all_of_them = np.array([self.counts.sum()])
        weight = self._landings.weights([one], [all_of_them])
        value = values(log + self._log_of(one, all_of_them))
        return np.array([[float(value[0] * weight[0]), float(weight[0])], [0.0, 0.0]])

    def _log_of(self, one: int, released: Whole) -> Floats:
        # Counts of outputs with empty categories may lie beyond the tables.
        return affinity_of_counts(self.prior[one], int(self.counts[one]), released)

    def _edge(self, values: Values, kept: Sequence[int], log: float) -> Floats:
        (i, j), n = kept, int(self.counts.sum())
        points = self._held(i, n - 1, (int(self.counts[i]), n - int(self.counts[j]), n // 2))
        held = points.places
        if not held.size:
            return np.zeros((2, 2))
        logs = self._log_of(i, held) + self._log_of(j, n - held) + log
        return single_sums(points, self._landings.weights(kept, [held, n - held]), values(logs))

    def _held(self, one: int, most: int, kinks: Iterable[int]) -> Points:
        """Return points for 1 to `most` as counts of `one` that noise may bring about."""
        x, reach = int(self.counts[one]), self._landings.reach
        # A level is never above the reach, so that no count falls by more than that beside it.
        first, last = max(1, x - 2 * reach), min(most, x + reach) + 1
        near = [m + e for m in kinks for e in (-1, 0, 1, 2)]
        ends = sorted({first, last, *(m for m in near if first < m < last)})
        return range_points(
            ends if last > first else [], self._landings.longest, self._landings.nodes
        )

    def _face(self, values: Values, kept: Sequence[int], log: float) -> Floats:
        (h, i, j), n = kept, int(self.counts.sum())
        a, b, c = (int(self.counts[one]) for one in kept)
        # Where the count of i is at a kink, as a line over the count of h.
        lines = [(b, 0.0), (n - c, -1.0), (0, 1.0), (n, -2.0), (n / 2, -0.5), (0, 0.0), (n, -1.0)]
        crossings = [int((v - u) // (p - q)) for (u, p), (v, q) in combinations(lines, 2) if p != q]
        outer = self._held(h, n - 2, {a, *crossings})
        if not outer.places.size:
            return np.zeros((2, 2))
        inner = [
            self._held(i, n - m - 1, {b, n - m - c, m, n - 2 * m, (n - m) // 2})
            for m in outer.places.tolist()
        ]
        left = self._log_of(h, outer.places) + log

        def terms(owner: Whole, held: Whole) -> tuple[Floats, Floats]:
            first = outer.places[owner]
            third = n - first - held
            weights = self._landings.weights(kept, [first, held, third])
            logs = left[owner] + self._log_of(i, held) + self._log_of(j, third)
            return values(logs) * weights, weights

        return outer_sums(outer, np.ones(outer.places.size), inner_sums(inner, terms))


def _added(parts: Iterable[Floats]) -> Floats:
    return np.asarray(sum(parts, start=np.zeros((2, 2))))
