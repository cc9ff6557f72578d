"""Which nodes of the released records may add anything where noise is wide.

Sums over many counts of a slowly changing weight times w^r are small unless w is near 1. A bound
on that drops most nodes where several categories vary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.chains import once
from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.long_prefixes import AnyPrefixes
from dpbayes.laws.lattice.prefixes import Edges, Prefixes
from dpbayes.laws.lattice.wide_levels import Caps, WideLevel

_SHORT = 12  # so few nodes are all taken
_BOUNDED = 25
_SPARE = 1.1  # times weights of which only some are looked at


def shortened(
    level: WideLevel,
    edges: Edges,
    sums: list[AnyPrefixes],
    node: int,
    records: Circle,
    shortfall: Circle,
    neglect: float,
) -> tuple[Circle, float]:
    """Return the circle without far nodes, and a bound of at most `neglect` on what they add.

    `node` is the place of the circle's radius among the positive nodes of the sums. The sum over
    r of f(r) w^r is at most (J + S / d) / d with d = |1 - w|, where J adds up the jumps of f and S
    how much its steps change: twice summation by parts.
    """
    half = records.nodes // 2 + 1
    if half < _SHORT:
        return records, 0.0
    turns = np.unique(np.geomspace(1, half, _BOUNDED).astype(np.int64))[:-1]
    chords = 2.0 * np.sin(np.pi * turns / records.nodes)
    caps = _caps(level, edges, sums, records.log_radius, chords)
    nodes = Nodes.positive(np.full(turns.size, records.log_radius))
    found = level.bounds(edges, sums, nodes, [node] * turns.size, shortfall, caps).sum(axis=0)
    steps = np.diff(np.append(turns, half)) * 2.0 / records.nodes
    beyond = np.cumsum((found * steps)[::-1])[::-1]
    some = np.flatnonzero(beyond <= neglect)
    if not some.size:
        return records, 0.0
    last = int(turns[some[0]])
    return Circle(records.log_radius, records.nodes, last), float(beyond[some[0]])


def _caps(
    level: WideLevel,
    edges: Edges,
    sums: list[AnyPrefixes],
    log_radius: float,
    chords: NDArray[np.float64],
) -> Caps:
    def both(run: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        category, _ = level.runs[run]
        x, t = category.count, level.level
        pair = []
        for paid in (0, 1):
            low = max(int(level.heights.low[run]), category.first + t + paid)
            high = min(int(level.heights.high[run]), category.last + t + paid)
            heights, spare = _looked_at(sums[run], low, high, t + paid), 1.0
            if heights.size < high + 1 - low:
                spare = _SPARE
            logs = level.exponent * category.logs_at(heights - t - paid)
            logs += (heights - t - paid - x) * log_radius
            weights = spare * np.exp(logs + np.log(level.rho) * (np.abs(heights - x) - t))
            pair.append(_cap(weights, heights, edges, chords))
        return pair[0], pair[1]

    return once([category for category, _ in level.runs], both)


def _looked_at(sums: AnyPrefixes, low: int, high: int, lowered: int) -> NDArray[np.int64]:
    """Return heights from `low` to `high`: all of them, or some between which little changes."""
    if isinstance(sums, Prefixes):
        return np.arange(low, high + 1)
    x = sums.category.count
    kinks = [j for j in (low, x - 1, x, x + 1, high) if low <= j <= high]
    inside = sums.grid + lowered
    return np.union1d(inside[(inside >= low) & (inside <= high)], kinks).astype(np.int64)


def _cap(
    weights: NDArray[np.float64],
    heights: NDArray[np.int64],
    edges: Edges,
    chords: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return bounds (blocks, chords) on the sums of these weights up to a place in each block."""
    if not weights.size:
        return np.zeros((edges[0].size, chords.size))
    steps = np.diff(weights) / np.diff(heights)
    bends = np.abs(np.diff(steps)).sum() + (np.abs(steps[[0, -1]]).sum() if steps.size else 0.0)
    first, last = edges[0] - 1, edges[1]
    left = np.searchsorted(heights, first, side="right") - 1
    right = np.searchsorted(heights, last, side="left")
    pairs = np.column_stack((np.maximum(left, 0), np.minimum(right, weights.size - 1) + 1))
    highest = np.maximum.reduceat(np.append(weights, 0.0), pairs.ravel())[::2]
    highest[(last < heights[0]) | (first > heights[-1])] = 0.0
    jumps = highest + weights[0] + weights[-1]
    return np.asarray((jumps[:, None] + bends / chords) / chords)


def largest(parts: NDArray[np.float64], neglect: float) -> tuple[NDArray[np.int64], float]:
    """Return the indices of all parts but the smallest, whose sum is at most `neglect`."""
    order = np.argsort(parts, kind="stable")
    before = np.cumsum(parts[order])
    dropped = int(np.searchsorted(before, neglect, side="right"))
    dropped = min(dropped, parts.size - 1)
    return np.sort(order[dropped:]), float(before[dropped - 1]) if dropped else 0.0
