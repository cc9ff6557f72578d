"""The check of prices in whole numbers: against mpmath, linear programs and prices too
high.
"""

from itertools import permutations

import mpmath
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import OptimizeResult, linprog

import dpbayes as dp
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_check as tested
from dpbayes.study.simplex_check import (
    CASES,
    PriceCheck,
    distance_below,
    lattice_means,
    simplex,
    stored_check,
)

BITS = 30


@pytest.mark.parametrize("n", [1, 5, 12])
def test_every_data_set_has_its_class_and_every_class_its_copies(n):
    space = simplex(n)
    np.testing.assert_array_equal(space.rows[space.place], np.sort(space.every, axis=1))
    np.testing.assert_array_equal(np.bincount(space.place), space.copies)
    assert space.mean(space.rows[:, 0].astype(float)) == space.every.min(axis=1).mean()
    x, y = space.every[0], space.every[-1]
    total = sum(space.affinities[a, b] for a, b in zip(x, y, strict=True))
    assert np.sqrt(-np.expm1(-total)) == pytest.approx(
        dp.hellinger(1.0 + x, 1.0 + y), abs=1e-13
    )


@pytest.mark.parametrize(("n", "epsilon"), [(3, 1.0), (6, 3.0), (7, 0.8)])
def test_means_of_lattice_noise_are_those_of_its_exact_laws_over_all_orders(n, epsilon):
    space, described = simplex(n), dp.mechanism("lattice", epsilon)
    for row, value in zip(
        space.rows.tolist(), lattice_means(space, epsilon), strict=True
    ):
        exact = [
            described.law(x, [1.0] * 3).mean_distance() for x in set(permutations(row))
        ]
        assert value == pytest.approx(np.mean(exact), abs=1e-7)


@pytest.mark.parametrize(
    ("x", "s"),
    [((0, 2), (1, 1)), ((0, 0, 5), (1, 2, 2)), ((300, 333, 367), (301, 333, 366)),
     ((999, 1, 0), (0, 0, 1000)), ((4, 4, 4), (4, 4, 4))],
)  # fmt: skip
def test_the_distance_is_below_that_of_many_digits_and_no_more_than_rounding(x, s):
    with mpmath.workdps(60):
        logs = mpmath.mpf(0)
        for a, b in zip(x, s, strict=True):
            middle = mpmath.loggamma(mpmath.mpf(a + b) / 2 + 1)
            logs += middle - (mpmath.loggamma(a + 1) + mpmath.loggamma(b + 1)) / 2
        exact = mpmath.sqrt(abs(1 - mpmath.exp(logs)))
        found = mpmath.mpf(distance_below(list(x), list(s))) / mpmath.mpf(2) ** 128
        # pi is taken at 53 digits, which is what is lost.
        assert found <= exact + mpmath.mpf(10) ** -30
        assert exact**2 - found**2 < 2e-15


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_the_factor_is_above_the_exponential_and_next_to_it(epsilon):
    with mpmath.workdps(60):
        factor = mpmath.mpf(tested._exponential_above(epsilon)) / mpmath.mpf(2) ** 128
        assert 0 < factor - mpmath.exp(mpmath.mpf(epsilon)) < mpmath.mpf(10) ** -10


def least_of_all(n, epsilon, prices, s):
    """The least value over all private columns on all data, by a program without
    windows.
    """
    rows, losses = compositions(n, 3), distance_table(n, [1.0] * 3)
    first, second = np.nonzero(np.abs(rows[:, None] - rows[None]).sum(axis=2) == 2)
    number, shape = np.arange(first.size), (first.size, len(rows))
    private = sparse.coo_array(
        (np.ones(first.size), (number, first)), shape
    ) - sparse.coo_array(
        (np.full(first.size, np.exp(epsilon)), (number, second)), shape
    )
    here = int(np.flatnonzero((rows == s).all(axis=1))[0])
    bounds = [(1.0, 1.0) if x == here else (0.0, None) for x in range(len(rows))]
    cost = losses[:, here] - prices
    return linprog(
        cost, private, np.zeros(first.size), bounds=bounds, method="highs"
    ).fun


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(14, 1.0), (14, 2.0), (12, 0.5)])
def test_what_is_left_over_is_the_least_over_all_private_columns(n, epsilon):
    space, random = simplex(n), np.random.default_rng(5)
    # Prices around what noise pays, too high for some answers and for others not.
    some = lattice_means(space, epsilon) * random.normal(1.0, 0.1, len(space.rows))
    units = np.floor(some * 2.0**BITS).astype(np.int64)
    check = PriceCheck(space, epsilon, units, BITS)
    assert check.lower == pytest.approx(space.mean(units / 2.0**BITS), rel=1e-12)
    found = [check.least(number) for number in range(len(space.rows))]
    prices = (units / 2.0**BITS)[space.place]
    exact = [least_of_all(n, epsilon, prices, s) for s in space.rows]
    assert min(exact) < 0.0 < max(exact)
    assert np.all(np.array(found) <= np.array(exact) + 1e-7)
    assert found == pytest.approx(exact, abs=2e-4)  # data beyond a window are left out


@pytest.mark.slow
def test_a_program_that_fails_or_prices_too_high_prove_nothing(monkeypatch):
    check = stored_check(300, 2.0)
    numbers = range(0, len(check.units), 3000)
    fair = np.array([check.least(number) for number in numbers])
    raised = PriceCheck(check.space, 2.0, check.units + check.units // 500, check.bits)
    assert (
        min(raised.least(number) for number in range(0, len(check.units), 1000)) < 0.0
    )
    failed = OptimizeResult(status=4, success=False)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *given, **options: failed)
    blind = np.array([check.least(number) for number in numbers])
    assert np.all(blind <= fair + 1e-9)
    assert blind.min() < 0.0 <= fair.min()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), CASES)
def test_no_private_column_undercuts_the_kept_prices(n, epsilon):
    check = stored_check(n, epsilon)
    ends = [0, len(check.units) - 1, int(check.space.place[n // 2])]
    assert min(check.least(number) for number in ends) >= 0.0
    assert check.least_of_some(6, np.random.default_rng(23)) >= 0.0
