"""Windows around answers: which data they hold, how shares pass on, what V is."""

import numpy as np
import pytest

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_windows import Windows, segment

CASES = [(9, 3, 4), (6, 4, 3), (5, 5, 5)]


def _windows(n, k, radius):
    space = simplex(n, k)
    return space, Windows(space, np.arange(len(space.rows)), radius, radius, space.affinities(n))


@pytest.mark.parametrize(("n", "k", "radius"), CASES)
def test_a_window_holds_the_data_near_its_answer_with_their_distances(n, k, radius):
    space, windows = _windows(n, k, radius)
    rows, losses = compositions(n, k), distance_table(n, [1.0] * k)
    numbers = space.place[tuple(rows[:, :-1].T)]
    for column, s in enumerate(space.rows):
        here = int(np.flatnonzero((rows == s).all(axis=1))[0])
        for d, one in enumerate(windows.rings):
            at = np.flatnonzero(np.abs(rows - s).sum(axis=1) == 2 * d)
            inside = windows.inside[d][:, column]
            assert sorted(one.place[inside, column]) == sorted(numbers[at])
            np.testing.assert_allclose(
                sorted(one.distance[inside, column]), sorted(losses[at, here]), atol=1e-12
            )


@pytest.mark.parametrize(("n", "k", "radius"), CASES)
def test_each_step_shares_with_all_its_neighbours_one_ring_further_in(n, k, radius):
    _, windows = _windows(n, k, radius)
    for before, one in zip(windows.rings[:-1], windows.rings[1:], strict=True):
        apart = np.abs(one.steps[:, None] - before.steps).sum(axis=2)
        named = {(a, b) for start, end in one.edges for a, b in zip(start, end, strict=True)}
        assert named == set(zip(*np.nonzero(apart == 2), strict=True))
        assert sum(len(start) for start, _ in one.edges) == len(named)
        np.testing.assert_allclose(one.total, 1.0, rtol=1e-6)
        given = np.random.default_rng(1).normal(size=(len(one.steps), len(windows.at)))
        np.testing.assert_allclose(
            one.inwards(given, len(before.steps)).sum(axis=0), given.sum(axis=0), atol=1e-9
        )


@pytest.mark.parametrize(("n", "k", "radius"), CASES)
def test_what_columns_say_is_the_derivative_of_the_value(n, k, radius):
    space, windows = _windows(n, k, radius)
    q, prices = float(np.exp(-1.0)), np.full(len(space.rows), 0.2)
    for _ in range(3):
        found, factors = windows.values(prices, q)
        windows.learn(found, prices, q, 0.3)
    found, factors = windows.values(prices, q)
    columns = windows.columns(factors)
    raised, _ = windows.values(prices - 1e-7, q)
    total = sum(u.sum(axis=0) for u in columns)
    np.testing.assert_allclose((raised[0] - found[0])[0] / 1e-7, total, rtol=1e-4)
    # Lowering all prices by t adds at least t times the kernel's sum: what the proof uses.
    assert np.all(total >= windows.kernel(q) * (1 - 1e-12))


def test_learning_raises_the_value_where_it_can():
    space, windows = _windows(9, 3, 4)
    prices, q = np.full(len(space.rows), 0.45), float(np.exp(-1.0))
    before = windows.values(prices, q)[0][0][0]
    best = before
    for _ in range(8):
        found, _ = windows.values(prices, q)
        windows.learn(found, prices, q, 0.3)
        best = np.maximum(best, windows.values(prices, q)[0][0][0])
    assert np.any(best > before + 1e-3)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_rings_go_by_the_distance_from_the_core_and_every_step_leads_to_the_next(length):
    space = simplex(14)
    at = np.flatnonzero(space.rows[:, 1] >= length)
    windows = Windows(space, at, 5, 5, space.affinities(14), length)
    core = segment(3, length)
    np.testing.assert_array_equal(windows.rings[0].steps, core)
    assert not core[windows.middle].any()
    # The certificate passes along the core, so its members have to be neighbours.
    assert np.all(np.abs(np.diff(core, axis=0)).sum(axis=1) == 2)
    for d, one in enumerate(windows.rings):
        apart = (np.abs(one.steps[:, None] - core).sum(axis=2) // 2).min(axis=1)
        assert set(apart) == {d}
        if d:
            before = windows.rings[d - 1].steps
            near = np.abs(one.steps[:, None] - before).sum(axis=2)
            named = {(a, b) for start, end in one.edges for a, b in zip(start, end, strict=True)}
            assert named == set(zip(*np.nonzero(near == 2), strict=True))
            np.testing.assert_allclose(one.total, 1.0, rtol=1e-6)


def test_nothing_flows_in_from_outside_the_histograms_with_a_core():
    # A unit at every histogram adds its column's weight, and one outside adds nothing.
    space = simplex(14)
    at = np.flatnonzero(space.rows[:, 1] >= 2)
    windows = Windows(space, at, 14, 14, space.affinities(14), 3)
    q, prices = float(np.exp(-1.0)), np.full(len(space.rows), 0.3)
    found, factors = windows.values(prices, q)
    for one, inside in zip(found, windows.inside, strict=True):
        assert np.all(one[~inside] == 0.0)
    raised, _ = windows.values(prices - 1e-7, q)
    total = sum(u.sum(axis=0) for u in windows.columns(factors))
    middle = windows.middle
    np.testing.assert_allclose((raised[0] - found[0])[middle] / 1e-7, total, rtol=1e-4)
