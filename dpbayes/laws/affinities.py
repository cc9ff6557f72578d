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
    # Many columns are read in blocks of rows that fit into the cache, from one table of all values;
    # the order of the additions, and so every digit, is that of the columns.
    if counts.size >= MANY and outputs.size and np.issubdtype(outputs.dtype, np.integer):
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


def log_affinity_of_all(
    prior: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return ln BC of every histogram of the same total, in the order of `compositions`.

    Each run of rows that share all but the last two counts is one slice of one table, read
    forward, plus one of another, read backward; numbers are those of `log_affinity_of_outputs`.

    >>> log_affinity_of_all(np.ones(2), np.array([1, 0])).round(6)
    array([-0.241564,  0.      ])
    """
    n, k = int(counts.sum()), counts.size
    tables = [_table(float(prior[i]), int(counts[i]), 0, n) for i in range(k)]
    heads = np.zeros(1)
    rest = np.array([n])
    for table in tables[:-2]:
        branches = rest + 1
        value = np.arange(branches.sum()) - np.repeat(np.cumsum(branches) - branches, branches)
        heads = np.repeat(heads, branches) + table[value]
        rest = np.repeat(rest, branches) - value
    forward, backward = tables[-2], np.ascontiguousarray(tables[-1][::-1])
    result = np.empty(int((rest + 1).sum()))
    place = 0
    for head, left in zip(heads.tolist(), rest.tolist(), strict=True):
        run = result[place : place + left + 1]
        np.add(forward[: left + 1], head, out=run)
        run += backward[n - left :]
        place += left + 1
    return np.minimum(result, 0.0, out=result)


def affinity_by_value(prior: float, count: int, released: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln BC of one category (or of the totals) with each released value, shape (N,).

    Columns of an enumeration repeat few values: psi is evaluated once for each.
    """
    low, high = int(released.min()), int(released.max())
    if high - low < released.size:
        return np.asarray(_table(prior, count, low, high)[released - low])
    return affinity_of_counts(prior, count, released)


def _table(prior: float, count: int, low: int, high: int) -> NDArray[np.float64]:
    # The data sets of a mean over all data share short tables; long ones are not kept.
    found = _short_table if high - low < _SHORT else _short_table.__wrapped__
    return found(prior, count, low, high)


@functools.lru_cache(maxsize=2048)
def _short_table(prior: float, count: int, low: int, high: int) -> NDArray[np.float64]:
    return _validate.frozen(affinity_of_counts(prior, count, np.arange(low, high + 1)))
