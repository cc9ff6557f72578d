"""The bound from columns that count by their prices: below programs, above common shares."""

import numpy as np
import pytest

from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex_corner_bound import corner_bound, searched
from dpbayes.study.simplex_corner_columns import column_bound, proved, valued
from dpbayes.study.simplex_corner_windows import OwnWindow, all_ways
from dpbayes.study.simplex_record import read_record


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
    values, apart, _ = valued(search, found.factors, at, (6, 40))
    assert (values / apart).min() > -1e-9
    higher = 1.02 * found.factors
    assert valued(search, higher, at, (6, 40))[0].min() < 0.0
    kept = proved(search, higher)
    assert np.all(kept <= higher)
    assert search.mean(kept) > 0.98 * found.lower
    assert valued(search, kept, at, (6, 40))[0].min() > -1e-9


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


def test_what_it_cannot_take_is_refused():
    with pytest.raises(ValueError, match="answers must be"):
        column_bound(40, 2.0, 3, answers=0)
    with pytest.raises(ValueError, match="turns must be"):
        column_bound(40, 2.0, 3, turns=4)
    with pytest.raises(ValueError, match=r"mesh must be in \(1, 3\], got 1.0"):
        column_bound(40, 2.0, 3, mesh=1.0)
