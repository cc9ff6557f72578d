"""Blocks of heights, against a list of all heights."""

import numpy as np

from dpbayes.laws.lattice.heights import Heights


def listed_edges(low, high, level, total):
    """Return the edges from every height in turn."""
    low, high = np.maximum(low, level + 1), np.maximum(high, level)
    if total is not None:
        high = np.minimum(high, level + 1 + total)
    edges = []
    for height in range(int(low.min()), int(high.max()) + 1):
        shared = ((low <= height) & (height <= high)).sum() > 1
        turns = (low == height) | ((high + 1 == height) & (high >= low))
        turns &= high >= low
        fresh = shared or turns.any()
        if total is not None:
            alone = level + 2 + total // 2
            fresh = height == alone or (fresh and height < alone)
        if fresh or not edges:
            edges.append(height)
    return [*edges, int(high.max()) + 1]


def listed_panels(edges, kept, kinks):
    """Return runs of kept blocks, cut at joined ones and at kinks."""
    found = []
    for block in kept:
        single = edges[block + 1] - edges[block] == 1
        follows = bool(found) and found[-1][1] == block and single and edges[block] not in kinks
        if follows and edges[block] - edges[found[-1][0]] == block - found[-1][0]:
            found[-1] = (found[-1][0], block + 1)
        else:
            found.append((block, block + 1))
    return found


def test_blocks_and_panels_are_those_of_the_list():
    rng = np.random.default_rng(23)
    for _ in range(2000):
        low = rng.integers(-9, 40, int(rng.integers(1, 6)))
        high = low + rng.integers(0, 30, low.size)
        level, total = int(rng.integers(0, 15)), int(rng.integers(0, 60))
        bound = total if rng.random() < 0.7 else None
        heights = Heights(low, high, level, bound)
        if heights.low.min() > heights.high.max():
            continue  # nothing is that high
        edges = listed_edges(low, high, level, bound)
        assert heights.edges.tolist() == edges
        assert heights.blocks == len(edges) - 1
        kinks, kept = rng.integers(0, 60, 4), np.flatnonzero(rng.random(heights.blocks) < 0.7)
        if kept.size:
            assert heights.panels(kept, kinks) == listed_panels(edges, kept.tolist(), kinks)
        step = int(rng.integers(1, 6))
        coarse = heights.some(step, kinks)
        assert coarse[[0, -1]].tolist() == [0, heights.blocks]
        starts = np.array(edges[:-1])
        assert np.isin(np.flatnonzero(np.isin(starts, kinks)), coarse).all()
        single = np.diff(edges) == 1
        assert np.isin(np.flatnonzero(~single), coarse).all()
        assert (np.diff(heights.at(coarse))[single[coarse[:-1]]] <= step).all()
        some = np.flatnonzero(rng.random(coarse.size - 1) < 0.6)
        if some.size:
            fine = [b for j in some for b in range(int(coarse[j]), int(coarse[j + 1]))]
            found = heights.ranges(coarse[some], coarse[some + 1], kinks)
            assert found == listed_panels(edges, fine, kinks)


def test_windows_of_any_length_take_no_list():
    low, high = np.array([5, 10**11, 10**12]), np.array([2 * 10**11, 3 * 10**12, 10**15])
    heights = Heights(low, high, 4)
    assert heights.at(np.array([0, 1, heights.blocks])).tolist() == [5, 10**11, 10**15 + 1]
    assert heights.some(10**11, np.array([10**13])).size < 40
