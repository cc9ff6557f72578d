"""The distance behind the published curves, of all outputs of a law at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpbayes.divergences import affinity_exponent
from dpbayes.laws.affinities import added, row_sums
from dpbayes.laws.sums import AT_ONCE


def published_of_outputs(
    prior: NDArray[np.float64], counts: NDArray[np.int64], outputs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return `hellinger_published` between prior + counts and prior + each output, shape (N,).

    sqrt(1 - BC^(1/ln N)) where the totals agree; elsewhere the printed slip is followed, as there.
    Columns of an enumeration repeat few values: each function is evaluated once for each. Raises
    ValueError where a total with its prior is not above 1. Book: `def-published-metric`.

    >>> published_of_outputs(np.ones(2), np.array([50, 50]), np.array([[51, 49]])).round(12)
    array([0.0327093])
    """
    alpha, n, totals = float(prior.sum()), int(counts.sum()), row_sums(outputs)
    for total in (n, int(totals.min(initial=n))):
        affinity_exponent("published", alpha + total)
    log_bc = added(prior, counts, outputs) / np.log(alpha + n)
    other = np.flatnonzero(np.abs(totals - n) > 1e-9 * (alpha + n))
    if other.size:
        log_bc[other] = _slipped(prior, counts, outputs, totals, other)
    return np.asarray(np.sqrt(np.clip(0.0 - np.expm1(log_bc), 0.0, 1.0)))


def _slipped(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    totals: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the slip at some of the rows, (m,), each function read from a table of its values."""
    start, columns = prior.sum() + counts.sum(), []
    for alpha, count, column in zip(prior, counts, outputs.T, strict=True):
        values, places = _values(column)
        released = alpha + values
        columns.append((places, gammaln((alpha + count + released) / 2.0), gammaln(released)))
    values, total = _values(totals)
    end = prior.sum() + values
    middles, ends = np.log((start + end) / 2.0), np.log(end)
    own = gammaln(prior + counts).sum() / np.log(start)
    result = np.empty(rows.size)
    for first in range(0, rows.size, AT_ONCE):
        some = rows[first : first + AT_ONCE]
        here, there = np.zeros(some.size), np.zeros(some.size)
        for places, means, lone in columns:
            here += means[places(some)]
            there += lone[places(some)]
        here /= middles[total(some)]
        result[first : first + some.size] = here - (own + there / ends[total(some)]) / 2.0
    return result


def _values(
    column: NDArray[np.int64],
) -> tuple[NDArray[np.float64], Callable[[NDArray[np.int64]], NDArray[np.int64]]]:
    """Return values that hold all of a column, and the places of some of its rows among them."""
    low, high = int(column.min()), int(column.max())
    if high - low < column.size:
        return np.arange(low, high + 1, dtype=np.float64), lambda rows: column[rows] - low
    return column.astype(np.float64), lambda rows: rows
