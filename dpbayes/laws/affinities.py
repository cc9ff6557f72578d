"""Affinities of one posterior with many: of a list of outputs, and of all histograms at once."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.divergences import affinity_of_counts

MANY = 16
"""From so many categories on tables of outputs are read row by row."""

ENTRIES_AT_ONCE = 1 << 15
_SHORT = 512
_PLACES_AT_ONCE = 1 << 14
_LONG_RUNS = 48  # where runs are shorter, a call for each costs more than reading by index


def log_affinity_of_outputs(
    prior: NDArray[np.float64], counts: NDArray[np.int64], outputs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return ln BC between prior + counts and prior + each output, shape (N,).

    Works from whole steps, so nothing is lost however large the counts are. Outputs whose total
    differs from that of the counts are compared with their own total.
    """
    result = added(prior, counts, outputs)
    n, totals = int(counts.sum()), row_sums(outputs)
    if np.any(totals != n):
        result -= affinity_by_value(float(prior.sum()), n, totals)
    return np.minimum(result, 0.0)


def added(
    prior: NDArray[np.float64], counts: NDArray[np.int64], outputs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sum over the categories of ln BC with each output, shape (N,), totals aside."""
    # A column that is one piece of memory is read alone. Many columns that are not are read in
    # blocks of rows that fit into the cache, from one table of all values; the order of the
    # additions, and so every digit, is the same.
    by_rows = counts.size >= MANY and outputs.strides[0] != outputs.itemsize
    if by_rows and outputs.size and np.issubdtype(outputs.dtype, np.integer):
        low, high = outputs.min(axis=0), outputs.max(axis=0)
        widths = high - low + 1
        if int(widths.sum()) <= outputs.size:
            return _looked_up(prior, counts, outputs, low, widths)
    result = np.zeros(len(outputs))
    for alpha, count, released in zip(prior, counts, outputs.T, strict=True):
        result += affinity_by_value(float(alpha), int(count), released)
    return result


def _looked_up(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    low: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> NDArray[np.float64]:
    starts = np.cumsum(widths) - widths
    values = np.arange(int(widths.sum())) - np.repeat(starts - low, widths)
    table = affinity_of_counts(np.repeat(prior, widths), np.repeat(counts, widths), values)
    shifts, result = (starts - low)[:, None], np.empty(len(outputs))
    rows = max(ENTRIES_AT_ONCE // counts.size, 1)
    # The same two arrays for all blocks: new ones would be new memory each time.
    room: NDArray[np.int64] = np.empty(rows * counts.size, dtype=np.int64)
    found: NDArray[np.float64] = np.empty(rows * counts.size)
    for first in range(0, len(outputs), rows):
        some = outputs[first : first + rows].T
        places = room[: some.size].reshape(some.shape)
        logs = found[: some.size].reshape(some.shape)
        np.add(some, shifts, out=places)
        table.take(places, out=logs, mode="clip")
        np.add.reduce(logs, axis=0, out=result[first : first + rows])
    return result


def row_sums(outputs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of each row.

    Few columns are added one by one: numpy's own sum over a short last axis takes ten times as
    long; over a long one it is the fastest.
    """
    if outputs.shape[1] >= MANY:
        return np.asarray(outputs.sum(axis=1), dtype=np.int64)
    totals = np.zeros(len(outputs), dtype=np.int64)
    for column in outputs.T:
        totals += column
    return totals


class CandidateAffinities:
    """ln BC of every histogram of the same total, in the order of `compositions`, without a list.

    Histograms that share all but the last two counts are a run: one slice of one table, read
    forward, plus one of another, read backward, plus what the shared counts add. Numbers are those
    of `log_affinity_of_outputs`, to the last digit.
    """

    def __init__(self, prior: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        n, k = int(counts.sum()), counts.size
        tables = [_table(float(prior[i]), int(counts[i]), 0, n) for i in range(k)]
        heads, rest = np.zeros(1), np.array([n])
        for table in tables[:-2]:
            branches = rest + 1
            value = np.arange(branches.sum()) - np.repeat(np.cumsum(branches) - branches, branches)
            heads = np.repeat(heads, branches) + table[value]
            rest = np.repeat(rest, branches) - value
        self._heads, self._rest = heads, rest
        self._ends = np.cumsum(rest + 1)
        self._forward, self._backward = tables[-2], np.ascontiguousarray(tables[-1][::-1])
        self.size = int(self._ends[-1])

    def piece(
        self, first: int, last: int, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the affinities of the candidates first … last - 1, in `out` where it is given.

        >>> CandidateAffinities(np.ones(2), np.array([1, 0])).piece(0, 2).round(6)
        array([-0.241564,  0.      ])
        """
        result = np.empty(last - first) if out is None else out
        if self.size < _LONG_RUNS * self._heads.size:
            self._gather(first, last, result)
        else:
            self._add_runs(first, last, result)
        return np.minimum(result, 0.0, out=result)

    def _add_runs(self, first: int, last: int, result: NDArray[np.float64]) -> None:
        opening, closing = np.searchsorted(self._ends, (first, last - 1), "right")
        runs = slice(opening, closing + 1)
        parts = (part[runs].tolist() for part in (self._heads, self._rest, self._ends))
        place, top = first, self._backward.size - 1
        for head, left, end in zip(*parts, strict=True):
            begin, stop = place - (end - left - 1), min(end, last)
            some = result[place - first : stop - first]
            np.add(self._forward[begin : begin + some.size], head, out=some)
            begin += top - left
            some += self._backward[begin : begin + some.size]
            place = stop

    def _gather(self, first: int, last: int, result: NDArray[np.float64]) -> None:
        place, top = np.arange(first, last), self._backward.size - 1
        run = np.searchsorted(self._ends, place, "right")
        beyond = self._ends[run] - 1 - place  # the last count
        np.add(self._heads[run], self._forward[self._rest[run] - beyond], out=result)
        result += self._backward[top - beyond]


def affinity_by_value(prior: float, count: int, released: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln BC of one category (or of the totals) with each released value, shape (N,).

    Columns of an enumeration repeat few values: psi is evaluated once for each.
    """
    low, high = int(released.min()), int(released.max())
    if high - low < released.size:
        return _read(_table(prior, count, low, high), released, low)
    return affinity_of_counts(prior, count, released)


def _read(table: NDArray[np.float64], released: NDArray[np.int64], low: int) -> NDArray[np.float64]:
    # In blocks that fit into the cache. The places are known to lie in the table: to clip them
    # changes none, and takes a sixth of the time of an index.
    result = np.empty(released.size)
    room: NDArray[np.int64] = np.empty(min(released.size, _PLACES_AT_ONCE), dtype=np.int64)
    for first in range(0, released.size, _PLACES_AT_ONCE):
        some = released[first : first + _PLACES_AT_ONCE]
        places = np.subtract(some, low, out=room[: some.size])
        table.take(places, out=result[first : first + some.size], mode="clip")
    return result


def _table(prior: float, count: int, low: int, high: int) -> NDArray[np.float64]:
    # The data sets of a mean over all data share short tables; long ones are not kept.
    found = _short_table if high - low < _SHORT else _short_table.__wrapped__
    return found(prior, count, low, high)


@functools.lru_cache(maxsize=2048)
def _short_table(prior: float, count: int, low: int, high: int) -> NDArray[np.float64]:
    return _validate.frozen(affinity_of_counts(prior, count, np.arange(low, high + 1)))
