"""Audits of exponential mechanisms by permutation classes, with tables that all data sets share.

With one prior parameter for all categories, renaming the categories of both data sets and of the
output changes no probability. So one pair of each class is enough: the larger data set sorted, and
one record moved from the first of equal counts to the last of equal counts. Book: `thm-classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.auditing.losses import Witness
from dpbayes.auditing.rows import Rows, certify, sampled
from dpbayes.divergences import affinity_exponent, affinity_of_counts, distance_from_log_affinity
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_CLASSES = 400_000_000
"""Most log-probabilities computed for the classes of an audit (about ten seconds)."""


def by_classes(mechanism: Any, n: int, prior: NDArray[np.float64]) -> Witness:
    """Return the largest loss over all neighbours, from one pair of each permutation class.

    `mechanism` is an exponential one; `prior` holds one value k times, k at least 2.
    """
    if not np.all(prior == prior[0]):
        raise ValueError(f"prior must be the same for all categories, got {prior.tolist()}")
    return _largest(_SharedTable(mechanism, n, prior))


def loss_between(
    mechanism: Any, prior: NDArray[np.float64], x: NDArray[np.int64], y: NDArray[np.int64]
) -> Callable[[float], float]:
    """Return the loss between two data sets as a function of the factor c of the exponents.

    The rows are those of `by_classes`; the score tables are made once.
    """
    table = _SharedTable(mechanism, int(np.sum(x)), prior)
    ends = [tuple(int(count) for count in one) for one in (x, y)]
    scores = [table.scores(one) for one in ends]

    def loss(c: float) -> float:
        rates = [float(mechanism.scaled(c).rate(one, prior)) for one in ends]
        here, there = (
            _normalised(-rate * score) for rate, score in zip(rates, scores, strict=True)
        )
        return float(np.max(np.abs(here - there)))

    return loss


def audited_by_classes(mechanism: Any, n: int, prior: NDArray[np.float64]) -> tuple[Witness, Rows]:
    """Return the largest loss and all rows, a sample of them compared with the mechanism's law."""
    table = _SharedTable(mechanism, n, prior)
    outputs = table.outputs
    rows = Rows(outputs, outputs, lambda i: table.row(tuple(int(c) for c in outputs[i])))
    certificate = certify(mechanism, prior, rows, sampled(len(outputs)))
    return _largest(table), replace(rows, certificate=certificate)


def _largest(table: _SharedTable) -> Witness:
    best = Witness(table.outputs[0], table.outputs[0], table.outputs[0], -1.0)
    for x, y, here, there in _pairs(table):
        losses = here - there
        high, low = int(losses.argmax()), int(losses.argmin())
        for value, one, other, at in ((losses[high], x, y, high), (-losses[low], y, x, low)):
            if value > best.loss:
                ends = (np.array(one, dtype=np.int64), np.array(other, dtype=np.int64))
                best = Witness(*ends, table.outputs[at], float(value))
    return best


def number_of_classes(n: int, k: int) -> int:
    """Return the number of sorted histograms of n records over k categories.

    >>> number_of_classes(300, 3)
    7651
    """
    ways = [1] + [0] * n
    for part in range(1, k + 1):
        for total in range(part, n + 1):
            ways[total] += ways[total - part]
    return ways[n]


def fits(n: int, k: int, most: int = LARGEST_CLASSES) -> bool:
    """Return whether an audit by classes computes at most `most` log-probabilities."""
    return number_of_classes(n, k) * number_of_candidates(n, k) <= most


class _SharedTable:
    """Rows ln P(. | x) of sorted data sets, from one table of psi for all categories."""

    def __init__(self, mechanism: Any, n: int, prior: NDArray[np.float64]) -> None:
        self.mechanism, self.prior, self.n = mechanism, prior, n
        self.outputs = compositions(n, prior.size)
        self.columns = [np.ascontiguousarray(column) for column in self.outputs.T]
        counts = np.arange(n + 1)
        self.psi = affinity_of_counts(float(prior[0]), counts[:, None], counts[None, :])
        self.exponent = affinity_exponent(mechanism.metric, float(prior.sum() + n))
        weights = (n + 1) ** np.arange(prior.size - 1, -1, -1, dtype=np.int64)
        self._keys = self.outputs @ weights
        self._weights = weights
        self._swaps: dict[tuple[int, int], NDArray[np.int64]] = {}

    def row(self, x: tuple[int, ...]) -> NDArray[np.float64]:
        """Return ln P(r | x) for every output r."""
        return _normalised(-float(self.mechanism.rate(x, self.prior)) * self.scores(x))

    def scores(self, x: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the distance of every output from the posterior of x."""
        logs = np.zeros(len(self.outputs))
        for count, column in zip(x, self.columns, strict=True):
            logs += self.psi[count].take(column)
        return distance_from_log_affinity(np.minimum(logs, 0.0), self.exponent)

    def swapped(self, row: NDArray[np.float64], p: int, q: int) -> NDArray[np.float64]:
        """Return the row of the data set with counts p and q exchanged."""
        if (p, q) not in self._swaps:
            step = int(self._weights[q] - self._weights[p])
            keys = self._keys + step * (self.columns[p] - self.columns[q])
            self._swaps[p, q] = np.searchsorted(self._keys, keys)
        return row[self._swaps[p, q]]


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights - np.log(np.exp(weights).sum()))


Pair = tuple[tuple[int, ...], tuple[int, ...], NDArray[np.float64], NDArray[np.float64]]


def _pairs(table: _SharedTable) -> Iterator[Pair]:
    rows: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for x in _sorted_histograms(table.n, len(table.columns)):
        rows[x] = here = table.row(x)
        first = {count: x.index(count) for count in x}
        last = {count: i for i, count in enumerate(x)}
        for count, i in first.items():
            for j in last.values():
                if i < j and count > 0:
                    y = _moved(x, i, j)
                    yield x, y, here, rows[y]
            # A record moved up to the next smaller count exchanges the two counts.
            if count - 1 in last:
                p, q = last[count - 1], i
                yield x, _moved(x, q, p), here, table.swapped(here, p, q)
        rows = _recent(rows, x[0])


def _recent(
    rows: dict[tuple[int, ...], NDArray[np.float64]], smallest: int
) -> dict[tuple[int, ...], NDArray[np.float64]]:
    # Neighbours that come earlier have this smallest count or one less.
    oldest = next(iter(rows))
    if oldest[0] >= smallest - 1:
        return rows
    return {x: row for x, row in rows.items() if x[0] >= smallest - 1}


def _moved(x: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    return tuple(c - (place == i) + (place == j) for place, c in enumerate(x))


def _sorted_histograms(n: int, k: int, smallest: int = 0) -> Iterator[tuple[int, ...]]:
    if k == 1:
        yield (n,)
        return
    for count in range(smallest, n // k + 1):
        for rest in _sorted_histograms(n - count, k - 1, count):
            yield (count, *rest)
