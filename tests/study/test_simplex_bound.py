"""The lower bound for three categories: against linear programs, and its proof against another."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_bound as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import lattice_means, simplex
from dpbayes.study.simplex_bound import simplex_bound


@pytest.mark.parametrize(
    ("epsilon", "prior", "close"), [(0.5, 1.0, 0.05), (1.0, 1.0, 1e-3), (3.0, 0.5, 1e-3)]
)
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(epsilon, prior, close):
    optimum = orbit_optimum(8, 3, epsilon, prior)
    found = simplex_bound(8, epsilon, prior, rounds=600)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_column_whatever_makes_the_prices_too_high(epsilon):
    # The second road: for each answer s the least value over all private columns, by a program.
    n = 7
    rows, losses = compositions(n, 3), distance_table(n, [1.0] * 3)
    found, space = simplex_bound(n, epsilon), simplex(n)
    prices = found.prices[space.place[rows[:, 0], rows[:, 1]]]
    assert found.lower == pytest.approx(prices.mean(), abs=1e-12)
    apart = np.abs(rows[:, None] - rows[None]).sum(axis=2) // 2
    first, second = np.nonzero(apart == 1)
    number, shape = np.arange(first.size), (first.size, len(rows))
    private = sparse.coo_array((np.ones(first.size), (number, first)), shape) - sparse.coo_array(
        (np.full(first.size, np.exp(epsilon)), (number, second)), shape
    )
    for s in np.flatnonzero(np.all(np.diff(rows, axis=1) >= 0, axis=1)):
        bounds = [(1.0, 1.0) if x == s else (0.0, None) for x in range(len(rows))]
        worst = linprog(
            losses[:, s] - prices, private, np.zeros(first.size), bounds=bounds, method="highs"
        )
        assert worst.fun > -1e-7


def test_every_round_is_a_proof_and_more_rounds_never_lower_the_bound():
    bounds = [simplex_bound(20, 1.0, rounds=rounds).lower for rounds in (8, 24, 96)]
    assert bounds == sorted(bounds)
    space = simplex(20)
    mean = space.mean(lattice_means(space, 1.0))
    assert 1.0 < mean / bounds[-1] < 1.015


def test_prices_above_the_distance_outside_a_window_are_refused(monkeypatch):
    space = simplex(60)
    windows = tested._all_windows(space, np.full(len(space.rows), 6))
    fair = np.full(len(space.rows), 0.01)
    assert tested._nothing_outside(space, windows, fair)
    fair[space.place[20, 20]] = 0.999
    assert not tested._nothing_outside(space, windows, fair)


def test_windows_too_small_give_no_bound(monkeypatch):
    monkeypatch.setattr(tested, "_nothing_outside", lambda *given: False)
    with pytest.raises(ArithmeticError, match="windows of the certificate are too small"):
        simplex_bound(6, 1.0, rounds=1)


def test_what_columns_say_is_the_derivative_of_the_value():
    space, q = simplex(9), float(np.exp(-1.0))
    (windows, *_) = tested._all_windows(space, np.full(len(space.rows), 4))
    prices = np.full(len(space.rows), 0.2)
    found, factors = windows.values(prices, q)
    columns = windows.columns(factors)
    raised, _ = windows.values(prices - 1e-7, q)
    total = sum(u.sum(axis=(1, 2)) for u in columns)
    np.testing.assert_allclose((raised[0] - found[0])[:, 0, 0] / 1e-7, total, rtol=1e-4)
    # Lowering all prices by t adds at least t times the kernel's sum: what the proof uses.
    assert np.all(total >= windows.kernel(q) * (1 - 1e-12))
