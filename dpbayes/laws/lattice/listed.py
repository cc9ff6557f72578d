"""Laws of projected lattice noise output by output, where few are possible or noise is narrow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import landing, noise
from dpbayes.laws.lattice.one_output import OneOutput
from dpbayes.laws.lattice.outputs import clamped_masses, work
from dpbayes.laws.lattice.projection import project
from dpbayes.laws.lattice.unclamped import TAIL
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_TAIL = 1e-12
"""Largest probability of what is not listed."""

_LARGEST_LIST = 8_000_000
_LARGEST_COMPLETE = 200_000
_LARGEST_WORK = 2e8  # some seconds
_SHORT_LIST = 20_000  # points listed as fast as levels are followed
_FEW_OUTPUTS = 60  # each by itself takes some seconds, and the noise may be as wide as it likes
_LEVELS_FIRST = 8  # so many laws without a table take as long as a table does


def listed_law(
    prior: NDArray[np.float64], counts: NDArray[np.int64], epsilon: float, projection: str
) -> FiniteLaw | None:
    """Return the law of the projected noisy counts output by output, or None if it is too long.

    All of R is listed where it is small, else the outputs within reach of the noise; what is
    not listed has probability at most `mass_outside`.
    """
    n, k = int(counts.sum()), counts.size
    if n == 0:  # nothing else can be released
        return FiniteLaw(prior, counts, counts[None], np.zeros(1), 0.0)
    reach = noise.radius(k, epsilon, TAIL)
    if number_of_candidates(n, k) <= _LARGEST_COMPLETE:
        # Reaching n further makes the share of far corners right to relative accuracy too.
        for size in (reach + n, reach, noise.radius(k, epsilon, LARGEST_TAIL)):
            if int(counts.min()) >= size or _fits(k, size):
                return _complete(prior, counts, epsilon, projection, size)
        if projection == "l2" and number_of_candidates(n, k) <= _FEW_OUTPUTS:
            return _one_by_one(prior, counts, epsilon)
        if projection == "l2" and work(n, k, reach + n) <= _LARGEST_WORK:
            return _complete(prior, counts, epsilon, projection, reach + n)
        return None
    if not _fits(k, reach):
        return None
    return _window(prior, counts, epsilon, projection, reach)


def _fits(k: int, size: int) -> bool:
    if k > 2 and size * size > _LARGEST_LIST:  # there are at least as many, so none are counted
        return False
    return noise.number_of_points(k, size) * k <= _LARGEST_LIST


def _followed(n: int, k: int, size: int, projection: str) -> bool:
    """Say whether levels are followed: the list is too long, or takes longer than they do."""
    if projection != "l2":
        return False
    if not _fits(k, size):
        return True
    points = noise.number_of_points(k, size)
    return points > _SHORT_LIST and work(n, k, size) <= 4.0 * points


def log_mass(shifts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Return ln of the probability of each row of noise (m, k), each of which sums to 0."""
    k = shifts.shape[1]
    norm = np.abs(shifts).sum(axis=1)
    return np.asarray(-0.5 * epsilon * norm - noise.log_normaliser(k, epsilon))


def _complete(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    epsilon: float,
    projection: str,
    size: int,
) -> FiniteLaw:
    n, k = int(counts.sum()), counts.size
    outputs = compositions(n, k)
    logs = log_mass(outputs - counts, epsilon)
    if int(counts.min()) < size:
        followed = _followed(n, k, size, projection)
        if landing.has_table(n, k, size, _LEVELS_FIRST if followed else 1):
            places, masses = _shared_points(n, k, size), _shared_masses(k, size, epsilon)
            table = landing.table(n, k, size, size, projection)
            landed: NDArray[np.integer[Any]] = table[places + landing.offset(counts, size)]
            moved = landed != landing.STAYED
            landed, masses = landed[moved], masses[moved]
        elif followed:
            rows, masses = clamped_masses(counts, epsilon, size)
            landed = landing.row_of(rows)
        else:
            noisy = counts + noise.points(k, size)
            noisy = noisy[(noisy < 0).any(axis=1)]
            landed = landing.row_of(project(noisy, projection))
            masses = np.exp(log_mass(noisy - counts, epsilon))
        extra = np.bincount(landed, masses, len(outputs))
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(logs, np.log(extra))
    return FiniteLaw(prior, counts, outputs, logs, noise.tail_mass(k, epsilon, size))


def _one_by_one(prior: NDArray[np.float64], counts: NDArray[np.int64], epsilon: float) -> FiniteLaw:
    outputs = compositions(int(counts.sum()), counts.size)
    clamped = [OneOutput(counts, epsilon, output).probability() for output in outputs]
    with np.errstate(divide="ignore"):  # where no count is 0, nothing is clamped
        logs = np.logaddexp(log_mass(outputs - counts, epsilon), np.log(clamped))
    return FiniteLaw(prior, counts, outputs, logs, 0.0)


@functools.lru_cache(maxsize=2)
def _shared_points(n: int, k: int, size: int) -> NDArray[np.int64]:
    return _validate.frozen(landing.cells(noise.points(k, size), n, size))


@functools.lru_cache(maxsize=2)
def _shared_masses(k: int, size: int, epsilon: float) -> NDArray[np.float64]:
    return _validate.frozen(np.exp(log_mass(noise.points(k, size), epsilon)))


def _window(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    epsilon: float,
    projection: str,
    size: int,
) -> FiniteLaw:
    k = counts.size
    shifts, logs = _shared_window(k, size, epsilon)
    noisy = counts + shifts
    if int(noisy.min()) < 0:
        keys, rows = _keyed(project(noisy, projection, reuse=True))
        del noisy  # millions of rows, which are not read while their keys are sorted
        found, inverse = np.unique(keys, axis=0 if keys.ndim > 1 else None, return_inverse=True)
        logs = np.log(np.bincount(inverse.ravel(), np.exp(logs)))
        del keys, inverse
        noisy = rows(found)
    return FiniteLaw(prior, counts, noisy, logs, noise.tail_mass(k, epsilon, size))


@functools.lru_cache(maxsize=1)
def _shared_window(
    k: int, size: int, epsilon: float
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    shifts = noise.points(k, size)
    kept = shifts.astype(np.int32, order="K")  # half the memory
    return _validate.frozen(kept), _validate.frozen(log_mass(shifts, epsilon))


def _keyed(
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Callable[[NDArray[np.int64]], NDArray[np.int64]]]:
    """Return a key for each row, in lexicographic order, and how keys are turned into rows.

    Rows whose range allows it have single numbers as keys, which are sorted many times faster.
    """
    low = rows.min(axis=0)
    widths = rows.max(axis=0) - low + 1
    if float(np.prod(widths, dtype=np.float64)) > 2.0**62:
        return rows, lambda keys: keys
    strides = np.append(np.cumprod(widths[:0:-1])[::-1], 1)
    keys = np.zeros(len(rows), dtype=np.int64)
    for column, least, stride in zip(rows.T, low.tolist(), strides.tolist(), strict=True):
        keys += (column - least) * stride

    def rows_of(found: NDArray[np.int64]) -> NDArray[np.int64]:
        table = np.empty((found.size, widths.size), dtype=np.int64)
        for i, column in enumerate(table.T):
            column[:] = found // strides[i] % widths[i] + low[i]
        return table

    return keys, rows_of
