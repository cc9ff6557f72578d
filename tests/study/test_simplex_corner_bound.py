"""The bound from corners of boxes: below programs, near the bound answer by answer."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_corner_bound as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex_boxes import boxes
from dpbayes.study.simplex_corner_bound import corner_bound
from dpbayes.study.simplex_corners import Corners, CornerWindow, Shape
from dpbayes.study.simplex_record import read_record
from tests.study.private_columns import least_values


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "close"),
    [(8, 3, 2.0, 1.0, 2e-3), (6, 4, 2.0, 0.5, 4e-3), (6, 4, 5.0, 1.0, 1e-3),
     (5, 5, 3.0, 1.0, 2e-3), (16, 3, 6.0, 1.0, 4e-3), (16, 3, 6.0, 0.4, 2e-2)],
)  # fmt: skip
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(n, k, epsilon, prior, close):
    optimum = orbit_optimum(n, k, epsilon, prior)
    found = corner_bound(n, epsilon, k, prior, ratio=1.3)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "ratio", "close"),
    [(3, 300, 5.0, 1.1, 0.003), (3, 300, 2.0, 1.1, 0.01), (3, 1000, 1.0, 1.1, 0.04),
     (4, 100, 5.0, 1.2, 0.01), (4, 100, 2.0, 1.2, 0.01)],
)  # fmt: skip
def test_it_is_below_the_bound_answer_by_answer_and_near_it(k, n, epsilon, ratio, close):
    exact = next(x for x in read_record() if (x.k, x.n, x.epsilon) == (k, n, epsilon))
    found = corner_bound(n, epsilon, k, ratio=ratio)
    assert exact.lower * (1.0 - close) < found.lower < exact.lower * (1.0 + 1e-3)
    assert found.lower < exact.lattice


def test_the_bound_is_at_most_the_mean_of_its_prices_over_all_data():
    found = corner_bound(200, 5.0, 3, ratio=1.4)
    mean = found.prices(compositions(200, 3)).mean()
    assert 0.999 * mean < found.lower <= mean


def test_no_column_whatever_makes_prices_in_wide_boxes_too_high():
    # The second road: for each answer s the least value over all private columns, by a program.
    n, k, epsilon = 40, 3, 6.0
    rows = compositions(n, k)
    found = corner_bound(n, epsilon, k, ratio=1.3, radius=2)
    assert found.boxes.rows.max() > 3
    prices = found.prices(rows)
    assert min(least_values(rows, prices, epsilon)) > -1e-7


@pytest.mark.parametrize(("n", "k", "ratio", "every"), [(120, 3, 1.5, 1), (100, 4, 1.4, 7)])
def test_the_corner_distances_and_shapes_hold_for_every_answer_of_a_box(n, k, ratio, every):
    # A row as a mean of corners, each count by itself: distances are above, the shape below.
    radius, rng = 2, np.random.default_rng(3)
    found = boxes(n, k, ratio, 2 * radius)
    corners, shape = Corners(found, radius, 1.0), Shape(0.3, 0.7, 1.0)
    window = CornerWindow(corners, np.arange(len(corners.places)))
    steps = np.array([z for z in product(range(-2, 3), repeat=k) if sum(z) == 0 and any(z)])
    steps = steps[np.abs(steps).sum(axis=1) <= 2 * radius]
    away, step = window.distances(steps), {tuple(z): i for i, z in enumerate(steps.tolist())}
    corner = {tuple(row): i for i, row in enumerate(corners.counts.tolist())}
    rows = compositions(n, k)
    rows = rows[np.all(np.diff(rows, axis=1) >= 0, axis=1) & (rows[:, 0] >= radius)][::every]
    table, seen, closest = logs_of(n, radius), 0, np.inf
    for row in rows:
        lows = found.starts[found.level_of(row[:-1]).astype(int)]
        ends = np.append(found.starts, n)[found.level_of(row[:-1]).astype(int) + 1]
        ends = np.where(ends == lows + 1, lows, ends)
        parts = [
            [(m, 1.0)] if m == top else [(m, (top - x) / (top - m)), (top, (x - m) / (top - m))]
            for x, m, top in zip(row.tolist(), lows.tolist(), ends.tolist(), strict=False)
        ]
        for z in steps[rng.choice(len(steps), 3, replace=False)]:
            least = mean = 0.0
            for chosen in product(*parts):
                counts, weight = [m for m, _ in chosen], float(np.prod([w for _, w in chosen]))
                order = [*np.argsort(counts, kind="stable").tolist(), k - 1]
                counts = np.array([*counts, n - sum(counts)])
                at = corner[tuple(counts[order].tolist())]
                least += weight * away[step[tuple(z[order].tolist())], at]
                mean += weight * float(shape.of_rows((counts + z)[None])[0])
            logs = sum(table[move + radius, x] for move, x in zip(z, row, strict=True))
            exact = float(np.sqrt(-np.expm1(logs)))
            assert exact >= least - 1e-12
            closest = min(closest, exact / least) if len(parts) < sum(map(len, parts)) else closest
            assert shape.of_rows((row + z)[None].astype(float))[0] <= mean + 1e-12
        seen += len(parts) < sum(map(len, parts))
    assert seen > 100
    assert closest < 1.05


def logs_of(n, radius):
    """Return ln BC of the counts m and m + z with the prior 1, by the gamma function."""
    z, m = np.arange(-radius, radius + 1)[:, None], np.arange(n + 1)
    with np.errstate(invalid="ignore"):
        half = gammaln(1.0 + m + z / 2.0)
        return half - 0.5 * (gammaln(1.0 + m) + gammaln(1.0 + np.maximum(m + z, 0)))


def test_the_prices_pass_and_prices_a_little_higher_are_refused():
    found = corner_bound(100, 5.0)
    search = tested.Search(found.boxes, 5.0, 1.0, found.radius)
    rounds = [search.checked(found.factors, 1.0) for _ in range(8)]
    assert max(one.value.min() for one in rounds) > -1e-4 * found.lower
    higher = [search.checked(1.03 * found.factors, 1.0) for _ in range(8)]
    assert max(one.value.min() for one in higher) < -1e-3 * found.lower


def test_no_price_is_above_the_distance_to_an_answer_outside_the_window():
    # Prices at the ceiling, one ring beyond the last: what is on the last ring may be nearer.
    n, k, radius = 60, 3, 3
    rows, losses = compositions(n, k), distance_table(n, [1.0] * k)
    search = tested.searched(n, 1.0, k, 1.0, 1.3, radius, beyond=1)
    prices = search.bound(0.0, search.ceiling).prices(rows)[:, None]
    apart = np.abs(rows[:, None] - rows[None]).sum(axis=2) // 2
    assert np.all(prices <= np.where(apart > radius, losses, 1.0))
    assert np.any(prices > np.where(apart == radius, losses, 1.0))
    assert search.boxes.rows.max() > 6


def test_corners_between_many_groups_of_shares_cost_little(monkeypatch):
    # What a corner lacks is measured with the shares of the group in which it lacks most.
    few = corner_bound(100, 2.0, ratio=1.2).lower
    monkeypatch.setattr(tested, "_FEWEST", 16)
    monkeypatch.setattr(tested, "_AT_ONCE", 160)
    assert corner_bound(100, 2.0, ratio=1.2).lower > 0.99 * few


def test_what_it_cannot_take_is_refused():
    with pytest.raises(ValueError, match=r"ratio must be in \[1, 1.5\], got 1.6"):
        corner_bound(100, 5.0, ratio=1.6)
    with pytest.raises(ValueError, match="radius must be"):
        corner_bound(100, 5.0, radius=0)


@pytest.mark.parametrize(("n", "radius"), [(16, 1), (17, 2)])
def test_what_a_largest_count_near_the_radius_loses_is_a_number(n: int, radius: int) -> None:
    losses = Corners(boxes(n, 3, 1.5, 2 * radius), radius, 1.0).losses
    assert np.all((losses >= 0.0) & (losses < 1.0))
    assert losses[:, -1].max() > 1e-3


@pytest.mark.parametrize(
    ("n", "k", "ratio", "radius"), [(33, 3, 1.5, 3), (58, 4, 1.5, 1), (44, 4, 1.46, 2)]
)
def test_a_corner_whose_largest_count_can_end_at_zero_is_refused(n, k, ratio, radius):
    """Prices are not convex at 0: there s + z can cost more than every mean of corners + z."""
    found = Corners(boxes(n, k, ratio, 2 * radius), radius, 20.0)
    assert found.counts[:, -1].min() == radius
    with pytest.raises(ValueError, match="has no largest count: shorten them"):
        corner_bound(n, 3.0, k, 20.0, ratio, radius)


def test_why_it_is_refused():
    shape, step = Shape(0.0, 1.0, 20.0), np.array([2, 1, -3])
    corners = np.array([[10, 10, 13], [10, 15, 8], [15, 15, 3]])
    share = np.linalg.solve(corners.T, [11.0, 11.0, 11.0])
    assert share == pytest.approx([0.8, 0.0, 0.2])
    inside = shape.of_rows(np.array([[11, 11, 11]]) + step).item()
    assert inside > share @ shape.of_rows(corners + step) + 0.001
