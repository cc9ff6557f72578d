"""Boxes of data: every histogram in one box, and the largest value above a place."""

from math import comb

import numpy as np
import pytest

from dpbayes.study import simplex_boxes as tested
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_boxes import boxes

CASES = [(3, 50, 1.2, 5), (4, 40, 1.3, 3), (5, 20, 1.5, 2), (4, 12, 1.5, 12), (4, 13, 1.5, 0)]


@pytest.mark.parametrize(("k", "n", "ratio", "singles"), CASES)
def test_every_histogram_is_in_one_box_and_between_its_corners(k, n, ratio, singles):
    found, space = boxes(n, k, ratio, singles), simplex(n, k)
    levels = found.level_of(space.rows[:, :-1])
    places = sum(column[level] for column, level in zip(found.counters(), levels.T, strict=True))
    copies = np.bincount(places, space.copies, minlength=found.size)
    np.testing.assert_array_equal(copies[found.places], found.rows)
    assert found.rows.sum() == copies.sum() == comb(n + k - 1, k - 1)
    number = {place: i for i, place in enumerate(found.places)}
    at = [number[place] for place in places]
    assert np.all(found.low[at] <= space.rows)
    assert np.all(space.rows <= found.high[at])


def test_the_rows_of_very_many_data_are_all_counted():
    assert boxes(1000, 5, 1.3, 4).rows.sum() == comb(1004, 4)


@pytest.mark.parametrize(("k", "n", "ratio", "singles"), CASES)
@pytest.mark.parametrize(("exact", "most"), [(0, None), (3, None), (2, 1), (3, 2), (99, 0)])
def test_the_highest_is_that_of_all_boxes_above(k, n, ratio, singles, exact, most):
    found = boxes(n, k, ratio, singles)
    values = np.random.default_rng(1).random(len(found.rows))
    highest = found.highest(values, exact, most)[found.places]
    top = np.inf if most is None else most
    for level, high in zip(found.levels, highest, strict=True):
        up = found.levels - level
        above = (up >= 0) & (up <= np.where(level < exact, 0, top))
        assert high == values[above.all(axis=1)].max()


@pytest.mark.parametrize(("k", "n", "ratio", "singles"), CASES)
@pytest.mark.parametrize(("exact", "most"), [(0, 0), (0, 50), (2, 1), (3, 2), (99, 5)])
def test_what_is_spread_is_the_largest_of_all_places_below(k, n, ratio, singles, exact, most):
    found = boxes(n, k, ratio, singles)
    every = tested.sorted_rows(len(found.starts), k - 1)
    values = np.random.default_rng(1).random(len(every))
    for at in np.random.default_rng(2).integers(len(every), size=200):
        down = every[at] - every
        below = (down >= 0) & (down <= np.where(every < exact, 0, most))
        assert found.spread(values, exact, most)[at] == values[below.all(axis=1)].max()


def test_a_moved_level_spreads_over_no_more_levels_than_said():
    found = boxes(200, 4, 1.2, 5)
    for radius in (2, 9):
        for z in range(-radius, radius + 1):
            low = found.level_of(found.starts + z)
            high = found.level_of(np.minimum(found.ends + z, 200))
            assert np.all(high - low <= found.span(radius))
    assert found.span(2) >= 1


def test_too_many_levels_are_refused(monkeypatch):
    monkeypatch.setattr(tested, "LARGEST_TABLE", 500)
    with pytest.raises(ValueError, match=r"13 levels make 455 .*|take wider levels"):
        boxes(40, 4, 1.01, 3)
