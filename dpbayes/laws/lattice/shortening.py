"""Which nodes of the released records add anything where noise is wide.

Sums over many counts of a slowly changing weight times w^r are small unless w is near 1. A bound
on that drops most nodes where several categories vary. Where few do, what is left at far nodes
comes from the kinks and ends of the weights; a smooth cut leaves out what is felt only near these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from dpbayes.laws.lattice.circles import Circle, Nodes
from dpbayes.laws.lattice.prefixes import Prefixes
from dpbayes.laws.lattice.wide_levels import Caps, Edges, WideLevel

_SHORT = 12  # so few nodes are all taken
_BOUNDED = 25
_LONG = 128  # from so many nodes on it pays to look for a cut
_PROBES = (1, 3, 5)  # sixths of each panel
_MOST_PROBES = 60
_SHARES = (0.06, 0.09, 0.13, 0.2, 0.3, 0.45, 0.65)  # of the half circle
_HALFWAY, _STEEP = 0.6, 13.0


def shortened(
    level: WideLevel,
    edges: Edges,
    sums: list[Prefixes],
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
    caps = _caps(level, edges, records.log_radius, chords)
    nodes = Nodes.positive(np.full(turns.size, records.log_radius))
    found = level.bounds(edges, sums, nodes, [node] * turns.size, shortfall, caps).sum(axis=0)
    steps = np.diff(np.append(turns, half)) * 2.0 / records.nodes
    beyond = np.cumsum((found * steps)[::-1])[::-1]
    some = np.flatnonzero(beyond <= neglect)
    if not some.size:
        return records, 0.0
    last = int(turns[some[0]])
    return Circle(records.log_radius, records.nodes, last), float(beyond[some[0]])


def _caps(level: WideLevel, edges: Edges, log_radius: float, chords: NDArray[np.float64]) -> Caps:
    caps: Caps = []
    for i, (category, _) in enumerate(level.runs):
        x, t = category.count, level.level
        heights = np.arange(level.heights.low[i], level.heights.high[i] + 1)
        pair = []
        for paid in (0, 1):
            released = heights - t - paid
            logs = level.exponent * category.logs[released - category.first]
            logs += (released - x) * log_radius
            weights = np.exp(logs + np.log(level.rho) * (np.abs(heights - x) - t))
            pair.append(_cap(weights, int(level.heights.low[i]), edges, chords))
        caps.append((pair[0], pair[1]))
    return caps


def _cap(
    weights: NDArray[np.float64], low: int, edges: Edges, chords: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return bounds (blocks, chords) on the sums of these weights up to a place in each block."""
    if not weights.size:
        return np.zeros((edges[0].size, chords.size))
    steps = np.diff(weights)
    bends = np.abs(np.diff(steps)).sum() + (np.abs(steps[[0, -1]]).sum() if steps.size else 0.0)
    first, last = edges[0] - 1 - low, edges[1] - low
    places = [np.clip(place, 0, weights.size - 1) for place in (first, last)]
    pairs = np.column_stack((places[0], places[1] + 1)).ravel()
    highest = np.maximum.reduceat(np.append(weights, 0.0), pairs)[::2]
    highest[(last < 0) | (first >= weights.size)] = 0.0
    jumps = highest + weights[0] + weights[-1]
    return np.asarray((jumps[:, None] + bends / chords) / chords)


def smooth_cut(
    level: WideLevel,
    panels: list[tuple[int, int]],
    sums: list[Prefixes],
    records: Circle,
    shortfall: Circle,
    neglect: float,
) -> tuple[NDArray[np.float64], float]:
    """Return how much each node of the records counts, and an estimate of what that changes.

    All nodes are tried at a few heights of each panel, and the largest change there is taken for
    all of its heights. The estimate is at most `neglect`, or all nodes count in full.
    """
    size = records.half()[1].size
    tried = {(a * (6 - j) + (b - 1) * j) // 6 for a, b in panels for j in _PROBES}
    if size < _LONG or len(tried) > _MOST_PROBES:
        return np.ones(size), 0.0
    blocks = np.array(sorted(tried))
    parts = level.parts(blocks, sums, records, shortfall)
    owner = np.searchsorted([a for a, _ in panels], blocks, side="right") - 1
    for share in _SHARES:
        last = int(share * records.nodes / 2)
        if last >= size:
            break
        cut = 0.5 * erfc((np.arange(last) / last - _HALFWAY) * _STEEP)
        worst = np.zeros(len(panels))
        np.maximum.at(worst, owner, np.abs(parts.sum(axis=1) - parts[:, :last] @ cut))
        change = float(worst @ [b - a for a, b in panels])
        if change <= neglect:
            return cut, change
    return np.ones(size), 0.0
