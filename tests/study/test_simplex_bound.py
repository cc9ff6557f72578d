"""The lower bound for three categories: against linear programs, and its proof against another."""

import numpy as np
import pytest

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_bound as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import lattice_means, simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_segments import segment_prices
from tests.study.private_columns import least_values


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "close"),
    [(8, 3, 0.5, 1.0, 0.014), (8, 3, 1.0, 1.0, 1e-3), (8, 3, 3.0, 0.5, 1e-3),
     (6, 4, 1.0, 1.0, 0.02), (6, 4, 2.0, 0.5, 2e-3), (6, 4, 5.0, 1.0, 1e-5),
     (5, 5, 1.0, 1.0, 0.04), (5, 5, 3.0, 1.0, 1e-3)],
)  # fmt: skip
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(n, k, epsilon, prior, close):
    optimum = orbit_optimum(n, k, epsilon, prior)
    found = simplex_bound(n, epsilon, prior, rounds=240, k=k)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


@pytest.mark.parametrize(
    ("n", "k", "epsilon"),
    [(7, 3, 0.5), (7, 3, 1.0), (7, 3, 2.0), (40, 3, 1.0), (4, 4, 1.0), (3, 5, 1.0)],
)
def test_no_column_whatever_makes_the_prices_too_high(n, k, epsilon):
    # The second road: for each answer s the least value over all private columns, by a program.
    rows = compositions(n, k)
    found, space = simplex_bound(n, epsilon, k=k), simplex(n, k)
    if n == 40:
        assert segment_prices(space, epsilon)[1].max() > 0
    prices = found.prices[space.place[tuple(rows[:, :-1].T)]]
    assert found.lower == pytest.approx(prices.mean(), abs=1e-12)
    assert min(least_values(rows, prices, epsilon)) > -1e-7


def test_every_round_is_a_proof_and_more_rounds_never_lower_the_bound():
    bounds = [simplex_bound(20, 1.0, rounds=rounds).lower for rounds in (8, 24, 96)]
    assert bounds == sorted(bounds)
    space = simplex(20)
    mean = space.mean(lattice_means(space, 1.0))
    assert 1.0 < mean / bounds[-1] < 1.015


def test_prices_fall_by_as_much_as_each_answer_asks_for():
    rows, space = compositions(20, 3), simplex(20)
    values = np.random.default_rng(3).normal(0.05, 0.1, len(space.rows))
    grid = Grid(space, 1.0)
    fall = tested.fall(grid, values, grid.times(np.ones(len(values))))
    near = np.exp(-np.abs(space.rows[:, None] - rows).sum(axis=2) / 2)
    given = near @ fall[space.place[tuple(rows[:, :-1].T)]]
    assert fall.min() >= 0.0
    assert np.all(given >= -values - 1e-12)
    assert space.mean(fall) < (-values / near.sum(axis=1)).max()  # less than the same everywhere


def test_prices_above_the_distance_outside_a_window_are_refused():
    space = simplex(60)
    sixes, alone = np.full(len(space.rows), 6), np.zeros(len(space.rows), dtype=np.int64)
    windows = tested._all_windows(space, sixes, 0, alone)
    fair = np.full(len(space.rows), 0.01)
    assert tested.nothing_outside(space, [tested.ended(one) for one in windows], fair)
    fair[space.place[20, 20]] = 0.999
    assert not tested.nothing_outside(space, [tested.ended(one) for one in windows], fair)


@pytest.mark.parametrize(("n", "k"), [(14, 3), (9, 4)])
def test_what_rings_do_not_exclude_is_looked_up(n, k):
    # Windows of radius 2, and one price raised to just below or above the least distance outside.
    space, rows, losses = simplex(n, k), compositions(n, k), distance_table(n, [1.0] * k)
    twos, alone = np.full(len(space.rows), 2), np.zeros(len(space.rows), dtype=np.int64)
    windows = tested._all_windows(space, twos, 0, alone)
    away = np.abs(rows[:, None] - rows).sum(axis=2) > 4
    for x in (0, len(rows) // 3, len(rows) // 2):
        prices, number = np.zeros(len(space.rows)), space.place[tuple(rows[x, :-1])]
        least = losses[x, away[x]].min()
        prices[number] = least * (1 - 1e-9)
        assert tested.nothing_outside(space, [tested.ended(one) for one in windows], prices)
        prices[number] = least * (1 + 1e-9)
        assert not tested.nothing_outside(space, [tested.ended(one) for one in windows], prices)


def test_windows_too_small_give_no_bound(monkeypatch):
    monkeypatch.setattr(tested, "nothing_outside", lambda *given: False)
    with pytest.raises(ArithmeticError, match="windows of the certificate are too small"):
        simplex_bound(6, 1.0, rounds=1)
