"""The bound from columns that count by their prices: below programs, above common shares."""

import numpy as np
import pytest

from dpbayes.posteriors import compositions
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex_box_check import CornerCheck
from dpbayes.study.simplex_corner_bound import corner_bound, searched
from dpbayes.study.simplex_corner_columns import column_bound, proved, valued
from dpbayes.study.simplex_corner_mesh import Program, own_window
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
    found = column_bound(n, epsilon, k, prior, ratio=1.3)
    assert optimum.lower * (1.0 - close) < found.lower < optimum.value + 1e-7


def test_among_many_records_it_is_above_common_shares_and_below_the_mechanisms_of_the_record():
    exact = next(x for x in read_record() if (x.k, x.n, x.epsilon) == (3, 300, 1.0))
    found = column_bound(300, 1.0, 3, answers=1500)
    common = corner_bound(300, 1.0, 3, radius=found.radius)
    best = np.nanmin([exact.lattice, exact.folded, exact.plateaus])
    assert common.lower < found.lower < best


def test_prices_fall_until_no_corner_undercuts_and_no_farther_than_that_takes():
    found = column_bound(60, 2.0, 3, ratio=1.2)
    search = searched(60, 2.0, 3, 1.0, 1.2, found.radius)
    at = np.arange(len(search.corners.places))
    there = valued(search, found.factors, at, (6, 40))
    assert (there.value / there.apart).min() > -1e-9
    assert not there.fall.any()
    assert not there.lacks.any()
    higher, nodes = 1.02 * found.factors, Program(search, 500, 1.6).boxes
    above = valued(search, higher, at, (6, 40))
    assert above.value.min() < 0.0
    assert np.allclose(above.around.sum(axis=1), 1.0)
    assert above.around.shape[0] == np.count_nonzero(above.lacks > 0.0)
    kept = proved(search, higher, nodes)
    assert np.all(kept <= higher)
    assert search.mean(kept) > 0.98 * found.lower
    assert valued(search, kept, at, (6, 40)).value.min() > -1e-9


def test_what_a_column_is_charged_is_what_v_falls_with_when_all_prices_rise():
    search = searched(60, 2.0, 3, 1.0, 1.2, 5)
    ways, at = all_ways(3, 5), np.arange(len(search.corners.places))
    window = OwnWindow(search.corners, at, search.rings, ways, search.shape, search.q)
    held = search.highest(np.full(len(search.boxes.rows), 0.97))
    window.begin(held)
    before, charged = window.values(), window.charged()
    window.begin((1.0 + 1e-7) * held)
    fall = before - window.values()
    assert np.allclose(fall / charged, 1e-7, rtol=1e-3)


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "radius", "learned"), [(20, 3, 1.0, 10, 4), (10, 4, 2.0, 6, 2)]
)
def test_rings_beyond_pass_on_as_if_their_shares_were_kept_straight(n, k, epsilon, radius, learned):
    near = searched(n, epsilon, k, 1.0, 1.0, radius, 1, learned)
    whole = searched(n, epsilon, k, 1.0, 1.0, radius, 1)
    whole.shape = near.shape  # fitted to the rings whose shares are learned
    at = np.arange(len(near.corners.places))
    one = own_window(near, at, all_ways(k, learned))
    other = own_window(whole, at, all_ways(k, radius))
    for d in range(learned + 1, radius + 1):
        for number, (_, _, part) in enumerate(other.ways[d]):
            other.weights[d][number] = np.tile(part[:, None], (1, len(at)))
        other.total[d] = other._sums(d)
    # All prices are charged: with high ones, what is left over beyond the rings is negative, too.
    for part in 0.9, 1.3:
        factors = part + 0.1 * np.sin(np.arange(len(near.boxes.rows)))
        one.begin(near.highest(factors))
        other.begin(whole.highest(factors))
        assert np.allclose(one.values(), other.values(), rtol=1e-12, atol=1e-14)
        columns = zip(other.columns(), other.worths, strict=True)
        expected = [u * worth for u, worth in columns][learned + 1 :]
        one.columns()
        found = list(one.far_columns())
        for (place, taken), wanted in zip(found, expected, strict=True):
            assert np.allclose(taken, wanted, rtol=1e-12)
            assert place.min() >= 2 * near.boxes.size


def test_shares_beyond_need_not_be_learned_for_a_bound_about_as_high():
    learned = column_bound(60, 1.0, 3, radius=12, answers=1500, turns=8)
    near = column_bound(60, 1.0, 3, radius=12, answers=1500, turns=8, learned=7)
    short = column_bound(60, 1.0, 3, radius=7, answers=1500, turns=8)
    assert short.lower < near.lower
    assert near.lower > (1.0 - 1e-3) * learned.lower


@pytest.mark.parametrize("plateau", [None, 1.5])
def test_no_column_whatever_makes_prices_too_high_that_rings_beyond_allow(plateau):
    # The second road: for each answer s the least value over all private columns, by a program.
    n, k, epsilon = 40, 3, 2.0
    rows = compositions(n, k)
    found = column_bound(n, epsilon, k, ratio=1.4, radius=5, learned=2, plateau=plateau)
    assert found.boxes.rows.max() > 3
    assert min(least_values(rows, found.prices(rows), epsilon)) > -1e-7


def test_with_ways_in_a_ring_single_answers_in_whole_numbers_agree():
    found = column_bound(80, 3.0, 4, ratio=1.3, radius=5, answers=500, turns=6, learned=3)
    check, random = CornerCheck(found), np.random.default_rng(2)
    assert check.least_of_some(5, random) >= 0.0
    mean, error = check.mean_of_some(20_000, random)
    assert mean + 5.0 * error > found.lower


def test_what_it_cannot_take_is_refused():
    with pytest.raises(ValueError, match="answers must be"):
        column_bound(40, 2.0, 3, answers=0)
    with pytest.raises(ValueError, match="turns must be"):
        column_bound(40, 2.0, 3, turns=4)
    with pytest.raises(ValueError, match=r"mesh must be in \(1, 3\], got 1.0"):
        column_bound(40, 2.0, 3, mesh=1.0)
    with pytest.raises(ValueError, match=r"reserve must be in \[0, 1\), got 1.0"):
        column_bound(20, 1.0, 3, reserve=1.0)
    with pytest.raises(ValueError, match="learned must be"):
        column_bound(40, 2.0, 3, radius=4, learned=5)
    with pytest.raises(ValueError, match="plateau must be positive"):
        column_bound(40, 2.0, 3, learned=2, plateau=0.0)
    with pytest.raises(ValueError, match=r"plateau must be None where learned is, got 2\.0"):
        column_bound(40, 2.0, 3, plateau=2.0)


def test_a_reserve_is_taken_off_all_prices_and_leaves_less_to_prove():
    plain, spared = (column_bound(20, 1.0, 3, turns=8, reserve=part) for part in (0.0, 0.05))
    assert 0.94 * plain.lower < spared.lower < 0.97 * plain.lower
