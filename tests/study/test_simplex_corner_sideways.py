"""Ways in the same ring: the recursion written out, programs over columns, inward ways alone."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from dpbayes.study.simplex_corner_bound import searched
from dpbayes.study.simplex_corner_mesh import own_window
from dpbayes.study.simplex_corner_sideways import Layers
from dpbayes.study.simplex_corner_windows import all_ways


@pytest.mark.parametrize(("k", "radius"), [(3, 4), (4, 3), (5, 2)])
def test_every_way_leads_to_an_earlier_neighbour_and_straight_parts_sum_to_one(k, radius):
    layers = Layers(k, radius)
    steps, begins = layers.steps, np.append(0, layers.ends[:-1])
    away = np.abs(steps).sum(axis=1) // 2
    inwards, pairs = np.zeros(len(steps)), set()
    for ways, begin in zip(layers.ways, begins, strict=True):
        for start, end, part in ways:
            assert np.all(end < begin)
            assert np.all(np.abs(steps[begin + start] - steps[end]).sum(axis=1) == 2)
            assert np.all(away[end] <= away[begin + start])
            inner = away[end] < away[begin + start]
            np.add.at(inwards, begin + start[inner], part[inner])
            pairs |= set(zip((begin + start).tolist(), end.tolist(), strict=True))
    assert np.allclose(inwards[1:], 1.0)
    # Between the layers no pair of neighbours is left out.
    layer = np.searchsorted(layers.ends, np.arange(len(steps)), side="right")
    close = np.abs(steps[:, None] - steps).sum(axis=2) == 2
    every = {(int(y), int(p)) for y, p in np.argwhere(close) if layer[p] < layer[y]}
    assert pairs == every


def _learned(search, at, part, turns):
    ways = all_ways(search.boxes.k, len(search.rings) - 1)
    window = own_window(search, at, ways)
    window.begin(search.highest(np.full(len(search.boxes.rows), part)))
    found = [window.values()]
    for _ in range(turns):
        window.learn()
        found.append(window.values())
    return window, np.array(found)


@pytest.mark.parametrize(("n", "k", "epsilon", "radius"), [(30, 3, 1.0, 6), (12, 4, 2.0, 3)])
def test_v_is_the_recursion_written_out_and_the_sum_over_its_column(n, k, epsilon, radius):
    search = searched(n, epsilon, k, 1.0, 1.0, radius, 1, radius, sideways=True)
    at = np.arange(len(search.corners.places))
    window, values = _learned(search, at, 0.97, 4)
    layers, q = window.layers, search.q
    for b in range(0, len(at), 7):
        left = [float(x) for x in (window.distance[0] - window.prices[0])[:, b]]
        for layer in range(len(layers.ends) - 1, 0, -1):
            begin, end = int(layers.ends[layer - 1]), int(layers.ends[layer])
            for y in range(begin, end):
                shares = {
                    int(p): float(weight[list(start).index(y - begin), b])
                    for (start, ends, _), weight in zip(
                        layers.ways[layer], window.weights[layer], strict=True
                    )
                    for p in ends[start == y - begin]
                }
                whole, value = sum(shares.values()), left[y]
                for p, share in shares.items():
                    left[p] += share / whole * min(q * value, value / q)
        assert left[0] == pytest.approx(values[-1, b], rel=1e-9, abs=1e-12)
    column = window.columns()[0]
    whole = (column * (window.distance[0] - window.prices[0])).sum(axis=0)
    assert np.allclose(whole, values[-1], rtol=1e-9, atol=1e-12)


def test_v_is_below_the_least_of_private_columns_and_nearer_than_without_ways_in_a_ring():
    n, k, epsilon, radius = 300, 4, 1.0, 6
    search = searched(n, epsilon, k, 1.0, 1.1, radius, sideways=True)
    counts = search.corners.counts
    skewed = ([2, 5, 90, 203], [0, 1, 100, 199], [10, 20, 100, 170], [60, 60, 80, 100])
    near = [int(np.abs(counts - np.array(row)).sum(axis=1).argmin()) for row in skewed]
    at = np.sort(near)
    window, beside = _learned(search, at, 0.97, 12)
    search.sideways = False
    _, inwards = _learned(search, at, 0.97, 12)
    steps = window.layers.steps
    close = np.argwhere(np.abs(steps[:, None] - steps).sum(axis=2) == 2)
    each = np.arange(len(close))
    shape = (len(close), len(steps))
    private = sparse.coo_array((np.ones(len(close)), (each, close[:, 0])), shape) - (
        sparse.coo_array((np.full(len(close), np.exp(epsilon)), (each, close[:, 1])), shape)
    )
    best, alone = beside.max(axis=0), inwards.max(axis=0)
    for b in range(len(at)):
        cost = (window.distance[0] - window.prices[0])[:, b]
        inside = window.kept[0][:, b]
        # No bound on what stands where there is no histogram but that of its neighbours.
        assert np.all(cost[~inside] == 0.0)
        bounds = [(1.0, 1.0), *[(0.0, None)] * (len(steps) - 1)]
        least = linprog(
            cost, private.tocsr(), np.zeros(len(close)), bounds=bounds, method="highs-ipm"
        ).fun
        assert best[b] <= least + 1e-6
        assert least - best[b] <= least - alone[b] + 1e-3
    assert (best - alone).max() > 0.05
