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


def _plateaus(learned, plateau, turns=5):
    # Corners of k = 3 with windows of 8 rings, their last V, and what all their prices charge.
    search = searched(1000, 2.0, 3, 1.0, 1.3, 8, 1, learned, True, plateau)
    at = np.arange(len(search.corners.places))
    window, values = _learned(search, at, 1.1, turns)
    return search, window, values[-1]


@pytest.mark.parametrize(("learned", "plateau"), [(2, 1e-9), (8, 1e9)])
def test_no_plateau_is_the_first_two_rings_and_an_endless_one_is_all_of_them(learned, plateau):
    _, window, values = _plateaus(learned, plateau)
    _, _, rings = _plateaus(learned, None)
    assert len(window.layers.steps) == (19 if learned == 2 else 217)
    assert np.allclose(values, rings, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("plateau", [None, 1.2, 2.0])
def test_the_steps_that_come_first_pass_on_straight_and_the_column_is_what_v_falls_with(plateau):
    search, window, values = _plateaus(3, plateau)
    size = sum(len(one.steps) for one in [*search.rings, *search.far])
    assert 37 <= len(window.layers.steps) < size
    assert sum(len(place) for place, _ in window.around()) == size
    charged = window.charged()
    held = search.highest(np.full(len(search.boxes.rows), 1.1))
    window.begin((1.0 + 1e-7) * held)
    assert np.allclose((values - window.values()) / charged, 1e-7, rtol=1e-3)


def test_shares_on_a_plateau_come_near_to_those_of_all_data_and_v_stays_below_private_columns():
    whole, full, every = _plateaus(3, 1e9, 12)
    _, _, some = _plateaus(3, 2.0, 12)
    _, _, rings = _plateaus(3, None, 12)
    lacks = [float(np.maximum(-one, 0.0).sum()) for one in (every, some, rings)]
    assert lacks[0] < 0.5 * lacks[1] < 0.5 * 0.7 * lacks[2]
    counts, at = whole.corners.counts, range(0, len(every), 40)
    steps = full.layers.steps
    close = np.argwhere(np.abs(steps[:, None] - steps).sum(axis=2) == 2)
    each, shape = np.arange(len(close)), (len(close), len(steps))
    private = sparse.coo_array((np.ones(len(close)), (each, close[:, 0])), shape) - (
        sparse.coo_array((np.full(len(close), np.exp(2.0)), (each, close[:, 1])), shape)
    )
    for b in at:
        cost = (full.distance[0] - full.prices[0])[:, b]
        bounds = [(1.0, 1.0), *[(0.0, None)] * (len(steps) - 1)]
        least = linprog(cost, private.tocsr(), np.zeros(len(close)), bounds=bounds).fun
        assert some[b] <= least + 1e-6, counts[b]


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


def test_corners_learn_from_those_that_are_alike_and_are_soon_as_far():
    search = searched(300, 1.0, 3, 1.0, 1.1, 7, 1, 5, True)
    low = search.corners.counts[:, 0]
    some = np.flatnonzero((low > 8) & (low < 30))[:40]
    teacher, _ = _learned(search, some[::2], 0.97, 12)
    _, values = _learned(search, some[1::2], 0.97, 12)
    pupil = own_window(search, some[1::2], [])
    pupil.begin(teacher.held)
    pupil.taught(teacher)
    assert (pupil.values() - values[0]).sum() > 0.6 * (values[-1] - values[0]).sum() > 0.0


def test_without_ways_in_a_ring_the_mean_share_is_taught():
    search, ways = searched(300, 1.0, 3, 1.0, 1.1, 7), all_ways(3, 7)
    teacher, pupil = (own_window(search, np.arange(at, at + 9), ways) for at in (100, 300))
    pupil.taught(teacher)
    for d in range(2, 8):
        for number, (start, _, _) in enumerate(ways[d]):
            shares = teacher.weights[d][number] / teacher.total[d][start]
            begun = pupil.weights[d][number] / pupil.total[d][start]
            assert np.allclose(begun, shares.mean(axis=1)[:, None], rtol=1e-6)


def test_nothing_is_taught_where_data_pass_on_along_other_ways():
    search = searched(300, 1.0, 3, 1.0, 1.1, 7, 1, 4, True)
    at = np.flatnonzero(search.corners.counts[:, 0] > 8)[:10]
    teacher, _ = _learned(search, at, 0.97, 3)
    search.plateau = 2.0
    pupil, values = _learned(search, at, 0.97, 0)
    pupil.taught(teacher)
    assert np.array_equal(pupil.values(), values[0])
