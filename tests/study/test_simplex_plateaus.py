"""Folded noise with plateaus: its table is private and complete, and it is nearer to the bound."""

from itertools import permutations

import numpy as np
import pytest

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex_plateaus as tested
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_plateaus import plateaus


def written_out(n, epsilon, space, found):
    """The table P[answer | data], every order of every answer by itself."""
    rows = compositions(n, 3)
    place = {tuple(row): number for number, row in enumerate(rows.tolist())}
    table = np.zeros((len(rows), len(rows)))
    for row, point, flat, half in zip(
        space.rows, found.points, found.flats, found.half, strict=True
    ):
        ways = {order: place[tuple(row[list(order)].tolist())] for order in permutations(range(3))}
        for order, answer in ways.items():
            near = [row + np.array([0, t, -t]) for t in range(-half, half + 1)]
            apart = [np.abs(rows - one[list(order)]).sum(axis=1) // 2 for one in near]
            alike = sum(other == answer for other in ways.values())
            table[:, answer] += flat * np.exp(-epsilon * np.min(apart, axis=0)) / alike
            table[:, answer] += point * np.exp(-epsilon * apart[half]) / alike
    return rows, table


@pytest.mark.parametrize(("n", "epsilon", "prior"), [(30, 1.0, 1.0), (30, 0.5, 0.7)])
def test_the_table_written_out_is_private_complete_and_has_the_mean(n, epsilon, prior):
    space = simplex(n, 3, prior)
    found = plateaus(space, epsilon)
    rows, table = written_out(n, epsilon, space, found)
    assert (found.flats > 0.0).any()
    assert min(found.points.min(), found.flats.min()) >= 0.0
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-10)
    first, second = np.nonzero(np.abs(rows[:, None] - rows).sum(axis=2) == 2)
    assert np.log(table[first] / table[second]).max() < epsilon * (1 + 1e-9)
    losses = distance_table(n, [prior] * 3)
    assert found.mean == pytest.approx(float((table * losses).sum() / len(rows)), rel=1e-9)


@pytest.mark.parametrize(("n", "epsilon"), [(60, 1.0), (100, 1.0)])
def test_plateaus_close_most_of_the_gap(n, epsilon):
    space = simplex(n)
    found, before = plateaus(space, epsilon), folded(space, epsilon).mean
    lower = simplex_bound(n, epsilon, rounds=48).lower
    assert (found.flats > 0.0).any()
    assert found.off < 1e-10
    assert lower < found.mean < before - 0.85 * (before - lower)


def test_plateaus_become_fewer_only_around_what_they_ask_too_much_of(monkeypatch):
    space = simplex(100)
    found = plateaus(space, 0.5)
    monkeypatch.setattr(tested, "_TURNS", 1)
    everywhere = plateaus(space, 0.5)
    assert found.mean < 0.999 * everywhere.mean
    for one in found, everywhere:
        assert min(one.points.min(), one.flats.min()) >= 0.0
        assert one.off < 1e-10


def test_where_no_plateau_undercuts_it_is_folded_noise():
    space = simplex(12)
    found = plateaus(space, 5.0)
    assert not found.flats.any()
    assert found.mean == pytest.approx(folded(space, 5.0).mean, rel=1e-12)


def test_without_folded_noise_there_is_nothing_to_complete_plateaus_with():
    with pytest.raises(ValueError, match="folded noise has a negative weight for n = 30"):
        plateaus(simplex(30), 0.1)


def test_other_than_three_categories_are_refused():
    with pytest.raises(ValueError, match="plateaus are for k = 3 categories, got 4"):
        plateaus(simplex(8, 4), 1.0)
