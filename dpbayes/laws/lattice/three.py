"""Sum-zero noise on three counts of any size: all outputs, summed by panels.

Two numbers describe an output, and probability and distance are smooth in both but for kinks at the
true counts, at equal counts and at empty categories. Nothing is transformed, so neither wide noise
nor large counts cost more than longer panels. Book: `thm-three-categories`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.lattice.panels import Points, graded, range_points

_TAIL = 42.0  # noise beyond so many times 1 / epsilon has probability below e^-37
_LONGEST = 4.0  # times 1 / epsilon: how far one polynomial follows the noise
_AT_ONCE = 1 << 16
_ROUNDING = 1e-12

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Values = Callable[[Floats], Floats]


@dataclass(frozen=True)
class ThreeCategories:
    """The law of lattice noise with the nearest histogram (l2) at these counts, shape (3,).

    >>> from dpbayes.divergences import distance_from_log_affinity
    >>> law = ThreeCategories(np.ones(3), np.array([1_999_990, 10, 0]), 1e-4)
    >>> found = law.mean(distance_from_log_affinity)
    >>> round(found, 6), found.error < 1e-9
    (0.989143, True)
    """

    prior: Floats
    counts: Whole
    epsilon: float

    def mean(self, values: Values) -> Estimate:
        """Return E[values(ln BC)] for values from 0 to 1.

        The error adds what each panel's polynomial leaves in doubt and what all probabilities miss
        of 1.
        """
        parts = [np.array([[float(values(np.zeros(1))[0]), 1.0], [0.0, 0.0]])]
        for one in range(3):
            parts += [self._falls(one, values), self._rises(one, values)]
            parts += [self._edge(one, values), self._corner(one, values)]
        (value, mass), (doubt, unsure) = np.sum(parts, axis=0) / self._normaliser
        return Estimate(value, doubt + unsure + abs(1.0 - mass) + _ROUNDING, "quadrature")

    @property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        parts = [
            part(one, np.zeros_like) for one in range(3) for part in (self._edge, self._corner)
        ]
        return float(np.sum(parts, axis=0)[0, 1] / self._normaliser)

    def probability(self, output: Whole) -> float:
        """Return the probability of one output of n records."""
        total = float(np.exp(-0.5 * self.epsilon * np.abs(output - self.counts).sum()))
        empty = np.flatnonzero(output == 0)
        if empty.size == 1:
            one = int(empty[0])
            total += float(self._to_edge(one, output[_others(one)[:1]])[0])
        elif empty.size == 2:
            one = int(np.argmax(output))
            points = self._shortfalls(one)
            total += float(points.weights @ self._to_corner(one, points.places))
        return total / self._normaliser

    @property
    def _normaliser(self) -> float:
        # 6 m vectors have positive part m >= 1.
        return float(1.0 + 6.0 * np.exp(-self.epsilon) / np.expm1(-self.epsilon) ** 2)

    @cached_property
    def _reach(self) -> int:
        return int(np.ceil(_TAIL / self.epsilon)) + 1

    @cached_property
    def _longest(self) -> int:
        return 1 << max(4, int(np.log2(_LONGEST / self.epsilon)))

    def _logs(self, one: int, released: Whole) -> Floats:
        return affinity_of_counts(self.prior[one], int(self.counts[one]), released)

    def _lost(self, one: int) -> Points:
        """Return points for the records that a category may lose, from 1 on."""
        return range_points([1, min(int(self.counts[one]), self._reach) + 1], self._longest)

    def _decay(self, size: Whole) -> Floats:
        return np.asarray(np.exp(-self.epsilon * size))

    def _falls(self, one: int, values: Values) -> Floats:
        """Sum over outputs where category `one` lost c >= 1 records and no other lost any."""
        (i, j), lost = _others(one), self._lost(one)
        left = self._logs(one, self.counts[one] - lost.places)

        def logs(owner: Whole, won: Whole) -> Floats:
            other = lost.places[owner] - won
            return self._logs(i, self.counts[i] + won) + self._logs(j, self.counts[j] + other)

        inner = [graded(c + 1, self._longest) for c in lost.places.tolist()]
        rows = _inner_sums(
            inner, lambda owner, won: (values(logs(owner, won) + left[owner]), np.ones(won.size))
        )
        return _outer_sums(lost, self._decay(lost.places), rows)

    def _rises(self, one: int, values: Values) -> Floats:
        """Sum over outputs where both other categories lost at least one record."""
        i, j = _others(one)
        first, second = self._lost(i), self._lost(j)
        left = self._logs(i, self.counts[i] - first.places)

        def both(owner: Whole, lost: Whole) -> tuple[Floats, Floats]:
            logs = self._logs(one, self.counts[one] + first.places[owner] + lost)
            logs += left[owner]
            logs += self._logs(j, self.counts[j] - lost)
            weights = self._decay(lost)
            return values(logs) * weights, weights

        rows = _inner_sums([second] * first.places.size, both)
        return _outer_sums(first, self._decay(first.places), rows)

    def _edge(self, one: int, values: Values) -> Floats:
        """Sum over outputs in which clamped noise leaves `one`, and it alone, without records."""
        (i, j), n, x = _others(one), int(self.counts.sum()), self.counts
        if x[one] > self._reach:
            return np.zeros((2, 2))
        # No noisy count is further from the true one than the reach, and t is no larger.
        first = max(1, int(x[i]) - 2 * self._reach, n - int(x[j]) - self._reach)
        last = max(first, min(n, int(x[i]) + self._reach))
        near = [m + e for m in (int(x[i]), n - int(x[j]), n // 2) for e in (-1, 0, 1, 2)]
        ends = sorted({first, last, *(m for m in near if first < m < last)})
        points = range_points(ends, self._longest)
        held = points.places
        logs = self._logs(i, held) + self._logs(j, n - held)
        logs += self._logs(one, np.zeros(1, dtype=np.int64))
        return _single_sums(points, self._to_edge(one, held), values(logs))

    def _to_edge(self, one: int, held: Whole) -> Floats:
        """Return the weight of clamped noise that ends at `held` and n - `held`, not normalised.

        Where the noisy count of `one` is -(2 t + e), both others pay t, and if e = 1 the larger of
        them, or the earlier of two equal ones, pays one more.
        """
        (i, j), n, x = _others(one), int(self.counts.sum()), self.counts
        over, rest = held - x[i], n - held - x[j]
        first_pays = 2 * held + (i < j) > n - 1
        other_pays = 2 * (n - held) + (j < i) > n - 1
        total = self._paid(one, over, rest, 0, 1)
        total += np.where(first_pays, self._paid(one, over + 1, rest, 1, 0), 0.0)
        total += np.where(other_pays, self._paid(one, over, rest + 1, 1, 0), 0.0)
        return total

    def _paid(self, one: int, over: Whole, rest: Whole, odd: int, first: int) -> Floats:
        """Return the sum over t >= first of rho^(x + 2t + odd + |over + t| + |rest + t|)."""
        half, x = 0.5 * self.epsilon, int(self.counts[one])
        # over + rest = x + odd >= 0: one of them may be negative, up to t = turn.
        turn = np.maximum(-np.minimum(over, rest), first)
        apart = np.exp(-half * (x + odd + 2 * first + np.abs(over - rest)))
        apart *= np.expm1(-self.epsilon * (turn - first)) / np.expm1(-self.epsilon)
        beyond = np.exp(-half * (x + odd + over + rest + 4.0 * turn))
        return np.asarray(apart - beyond / np.expm1(-2.0 * self.epsilon))

    def _corner(self, one: int, values: Values) -> Floats:
        """Sum over clamped noise that leaves records in `one` alone."""
        (i, j), n = _others(one), self.counts.sum()
        none = np.zeros(1, dtype=np.int64)
        logs = self._logs(i, none) + self._logs(j, none) + self._logs(one, np.array([n]))
        points = self._shortfalls(one)
        weights = self._to_corner(one, points.places)
        return _single_sums(points, weights, np.broadcast_to(values(logs), weights.shape))

    def _shortfalls(self, one: int) -> Points:
        kinks = (int(self.counts[i]) + e for i in _others(one) for e in (0, 1))
        last = self._reach + 2
        return range_points(sorted({1, last, *(v for v in kinks if 1 < v < last)}), self._longest)

    def _to_corner(self, one: int, short: Whole) -> Floats:
        """Return the weight of noise with n + `short` in `one`, and all of it is paid there.

        The others are short of that together, and neither is above it.
        """
        a, b = (int(self.counts[i]) for i in _others(one))
        number = np.minimum(short, a) + short + np.minimum(short, b) + 1.0
        for held in (a, b):
            beyond = np.maximum(short - held, 0)
            number += np.expm1(-self.epsilon * beyond) / -np.expm1(self.epsilon)
        return np.asarray(number * self._decay(a + b + short))


def _others(one: int) -> list[int]:
    return [i for i in range(3) if i != one]


def _inner_sums(
    inner: Sequence[Points], terms: Callable[[Whole, Whole], tuple[Floats, Floats]]
) -> Floats:
    """Return for each of the outer points the sums of both terms, and their doubts: (2, 2, m)."""
    found = np.zeros((2, 2, len(inner)))
    for some in _batches([points.places.size for points in inner]):
        parts = inner[some]
        sizes = np.array([points.places.size for points in parts])
        panels = np.array([points.starts.size for points in parts])
        offsets = np.cumsum(sizes) - sizes
        owner = np.repeat(np.arange(some.start, some.stop), sizes)
        starts = np.concatenate([points.starts for points in parts]) + np.repeat(offsets, panels)
        weights, lower = (
            np.concatenate([getattr(points, name) for points in parts])
            for name in ("weights", "lower")
        )
        both = np.stack(terms(owner, np.concatenate([points.places for points in parts])))
        found[0, :, some] = np.add.reduceat(both * weights, offsets, axis=1)
        doubts = np.abs(np.add.reduceat(both * lower, starts, axis=1))
        found[1, :, some] = np.add.reduceat(doubts, np.cumsum(panels) - panels, axis=1)
    return found


def _batches(sizes: Sequence[int]) -> Iterator[slice]:
    start, held = 0, 0
    for place, size in enumerate(sizes):
        if held and held + size > _AT_ONCE:
            yield slice(start, place)
            start, held = place, 0
        held += size
    if held:
        yield slice(start, len(sizes))


def _outer_sums(points: Points, weights: Floats, rows: Floats) -> Floats:
    """Return the sums over the outer points, and what is in doubt, of both terms: (2, 2)."""
    if not points.places.size:
        return np.zeros((2, 2))
    sums, doubts = rows * weights
    panels = np.abs(np.add.reduceat(sums * points.lower, points.starts, axis=1)).sum(axis=1)
    return np.stack((sums @ points.weights, panels + doubts @ np.abs(points.weights)))


def _single_sums(points: Points, weights: Floats, values: Floats) -> Floats:
    both = np.stack((values, np.ones_like(values)))
    return _outer_sums(points, weights, np.stack((both, np.zeros_like(both))))
