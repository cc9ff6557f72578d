"""Sum-zero noise on two to four counts of any size: all outputs, summed by panels.

One to three numbers describe an output, and probability and distance are smooth in them but for
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
from dpbayes.laws.rows import Floats, Rows, Whole

LARGEST_K = 4
"""So many categories are summed directly."""

_NODES = (17, 21, 25)  # of a panel
_SURE = 1e-9
_ROUNDING = 1e-12
_NOTHING = 40.0
_LARGEST_TABLE = 1 << 19  # log-affinities of one category that are kept

Values = Callable[[Floats], Floats]


@dataclass(frozen=True)
class FewCategories:
    """The law of lattice noise with the nearest histogram (l2) at these counts, shape (k,).

    k is 2, 3 or 4, and there are at least k records.

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

        The error adds what each panel's polynomial leaves in doubt and what the probabilities of
        clamped outputs miss of that of being clamped. While it is more than 1e-9, more nodes are
        taken.
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

        inner = self._scale * _added(self._unclamped(below), 1)
        rest = self._scale * _added(self._clamped(below), 2)
        missing = abs(sizes.probability_clamped(self.counts, self.epsilon) - rest[0, 1])
        value = 1.0 - self._scale - inner[0, 0] - rest[0, 0]
        error = inner[1, 0] + rest[1].sum() + missing + _ROUNDING
        return Estimate(value, error, "quadrature")

    @property
    def clamped(self) -> float:
        """Probability that the noise makes some count negative."""
        return float(_added(self._clamped(np.zeros_like), 2)[0, 1] * self._scale)

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
        """For each category one less than the first released count that matters, and ln BC from it.

        Beyond either end of a table ln BC is -infinity. Long tables are empty.
        """
        found = []
        for one, (count, (down, up)) in enumerate(
            zip(self.counts.tolist(), self._far, strict=True)
        ):
            table = np.zeros(0)
            if down + up < _LARGEST_TABLE:
                near = self._log_of(one, np.arange(count - down, count + up + 1))
                table = np.concatenate(([-np.inf], near, [-np.inf]))
            found.append((count - down - 1, table))
        return found

    def _logs(self, one: int, released: Whole) -> Floats:
        before, table = self._tables[one]
        if not table.size:
            return self._log_of(one, released)
        return table.take(released - before, mode="clip")

    def _log_of(self, one: int, released: Whole) -> Floats:
        return affinity_of_counts(self.prior[one], int(self.counts[one]), released)

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
                yield self._moved(
                    values, losers, winners, np.zeros(1, dtype=np.int64), np.zeros(1)
                )[:, :, 0]

    def _moved(
        self,
        values: Values,
        losers: Sequence[int],
        winners: Sequence[int],
        size: Whole,
        logs: Floats,
    ) -> Floats:
        """Sum over what these lose and win where others lost `size` more records than they won.

        The others add `logs` to ln BC. Both have shape (m,), the sums (2, 1, m).
        """
        if len(losers) + len(winners) == 2:
            return self._last(values, losers, winners, size, logs)
        if losers:
            one, rows = losers[0], self._lost(losers[0], logs)
        else:
            one = winners[0]
            others = sum(self._far[i][1] for i in winners[1:])
            rows = self._won(one, size, others, logs)

        def inner(owner: Whole, place: Whole) -> Floats:
            lost = place if losers else -place
            left = logs[owner] + self._logs(one, self.counts[one] - lost)
            rest = losers[1:], winners if losers else winners[1:]
            found = self._moved(values, *rest, size[owner] + lost, left)
            return found * self._decay(place) if losers else found

        return rows.sums_of_sums(inner)

    def _last(
        self,
        values: Values,
        losers: Sequence[int],
        winners: Sequence[int],
        size: Whole,
        logs: Floats,
    ) -> Floats:
        """Return the same where two numbers are left, which differ by `size` or add up to it."""
        j = winners[-1]
        i, sign = (losers[0], -1) if losers else (winners[0], 1)
        rows = self._lost(i, logs) if losers else self._won(i, size, self._far[j][1], logs)

        def terms(owner: Whole, place: Whole) -> tuple[Floats, ...]:
            place = sign * place
            found = self._logs(i, self.counts[i] + place)
            found += self._logs(j, (self.counts[j] + size[owner]) - place)
            found += logs[owner]
            return (values(found) * self._decay(-place) if losers else values(found),)

        return rows.sums(terms)

    def _lost(self, one: int, logs: Floats) -> Rows:
        """Return rows for the records that a category may lose, from 1 on."""
        last = min(self._far[one][0], self._landings.reach)
        return self._rows(np.ones(logs.size, dtype=np.int64), np.full(logs.size, last), logs)

    def _won(self, one: int, size: Whole, most: int, logs: Floats) -> Rows:
        """Return rows for what a category may win of `size` where others win up to `most`."""
        return self._rows(np.maximum(0, size - most), np.minimum(size, self._far[one][1]), logs)

    def _rows(self, first: Whole, last: Whole, logs: Floats) -> Rows:
        near = self.exponent * logs > -_NOTHING
        ends = np.stack((first, np.where(near, np.maximum(last + 1, first), first)))
        return Rows(ends, np.zeros_like(ends), self._landings.longest, self.nodes)

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
        value = values(log + self._logs(one, all_of_them))
        return np.array([[float(value[0] * weight[0]), float(weight[0])], [0.0, 0.0]])

    def _edge(self, values: Values, kept: Sequence[int], log: float) -> Floats:
        (i, j), n = kept, int(self.counts.sum())
        kinks = [int(self.counts[i]), n - int(self.counts[j]), n // 2]
        rows = self._held(i, np.array([n - 1]), [np.array([m]) for m in kinks], [])

        def terms(_: Whole, held: Whole) -> tuple[Floats, Floats]:
            weights = self._landings.weights(kept, [held, n - held])
            logs = self._logs(i, held) + self._logs(j, n - held) + log
            return values(logs) * weights, weights

        return rows.sums(terms)[:, :, 0]

    def _face(self, values: Values, kept: Sequence[int], log: float) -> Floats:
        (h, i, j), n = kept, int(self.counts.sum())
        a, b, c = (int(self.counts[one]) for one in kept)
        # Where the count of i is at a kink, as a line over the count of h: true counts, equal
        # ones, empty categories, and counts that noise moved alike.
        lines = [(b, 0.0), (n - c, -1.0), (0, 1.0), (n, -2.0), (n / 2, -0.5), (0, 0.0), (n, -1.0)]
        lines += [(b - a, 1.0), (n - c + a, -2.0), ((n - c + b) / 2, -0.5)]
        crossings = {int((v - u) // (p - q)) for (u, p), (v, q) in combinations(lines, 2) if p != q}

        def inner(odd: Whole, half: Whole) -> Floats:
            first = 2 * half + odd
            left, rest = self._logs(h, first) + log, n - first
            kinks = [first, rest - first, rest // 2]
            kinks += [first - a + b, rest - c - first + a, (rest - c + b) // 2]
            truth = [np.full_like(first, b), rest - c]

            def terms(owner: Whole, held: Whole) -> tuple[Floats, Floats]:
                third = rest[owner] - held
                weights = self._landings.weights(kept, [first[owner], held, third])
                logs = left[owner] + self._logs(i, held) + self._logs(j, third)
                return values(logs) * weights, weights

            rows = self._held(i, rest - 1, truth, kinks)
            # Where distances are 1 there are just probabilities, which bend at kinks alone.
            far = np.where(self.exponent * left > -_NOTHING, 0, n)
            return replace(rows, gaps=rows.gaps + far).sums(terms)

        # Equal counts of i and j are twice as probable, and next to each other only where h
        # has an even count, or only where it has an odd one: these are two rows.
        truth = [np.array([m]) for m in (a, n - b - c)]
        outer = self._held(h, np.array([n - 2]), truth, [np.array([m]) for m in sorted(crossings)])
        return np.asarray(outer.of_each_parity().sums_of_sums(inner).sum(axis=2))

    def _held(self, one: int, most: Whole, truth: Sequence[Whole], kinks: Sequence[Whole]) -> Rows:
        """Return rows for 1 to `most` as counts of `one` that noise may bring about.

        Distances bend at the `truth` on ever smaller scales, as they do next to an empty category.
        At other `kinks` two smooth functions meet.
        """
        x, reach = int(self.counts[one]), self._landings.reach
        # A level is never above the reach, so that no count falls by more than that beside it.
        first = np.full_like(most, max(1, x - 2 * reach))
        last = np.maximum(np.minimum(most, x + reach) + 1, first)
        near = [m + e for m in (*truth, *kinks) for e in (-1, 0, 1, 2)]
        ends = np.sort(np.clip(np.stack((first, last, *near)), first, last), axis=0)
        gaps = np.minimum(ends - 1, np.abs(most + 1 - ends))
        for m in truth:
            np.minimum(gaps, np.abs(ends - m), out=gaps)
        return Rows(ends, gaps, self._landings.longest, self._landings.nodes)


def _added(parts: Iterable[Floats], terms: int) -> Floats:
    return np.asarray(sum(parts, start=np.zeros((2, terms))))
