"""Probabilities of all outputs of clamped lattice noise, added up level by level.

The projection lowers noisy counts y to a level t; those at or below t end at 0, and the e largest
of the others pay one record more. With u = y - t of the a others a positive composition of n + e,
what is released depends on u and e alone. Everybody's counts add up to n, so those at or below t
are short of it by k t + e together. So the noise vectors need not be listed: for each set of
categories above the level, each e and u, the mass is a sum over the levels. Book: `thm-clamped`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice import noise
from dpbayes.posteriors import compositions

_AT_ONCE = 1 << 17  # numbers of one sum over levels that are held together


def work(n: int, k: int, reach: int) -> float:
    """Return how many numbers `clamped_masses` takes up, some tens of nanoseconds each.

    With a categories above the level: a heights of C(n + a - 1, a - 1) compositions for each
    number of payers, and convolutions of the others, whose terms take a hundredth each.

    >>> work(100, 4, 300)
    21131428.0
    """
    size = reach + 1.0
    total = 0.0
    for a in range(1, k):
        rows, joined = a * comb(n + a - 1, a - 1), max(k - a - 2, 0)
        total += comb(k, a) * (rows * size + 0.01 * joined * (joined + 1) / a * float(reach) ** 3)
    return total


def clamped_masses(
    counts: NDArray[np.int64], epsilon: float, reach: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return outputs (m, k) and the masses (m,) of noise that was clamped to each of them.

    An output may stand in several rows; all terms are positive. Noise whose positive part is above
    `reach` may be left out.

    >>> outputs, masses = clamped_masses(np.array([0, 2]), 1.0, 60)
    >>> [float(masses[(outputs == row).all(axis=1)].sum().round(9)) for row in ([0, 2], [2, 0])]
    [0.268941421, 0.036397263]
    """
    k = counts.size
    rows, masses = [], []
    for above in range(1, k):
        for places in combinations(range(k), above):
            chosen = np.array(places)
            short = _short(np.delete(counts, chosen), epsilon, reach, above)
            for payers in range(1, above + 1):
                released, mass = _paid(counts, chosen, payers, epsilon, short[:, payers - 1])
                rows.append(released)
                masses.append(mass)
    scale = float(np.exp(-noise.log_normaliser(k, epsilon)))
    return np.concatenate(rows), np.concatenate(masses) * scale


def _short(below: NDArray[np.int64], epsilon: float, reach: int, above: int) -> NDArray[np.float64]:
    """Return the mass, for each level and number of payers 1 … above, of the categories below.

    They are at most at the level t, and add up to -(t above + payers): no more than `reach` short
    of their own counts. That bounds the levels; where there is one, all counts are below `reach`.
    """
    levels = (reach - int(below.sum()) - 1) // above + 1
    result = np.zeros((max(levels, 0), above))
    for t in range(levels):
        wanted = -t * above - np.arange(1, above + 1)
        table, first = np.ones(1), 0
        for x in below[:-1]:
            heights = np.arange(int(x) - reach, t + 1)
            table = np.convolve(table, np.exp(-0.5 * epsilon * np.abs(heights - x)))
            first += int(heights[0])
        last = int(below[-1])
        for column, total in enumerate(wanted.tolist()):
            heights = total - first - np.arange(table.size)
            inside = (heights <= t) & (heights >= last - reach)
            tail = np.exp(-0.5 * epsilon * np.abs(heights[inside] - last))
            result[t, column] = float(table[inside] @ tail)
    return result


def _paid(
    counts: NDArray[np.int64],
    chosen: NDArray[np.int64],
    payers: int,
    epsilon: float,
    short: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return what is released, and its mass summed over the levels, with so many payers."""
    n, above = int(counts.sum()), chosen.size
    free = n + payers - above
    if free < 0:
        return np.zeros((0, counts.size), dtype=np.int64), np.zeros(0)
    heights = (compositions(free, above) if above > 1 else np.array([[free]])) + 1
    ranks = np.argsort(np.argsort(-heights, axis=1, kind="stable"), axis=1, kind="stable")
    released = np.zeros((len(heights), counts.size), dtype=np.int64)
    released[:, chosen] = heights - (ranks < payers)
    mass = np.zeros(len(heights))
    for some in _blocks(len(heights)):
        part, block = mass[some], heights[some]
        for t in np.flatnonzero(short).tolist():
            norm = np.abs(block[:, 0] + (t - counts[chosen[0]]))
            for column in range(1, above):
                norm += np.abs(block[:, column] + (t - counts[chosen[column]]))
            part += short[t] * np.exp(-0.5 * epsilon * norm)
    return released, mass


def _blocks(size: int) -> Iterator[slice]:
    for first in range(0, size, _AT_ONCE):
        yield slice(first, first + _AT_ONCE)
