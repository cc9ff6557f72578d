"""The check of prices in whole numbers: against mpmath, linear programs and prices too high."""

import mpmath
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import OptimizeResult, linprog

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_check as tested
from dpbayes.study.simplex import lattice_means, simplex
from dpbayes.study.simplex_check import CASES, PriceCheck, distance_below, read_prices

BITS = 30


def _least_of_all(n, k, epsilon, prices, s):
    """The least value over all private columns on all data, by a program without windows."""
    rows, losses = compositions(n, k), distance_table(n, [1.0] * k)
    apart = np.abs(rows[:, None] - rows[None]).sum(axis=2) // 2
    first, second = np.nonzero(apart == 1)
    number, shape = np.arange(first.size), (first.size, len(rows))
    private = sparse.coo_array((np.ones(first.size), (number, first)), shape) - sparse.coo_array(
        (np.full(first.size, np.exp(epsilon)), (number, second)), shape
    )
    here = int(np.flatnonzero((rows == s).all(axis=1))[0])
    bounds = [(1.0, 1.0) if x == here else (0.0, None) for x in range(len(rows))]
    cost = losses[:, here] - prices
    return linprog(cost, private, np.zeros(first.size), bounds=bounds, method="highs").fun


@pytest.mark.parametrize(
    ("x", "s"),
    [((0, 2), (1, 1)), ((0, 0, 5), (1, 2, 2)), ((300, 333, 367), (301, 333, 366)),
     ((999, 1, 0), (0, 0, 1000)), ((7, 9, 3, 1), (8, 8, 2, 2)), ((4, 4, 4), (4, 4, 4))],
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "epsilon", "high"),
    [(14, 3, 1.0, 1.0), (14, 3, 2.0, 1.0), (12, 3, 0.5, 1.0), (6, 4, 1.0, 0.9)],
)
def test_what_is_left_over_is_the_least_over_all_private_columns(n, k, epsilon, high):
    space = simplex(n, k)
    # Prices around what noise pays, too high for some answers and for others not.
    some = lattice_means(space, epsilon) * np.random.default_rng(5).normal(
        high, 0.1, len(space.rows)
    )
    units = np.floor(some * 2.0**BITS).astype(np.int64)
    check = PriceCheck(space, epsilon, units, BITS)
    assert check.lower == pytest.approx(space.mean(units / 2.0**BITS), rel=1e-12)
    prices = (units / 2.0**BITS)[space.place[tuple(compositions(n, k)[:, :-1].T)]]
    found = [check.least(number) for number in range(len(space.rows))]
    exact = [_least_of_all(n, k, epsilon, prices, s) for s in space.rows]
    assert min(exact) < 0.0 < max(exact)
    assert np.all(np.array(found) <= np.array(exact) + 1e-7)
    assert found == pytest.approx(exact, abs=2e-4)  # data beyond a window are left out


@pytest.mark.slow
def test_a_program_that_fails_leaves_a_weaker_proof_and_no_wrong_one(monkeypatch):
    check = read_prices()[3, 300, 2.0].check((3, 300, 2.0))
    numbers = range(0, len(check.units), 3000)
    fair = np.array([check.least(number) for number in numbers])
    failed = OptimizeResult(status=4, success=False)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *given, **options: failed)
    blind = np.array([check.least(number) for number in numbers])
    assert np.all(blind <= fair + 1e-9)
    assert blind.min() < 0.0 <= fair.min()


@pytest.mark.slow
def test_prices_raised_a_little_are_refused():
    kept = read_prices()[3, 300, 2.0]
    check = kept.check((3, 300, 2.0))
    raised = PriceCheck(check.space, 2.0, kept.units + kept.units // 500, kept.bits)
    assert min(raised.least(number) for number in range(0, len(kept.units), 1000)) < 0.0


def test_what_does_not_fit_is_refused_before_it_starts():
    space = simplex(4)
    with pytest.raises(ValueError, match=r"3 prices for 4 classes"):
        PriceCheck(space, 1.0, np.zeros(3, dtype=np.int64), 20)
    with pytest.raises(ValueError, match=r"flat prior 1, got 0.5"):
        PriceCheck(simplex(4, 3, 0.5), 1.0, np.zeros(4, dtype=np.int64), 20)
    with pytest.raises(ValueError, match=r"epsilon must be at most 40 for a check, got 41"):
        PriceCheck(space, 41.0, np.zeros(4, dtype=np.int64), 20)


def test_what_the_prices_prove_is_a_little_below_what_noise_attains():
    kept = read_prices()
    assert set(kept) == set(CASES)
    for epsilon, most in ((5.0, 1.003), (1.0, 1.014)):
        check = kept[3, 300, epsilon].check((3, 300, epsilon))
        noise = check.space.mean(lattice_means(check.space, epsilon))
        assert check.lower < noise < most * check.lower


@pytest.mark.parametrize("case", CASES)
def test_no_private_column_undercuts_the_kept_prices(case):
    check = read_prices()[case].check(case)
    ends = [0, len(check.units) - 1, int(check.space.place[0, case[1] // 2])]
    assert min(check.least(number) for number in ends) >= 0.0
    assert check.least_of_some(6, np.random.default_rng(23)) >= 0.0


@pytest.mark.slow
def test_no_private_column_whatever_undercuts_three_hundred_records_at_epsilon_five():
    case = 3, 300, 5.0
    check = read_prices()[case].check(case)
    assert min(check.least(number) for number in range(len(check.units))) >= 0.0
