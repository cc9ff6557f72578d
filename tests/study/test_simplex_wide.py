"""Bounds for wide noise by prices on a mesh: below programs, and no private column undercuts."""

import numpy as np
import pytest

from dpbayes.study import simplex_wide as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_check import PriceCheck
from dpbayes.study.simplex_grid import Grid
from dpbayes.study.simplex_mesh import mesh, mesh_prices
from dpbayes.study.simplex_prices import rounded
from dpbayes.study.simplex_wide import gentle_fall, proved, wide_bound


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(epsilon):
    best = orbit_optimum(16, 3, epsilon).lower
    found = wide_bound(16, epsilon, 12)
    assert 0.97 * best < found.lower <= best * (1.0 + 1e-7)


def test_no_column_whatever_undercuts_the_prices_and_higher_ones_are_refused():
    found, space = wide_bound(20, 0.5, 8), simplex(20)
    kept = rounded(space, found.prices)
    check = PriceCheck(space, 0.5, kept.units, kept.bits)
    assert min(check.least(number) for number in range(len(space.rows))) >= 0.0
    raised = rounded(space, 1.05 * found.prices)
    check = PriceCheck(space, 0.5, raised.units, raised.bits)
    assert min(check.least(number) for number in range(len(space.rows))) < 0.0


def test_the_bound_of_other_prices_is_that_of_the_other_recursion():
    space, other = simplex(40), simplex_bound(40, 1.0, rounds=24)
    none = np.zeros(len(space.rows), dtype=np.int64)
    again = proved(space, 1.0, other.prices, none, 24)
    assert other.lower * 0.99 < again.lower <= other.lower
    high = proved(space, 1.0, 1.1 * other.prices, none, 24)
    assert high.lower < 1.01 * other.lower


def test_more_turns_of_the_search_bring_higher_bounds():
    few, many = (wide_bound(40, 0.5, turns, 12).lower for turns in (1, 6))
    assert few < many < 0.4554  # the mean of a mechanism


def test_prices_fall_by_enough_at_every_answer_that_undercuts():
    grid, random = Grid(simplex(40), 0.5), np.random.default_rng(3)
    values = random.normal(0.05, 0.1, len(grid.space.rows))
    fall = gentle_fall(grid, values)
    assert fall.min() >= 0.0
    assert np.all(grid.times(fall) >= -values - 1e-12)


def test_a_bound_whose_windows_are_too_small_is_refused(monkeypatch):
    space = simplex(40)
    prices, lengths = mesh_prices(space, 1.0, 2)
    monkeypatch.setattr(tested, "nothing_outside", lambda *given: False)
    with pytest.raises(ArithmeticError, match="too small"):
        proved(space, 1.0, prices, lengths, 4)


def test_a_mesh_gives_back_what_is_straight_in_the_logarithms():
    space = simplex(200)
    found = mesh(space, 1.2)
    straight = np.log(space.rows[:, :2] + 4.0) @ np.array([2.0, -1.0])
    off = np.abs(found.between @ straight[found.at] - straight)
    assert np.quantile(off, 0.98) < 1e-9  # beyond the last triangles the nearest node counts
    assert off.max() < 3.0 * np.log(1.2)  # a node is one level away in each count


def test_other_numbers_of_categories_are_refused():
    with pytest.raises(ValueError, match="k = 3"):
        mesh_prices(simplex(8, 4), 1.0, 2)
