"""Folded noise: private, complete, geometric at k = 2, and how near to the optimum."""

from fractions import Fraction

import numpy as np
import pytest
from dpbayes.samplers.folded import enclosed_weights, solved

import dpbayes as dp
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_folded as tested
from dpbayes.study import simplex_grid
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_folded import folded


@pytest.mark.parametrize(("n", "epsilon"), [(9, 0.3), (12, 2.0)])
def test_with_two_categories_it_is_the_truncated_geometric_mechanism(n, epsilon):
    space, found = simplex(n, 2), folded(simplex(n, 2), epsilon)
    geometric = dp.mechanism("geometric", epsilon)
    exact = [float(geometric.law(row, [1, 1]).mean_distance()) for row in space.rows]
    np.testing.assert_allclose(found.distances, exact, rtol=1e-10)
    assert found.exists


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior"), [(6, 3, 0.5, 1.0), (5, 4, 2.0, 0.4), (4, 5, 4.0, 1.0)]
)
def test_its_table_is_private_complete_and_has_its_means(n, k, epsilon, prior):
    space, rows = simplex(n, k, prior), compositions(n, k)
    found, losses = folded(space, epsilon), distance_table(n, [prior] * k)
    numbers = space.place[tuple(rows[:, :-1].T)]
    apart = np.abs(rows[:, None] - rows).sum(axis=2) // 2
    table = found.weights[numbers] * np.exp(-epsilon * apart)
    assert found.exists
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    assert found.off < 1e-12
    first, second = np.nonzero(apart == 1)
    ratios = np.log(table[first] / table[second])
    assert np.abs(ratios).max() == pytest.approx(epsilon, rel=1e-12)
    np.testing.assert_allclose((table * losses).sum(axis=1), found.distances[numbers], rtol=1e-11)
    assert found.mean == pytest.approx(float((table * losses).sum() / len(rows)), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "above"),
    [(8, 3, 3.0, 1e-7), (12, 3, 2.0, 1e-6), (8, 3, 1.0, 1e-3), (6, 4, 5.0, 1e-7), (6, 4, 2.0, 1e-3),
     (5, 5, 3.0, 1e-6), (8, 3, 0.5, 0.1)],
)  # fmt: skip
def test_at_the_larger_budgets_it_is_the_optimum_of_the_linear_program(n, k, epsilon, above):
    optimum, found = orbit_optimum(n, k, epsilon), folded(simplex(n, k), epsilon)
    assert -1e-7 < found.mean / optimum.value - 1.0 < above


@pytest.mark.parametrize(("n", "k", "epsilon"), [(40, 3, 2.0), (20, 4, 3.0), (12, 5, 5.0)])
def test_beyond_linear_programs_it_is_within_a_thousandth_of_the_bound(n, k, epsilon):
    found = folded(simplex(n, k), epsilon)
    assert found.exists
    assert 1.0 < found.mean / simplex_bound(n, epsilon, k=k).lower < 1.001


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior"), [(60, 3, 0.5, 1.0), (40, 3, 2.0, 0.5), (14, 4, 1.0, 1.0)]
)
def test_it_is_the_solution_of_the_dense_system(n, k, epsilon, prior):
    space, rows, losses = simplex(n, k, prior), compositions(n, k), distance_table(n, [prior] * k)
    apart = np.abs(rows[:, None] - rows).sum(axis=2) // 2
    table = np.exp(-epsilon * apart)
    weights = np.linalg.solve(table, np.ones(len(rows)))
    prices = np.linalg.solve(table, (table * losses).sum(axis=1))
    numbers, found = space.place[tuple(rows[:, :-1].T)], folded(space, epsilon)
    np.testing.assert_allclose(found.weights[numbers], weights, rtol=1e-10)
    np.testing.assert_allclose(found.prices[numbers], prices, rtol=1e-10)
    np.testing.assert_allclose(found.distances[numbers], (table * losses) @ weights, rtol=1e-10)
    assert space.mean(found.prices) == pytest.approx(found.mean, rel=1e-11)


def test_a_grid_too_large_is_refused_and_a_negative_weight_is_none(monkeypatch):
    monkeypatch.setattr(simplex_grid, "LARGEST_GRID", 280)
    with pytest.raises(ValueError, match="needs a grid of 324 places; at most 280 are held"):
        folded(simplex(8), 1.0)
    none = tested.Folded(np.array([0.5, -0.1]), np.zeros(2), 0.0, 0.0, np.zeros(2), 1e-9)
    assert not none.exists


@pytest.mark.parametrize(
    ("n", "k", "epsilon"),
    [(30, 3, Fraction(1, 10)), (30, 3, Fraction(1, 20)), (12, 4, Fraction(3, 100)),
     (8, 5, Fraction(1, 10))],
)  # fmt: skip
def test_where_a_weight_is_negative_enclosures_say_so_too(n, k, epsilon):
    pytest.importorskip("flint")
    found = folded(simplex(n, k), float(epsilon))
    assert not found.exists
    with pytest.raises(ValueError, match="a weight is negative"):
        enclosed_weights(n, k, epsilon, 192)


@pytest.mark.parametrize(
    ("n", "k", "epsilon"),
    [(30, 3, Fraction(1, 10)), (30, 3, Fraction(1, 1000)), (30, 3, Fraction(3, 10)),
     (12, 4, Fraction(3, 100)), (8, 5, Fraction(1, 10)), (40, 2, Fraction(1, 1000))],
)  # fmt: skip
def test_no_weight_is_wrong_by_more_than_is_said(n, k, epsilon):
    pytest.importorskip("flint")
    space, found = simplex(n, k), folded(simplex(n, k), float(epsilon))
    exact = solved(n, k, epsilon, 256, [1] * len(space.rows))
    off = np.abs(found.weights - [float(one.mid()) for one in exact])
    assert 0.0 < off.max() <= found.error < 1e-4


@pytest.mark.parametrize(("n", "k", "epsilon"), [(9, 3, 0.1), (9, 3, 2.0), (5, 4, 0.5)])
def test_no_eigenvalue_is_below_the_least(n, k, epsilon):
    rows = compositions(n, k)
    table = np.exp(-epsilon * (np.abs(rows[:, None] - rows).sum(axis=2) // 2))
    least = simplex_grid.Grid(simplex(n, k), epsilon).least_eigenvalue
    assert 0.0 < least < np.linalg.eigvalsh(table)[0]


def test_with_two_categories_the_least_eigenvalue_is_not_much_above_that():
    rows = np.arange(81)
    table = np.exp(-np.abs(rows[:, None] - rows))
    least = simplex_grid.Grid(simplex(80, 2), 1.0).least_eigenvalue
    assert 0.5 * np.linalg.eigvalsh(table)[0] < least < np.linalg.eigvalsh(table)[0]


def test_what_rounding_hides_is_not_decided():
    found = folded(simplex(30), 1e-3)
    with pytest.raises(ArithmeticError, match="whether folded noise exists is not decided"):
        assert found.exists


def test_an_unsolved_system_is_an_error_that_decides_nothing(monkeypatch):
    monkeypatch.setattr(simplex_grid, "_STEPS", 1)
    with pytest.raises(ArithmeticError, match=r"a residual of .* says nothing about its solution"):
        folded(simplex(30), 0.5)
