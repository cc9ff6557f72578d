"""Prices by boxes at single answers: what is proved, what is refused, and what programs find."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study.simplex_box_bound import box_bound
from dpbayes.study.simplex_box_check import BoxCheck, CornerCheck
from dpbayes.study.simplex_box_record import found_bound, read_record
from dpbayes.study.simplex_corner_bound import CornerBound, corner_bound


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "answers"), [(4, 300, 5.0, 20), (4, 1000, 5.0, 20), (4, 300, 2.0, 6)]
)
def test_no_answer_drawn_undercuts_the_prices_of_a_kept_line(k, n, epsilon, answers):
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (k, n, epsilon))
    found = found_bound(n, epsilon, kept.ratio, k)
    check = CornerCheck(found) if isinstance(found, CornerBound) else BoxCheck(found)
    assert check.lower == pytest.approx(kept.lower, rel=1e-4)
    assert check.least_of_some(answers, np.random.default_rng(n)) >= 0.0


@pytest.mark.parametrize(("n", "k", "epsilon"), [(16, 3, 6.0), (5, 4, 1.0)])
def test_the_least_is_that_of_a_program_over_all_data(n, k, epsilon):
    rows, losses = compositions(n, k), distance_table(n, [1.0] * k)
    check = BoxCheck(box_bound(n, epsilon, k, ratio=1.3))
    prices = check._units(rows) / 2.0**check.bits
    apart = np.abs(rows[:, None] - rows[None]).sum(axis=2) // 2
    first, second = np.nonzero(apart == 1)
    each, shape = np.arange(first.size), (first.size, len(rows))
    private = sparse.coo_array((np.ones(first.size), (each, first)), shape) - sparse.coo_array(
        (np.full(first.size, np.exp(epsilon)), (each, second)), shape
    )
    for s in range(0, len(rows), 7):
        bounds = [(1.0, 1.0) if x == s else (0.0, None) for x in range(len(rows))]
        worst = linprog(
            losses[:, s] - prices, private, np.zeros(first.size), bounds=bounds, method="highs"
        )
        # What lies beyond the window adds a little to the program and nothing to what is proved.
        assert worst.fun - 1e-4 < check.least(rows[s]) < worst.fun + 1e-9


def test_prices_that_are_raised_are_refused():
    found = box_bound(100, 5.0)
    higher = BoxCheck(replace(found, prices=1.05 * found.prices))
    random = np.random.default_rng(2)
    assert all(higher.least(higher._drawn(random)) < 0.0 for _ in range(5))


def test_a_price_above_the_distance_to_the_last_ring_is_refused():
    found = box_bound(60, 5.0)
    far = replace(found, prices=found.prices + 0.9)
    assert BoxCheck(far).least(np.array([0, 3, 20, 37])) == -np.inf


def test_every_answer_that_is_drawn_is_a_histogram_of_its_box():
    check, random = BoxCheck(box_bound(100, 5.0, ratio=1.3)), np.random.default_rng(3)
    boxes = check.boxes
    for _ in range(200):
        row = check._drawn(random)
        assert row.sum() == boxes.n
        assert np.any(np.all((boxes.low <= row) & (row <= boxes.high), axis=1))


@pytest.mark.parametrize(("k", "n", "epsilon"), [(4, 100, 2.0), (3, 300, 1.0)])
def test_no_answer_drawn_undercuts_prices_checked_at_corners(k, n, epsilon):
    check, random = CornerCheck(corner_bound(n, epsilon, k, ratio=1.2)), np.random.default_rng(n)
    assert check.least_of_some(6, random) >= 0.0
    mean, error = check.mean_of_some(20_000, random)
    assert check.lower - 5.0 * error < mean < 1.002 * check.lower + 5.0 * error
    higher = CornerCheck(replace(check.bound, factors=1.05 * check.bound.factors))
    assert min(higher.least(higher._drawn(random)) for _ in range(4)) < 0.0
