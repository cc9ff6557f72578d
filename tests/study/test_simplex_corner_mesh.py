"""The bound from a mesh of factors: below programs, above the bound with common shares."""

import numpy as np
import pytest

from dpbayes.posteriors import compositions
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex_box_check import CornerCheck
from dpbayes.study.simplex_corner_bound import corner_bound, searched
from dpbayes.study.simplex_corner_columns import column_bound
from dpbayes.study.simplex_corner_mesh import (
    Program,
    _between,
    _drawn,
    _node_counts,
    every_value,
    fallen,
    mesh_bound,
)
from dpbayes.study.simplex_corner_windows import OwnWindow, all_ways
from dpbayes.study.simplex_record import read_record
from tests.study.private_columns import least_values


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "close"),
    [(8, 3, 1.0, 1.0, 2e-2), (6, 4, 1.0, 0.5, 2e-2), (6, 4, 2.0, 1.0, 1e-2),
     (5, 5, 2.0, 1.0, 1e-2), (16, 3, 1.0, 0.4, 2e-2)],
)  # fmt: skip
def test_the_bound_is_below_the_optimum_of_the_program_and_close_to_it(n, k, epsilon, prior, close):
    optimum = orbit_optimum(n, k, epsilon, prior)
    found = mesh_bound(n, epsilon, k, prior, ratio=1.3)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


@pytest.mark.parametrize(("k", "n", "epsilon", "ratio"), [(3, 300, 1.0, 1.1), (4, 30, 1.0, 1.2)])
def test_for_wide_noise_it_is_above_common_shares_and_below_the_mechanisms_of_the_record(
    k, n, epsilon, ratio
):
    exact = next(x for x in read_record() if (x.k, x.n, x.epsilon) == (k, n, epsilon))
    found = mesh_bound(n, epsilon, k, ratio=ratio, answers=1000, turns=8)
    common = corner_bound(n, epsilon, k, ratio=ratio, radius=found.radius)
    best = np.nanmin([exact.lattice, exact.folded, exact.plateaus])
    assert common.lower < found.lower < best


@pytest.mark.parametrize("bound", [mesh_bound, column_bound])
def test_no_column_whatever_makes_its_prices_too_high(bound):
    # The second road: for each answer s the least value over all private columns, by a program.
    n, k, epsilon = 40, 3, 2.0
    rows = compositions(n, k)
    found = bound(n, epsilon, k, ratio=1.4, radius=5)
    assert found.boxes.rows.max() > 3
    assert min(least_values(rows, found.prices(rows), epsilon)) > -1e-7


@pytest.mark.parametrize("bound", [mesh_bound, column_bound])
def test_single_answers_in_whole_numbers_agree_and_the_mean_of_prices_is_above_the_bound(bound):
    found = bound(80, 3.0, 4, ratio=1.3, answers=500, turns=6)
    check, random = CornerCheck(found), np.random.default_rng(2)
    assert check.least_of_some(5, random) >= 0.0
    mean, error = check.mean_of_some(20_000, random)
    assert mean + 5.0 * error > found.lower
    assert check.lower == pytest.approx(found.lower, abs=1e-9)


def test_its_prices_pass_again_and_prices_a_little_higher_are_refused():
    found = mesh_bound(60, 2.0, 3, ratio=1.2)
    search = searched(60, 2.0, 3, 1.0, 1.2, found.radius)
    values, apart = every_value(search, found.factors)
    assert (values / apart).min() > -1e-9
    assert search.mean(found.factors) == pytest.approx(found.lower, abs=2e-9)
    higher, _ = every_value(search, 1.03 * found.factors)
    assert (higher / apart).min() < -1e-3
    # Where some undercut, factors fall until hardly any does.
    again, _ = every_value(search, fallen(search, 1.03 * found.factors, np.maximum(-higher, 0)))
    assert (again / apart).min() > 0.2 * (higher / apart).min()


def test_shares_that_are_learned_sum_to_one_and_bring_more():
    search = searched(60, 1.0, 3, 1.0, 1.2, 8)
    ways = all_ways(3, search.radius)
    at = np.arange(len(search.corners.places))
    window = OwnWindow(search.corners, at, search.rings, ways, search.shape, search.q)
    window.begin(search.highest(np.full(len(search.boxes.rows), 0.97)))
    first = window.values()
    for _ in range(8):
        window.learn()
        last = window.values()
    assert np.minimum(last, 0.0).sum() > np.minimum(first, 0.0).sum()
    for d in range(1, len(search.rings)):
        total = np.zeros(window.distance[d].shape)
        for (start, _, _), weight in zip(ways[d], window.weights[d], strict=True):
            total[start] += weight / window.total[d][start]
        assert np.allclose(total, 1.0, atol=1e-14)


def test_a_mesh_is_straight_between_sorted_nodes():
    search = searched(100, 5.0, 4, 1.0, 1.2, None)
    between = _between(search.boxes, _node_counts(100, 1.4))
    used = between[search.boxes.places]
    assert np.allclose(used.sum(axis=1), 1.0)
    assert used.data.min() > 0.0
    program = Program(search, 50, 1.4)
    assert len(np.unique(program.at)) == 50
    assert np.allclose(program.factors(np.full(program.nodes, 0.9)), 0.9)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(ValueError, match="answers must be"):
        mesh_bound(40, 2.0, 3, answers=0)
    with pytest.raises(ValueError, match="turns must be"):
        mesh_bound(40, 2.0, 3, turns=3)
    with pytest.raises(ValueError, match=r"mesh must be in \(1, 3\], got 1.0"):
        mesh_bound(40, 2.0, 3, mesh=1.0)


def test_fewer_answers_than_cells_lie_in_cells_everywhere():
    cells = np.repeat(np.arange(1000.0), 3)[:, None]
    some = _drawn(cells, 400)
    assert len(np.unique(cells[some])) == 400
    assert np.all(np.histogram(cells[some], bins=5, range=(0, 1000))[0] > 50)
    many = _drawn(cells, 1500)
    assert np.bincount(cells[many, 0].astype(int)).min() == 1
    assert len(np.unique(many)) == 1500
