"""The bound by boxes: below linear programs, near the bound answer by answer, and not too high."""

import numpy as np
import pytest

from dpbayes.divergences import affinity_by_step
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_box_bound as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import lattice_means, simplex
from dpbayes.study.simplex_box_bound import box_bound
from dpbayes.study.simplex_box_means import box_mean
from dpbayes.study.simplex_record import read_record
from tests.study.private_columns import least_values


def verdict(found, prices, prior=1.0):
    n, k = found.boxes.n, found.boxes.k
    radius = min(n, int(np.ceil(tested._REACH / found.epsilon)))
    rings = [tested.Ring(k, d) for d in range(radius + 1)]
    shares = tested.first_shares(found.boxes, rings, prices, prior)
    return tested.checked(found.boxes, prices, found.epsilon, prior, shares, rings)


def place_of(boxes, rows):
    levels = boxes.level_of(np.sort(rows, axis=1)[:, :-1])
    parts = zip(boxes.counters().astype(np.int64), levels.T, strict=True)
    return sum(column[level] for column, level in parts)


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "close"),
    [(8, 3, 2.0, 1.0, 0.015), (6, 4, 2.0, 0.5, 0.02), (6, 4, 5.0, 1.0, 3e-3),
     (5, 5, 3.0, 1.0, 0.02), (16, 3, 6.0, 1.0, 0.03), (16, 3, 6.0, 0.4, 0.05)],
)  # fmt: skip
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(n, k, epsilon, prior, close):
    optimum = orbit_optimum(n, k, epsilon, prior)
    found = box_bound(n, epsilon, k, prior, ratio=1.3)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "ratio", "close"),
    [(3, 300, 5.0, 1.05, 0.01), (3, 300, 2.0, 1.1, 0.04), (4, 100, 5.0, 1.05, 0.005),
     (4, 100, 2.0, 1.1, 0.015), (5, 50, 5.0, 1.1, 0.005)],
)  # fmt: skip
def test_it_is_below_the_bound_answer_by_answer_and_near_it(k, n, epsilon, ratio, close):
    exact = next(x for x in read_record() if (x.k, x.n, x.epsilon) == (k, n, epsilon))
    found = box_bound(n, epsilon, k, ratio=ratio)
    assert exact.lower * (1.0 - close) < found.lower < exact.lower * (1.0 + 1e-3)
    assert found.lower < exact.lattice


@pytest.mark.parametrize(("n", "k", "epsilon"), [(16, 3, 6.0), (5, 4, 1.0)])
def test_no_column_whatever_makes_the_prices_too_high(n, k, epsilon):
    # The second road: for each answer s the least value over all private columns, by a program.
    rows = compositions(n, k)
    found = box_bound(n, epsilon, k, ratio=1.3)
    levels = found.boxes.level_of(np.sort(rows, axis=1)[:, :-1])
    parts = zip(found.boxes.counters(), levels.T, strict=True)
    number = {place: i for i, place in enumerate(found.boxes.places)}
    prices = found.prices[[number[p] for p in sum(column[level] for column, level in parts)]]
    assert found.lower == pytest.approx(prices.mean(), abs=1e-12)
    assert min(least_values(rows, prices, epsilon)) > -1e-7


def test_the_prices_pass_and_prices_a_few_per_cent_higher_are_refused():
    found = box_bound(100, 5.0)
    passed = verdict(found, found.prices)
    assert passed.missing.max() == 0.0
    assert np.all(found.prices <= passed.nearest)
    assert verdict(found, found.prices * 1.03).missing.min() > 0.0
    for at in (0, len(found.prices) // 2, len(found.prices) - 1):
        raised = found.prices.copy()
        raised[at] *= 1.05
        assert verdict(found, raised).missing[at] > 0.01


@pytest.mark.parametrize(("n", "k", "epsilon"), [(16, 3, 6.0), (9, 4, 5.0)])
def test_nothing_beyond_the_window_is_nearer_than_said(n, k, epsilon):
    found = box_bound(n, epsilon, k, ratio=1.3)
    radius = int(np.ceil(tested._REACH / epsilon))
    rows, losses = compositions(n, k), distance_table(n, [1.0] * k)
    sorted_rows, near = np.sort(rows, axis=1), verdict(found, found.prices).nearest
    for low, high, least in zip(found.boxes.low, found.boxes.high, near, strict=True):
        for x in np.flatnonzero(np.all((low <= sorted_rows) & (sorted_rows <= high), axis=1)):
            beyond = np.abs(rows - rows[x]).sum(axis=1) > 2 * radius
            assert not np.any(losses[x, beyond] < least)


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "ratio"), [(60, 4, 5.0, 1.3), (90, 4, 3.0, 1.1), (200, 3, 2.0, 1.4)]
)
def test_no_price_around_an_answer_is_above_what_its_box_is_charged(n, k, epsilon, ratio):
    found = box_bound(n, epsilon, k, ratio=ratio, rounds=4)
    random, boxes = np.random.default_rng(4), found.boxes
    prices = random.random(len(found.prices))
    radius = tested.reach(n, epsilon)
    rings = [tested.Ring(k, d) for d in range(radius + 1)]
    steps = np.concatenate([one.steps for one in rings])
    held, price_at = tested._highest_near(boxes, prices, rings), np.full(boxes.size, np.nan)
    price_at[boxes.places] = prices
    answers = random.multinomial(n, random.dirichlet(np.ones(k), size=400))
    near_ties = n // k + random.integers(-9, 9, (200, k - 1))
    near_ties = np.column_stack([near_ties, n - near_ties.sum(axis=1)])
    near_ties = near_ties[near_ties.min(axis=1) >= 0]
    clear = set()
    for s in np.sort(np.vstack([answers, near_ties]), axis=1):
        box = np.flatnonzero(boxes.places == place_of(boxes, s[None])[0])
        window = tested.Window(boxes, box, radius)
        data = s + steps
        inside = np.all(data >= 0, axis=1)
        charged = held[window.places(steps, window.low_levels) + window.table][inside, 0]
        assert np.all(price_at[place_of(boxes, data[inside])] <= charged)
        clear.add(bool(window.table[0]))
    assert clear == {False, True}


def test_where_all_boxes_that_count_are_lowered_nothing_undercuts():
    found = box_bound(100, 5.0)
    rings = [tested.Ring(4, d) for d in range(tested.reach(100, 5.0) + 1)]
    raised = found.prices * np.random.default_rng(5).uniform(0.98, 1.05, len(found.prices))
    shares = tested.first_shares(found.boxes, rings, raised, 1.0)
    before = tested.checked(found.boxes, raised, 5.0, 1.0, shares, rings)
    lowered = tested.repaired(found.boxes, raised, before, rings, 1.0, wide=True)
    assert before.missing.max() > 0.01
    after = tested.checked(found.boxes, lowered, 5.0, 1.0, shares, rings)
    assert after.missing.max() < 1e-12
    assert found.boxes.mean(lowered) > 0.9 * found.boxes.mean(raised)


@pytest.mark.parametrize("prior", [0.3, 1.0, 4.0])
def test_the_affinity_of_counts_rises_with_the_counts_and_is_concave(prior):
    counts = prior + np.arange(400.0)
    for move in range(1, 30):
        rising = affinity_by_step(counts, float(move))
        assert np.all(np.diff(rising) > 0.0)
        assert np.all(np.diff(rising, 2) < 0.0)


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "close"),
    [(30, 4, 5.0, 1.0, 0.1), (100, 3, 2.0, 0.5, 0.03), (60, 4, 2.0, 1.0, 0.05),
     (20, 5, 5.0, 1.0, 0.2), (400, 3, 5.0, 1.0, 0.005)],
)  # fmt: skip
def test_lattice_noise_is_below_its_upper_bound_and_near_it(n, k, epsilon, prior, close):
    space = simplex(n, k, prior)
    mean = space.mean(lattice_means(space, epsilon))
    for ratio in (1.0, 1.05):
        assert mean < box_mean(n, epsilon, k, prior, ratio) < mean * (1.0 + close)


@pytest.mark.parametrize("ratio", [0.9, 1.6])
def test_levels_that_fall_or_are_too_wide_are_refused(ratio):
    with pytest.raises(ValueError, match=r"ratio must be in \[1, 1.5\]"):
        box_bound(20, 2.0, ratio=ratio)
