"""The bound from corners of boxes: below programs, near the bound answer by answer."""

import numpy as np
import pytest
from scipy.optimize import linprog

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


def test_the_corner_distances_and_shapes_hold_for_every_answer_of_a_box():
    # A row of a box as a mean of its corners: distances are above their mean, the shape below.
    found = corner_bound(120, 5.0, 3, ratio=1.5)
    corners = Corners(found.boxes, found.radius, 1.0)
    window = CornerWindow(corners, np.arange(len(corners.places)))
    step = np.array([[1, 1, -2], [-2, 1, 1], [1, -1, 0]])
    away = window.distances(step)
    rows = compositions(120, 3)
    rows = rows[np.all(np.diff(rows, axis=1) >= 0, axis=1)]
    every = np.all((found.boxes.low[:, None] <= rows) & (rows <= found.boxes.high[:, None]), axis=2)
    table = distance_table(120, [1.0] * 3)
    number = {tuple(row): i for i, row in enumerate(compositions(120, 3).tolist())}
    seen = 0
    for row, box in zip(rows, every.argmax(axis=0), strict=True):
        if row[0] < 2:
            continue
        at = np.unique(corners.of_box[box])
        counts = corners.counts[at].astype(float)
        system = np.vstack([counts.T, np.ones(len(at))])
        parts = linprog(np.zeros(len(at)), A_eq=system, b_eq=[*row, 1.0], method="highs")
        assert parts.success
        for z, one in zip(step, away, strict=True):
            here = number[tuple((row + z).tolist())], number[tuple(row.tolist())]
            assert table[here] >= parts.x @ one[at] - 1e-9
            mean = parts.x @ found.shape.of_rows(counts + z)
            assert found.shape.of_rows((row + z)[None])[0] <= mean + 1e-12
        seen += len(at) > 1
    assert seen > 100


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
