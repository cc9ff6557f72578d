"""Data sets over three categories up to order, rings of steps, means of lattice noise."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import hellinger
from dpbayes.posteriors import compositions
from dpbayes.study.simplex import lattice_means, ring, simplex


@pytest.mark.parametrize("n", [1, 5, 12])
def test_every_data_set_has_its_class_and_every_class_its_copies(n):
    space, rows = simplex(n), compositions(n, 3)
    np.testing.assert_array_equal(
        space.rows[space.place[rows[:, 0], rows[:, 1]]], np.sort(rows, axis=1)
    )
    assert space.copies.sum() == len(rows)
    assert space.mean(space.rows[:, 0].astype(float)) == pytest.approx(rows.min(axis=1).mean())


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_ring_holds_every_step_of_its_size_once_next_to_two_of_the_ring_before(d):
    steps, inner = ring(d), ring(d - 1)
    assert len({tuple(z) for z in steps.tolist()}) == 6 * d
    assert np.all(steps.sum(axis=1) == 0)
    assert np.all(np.abs(steps).sum(axis=1) == 2 * d)
    for number, z in enumerate(steps):
        side, place = divmod(number, d)
        named = [(side * (d - 1) + place) % max(6 * (d - 1), 1)]
        named += [side * (d - 1) + place - 1] if place else []
        near = np.flatnonzero(np.abs(inner - z).sum(axis=1) == 2)
        assert sorted(near) == sorted(set(named if d > 1 else [0]))


def test_affinities_add_up_to_the_distance():
    space = simplex(9, 0.5)
    table = space.affinities(9)
    x, y = np.array([1, 2, 6]), np.array([4, 0, 5])
    total = sum(table[a, b - a + 9] for a, b in zip(x, y, strict=True))
    assert np.sqrt(-np.expm1(-total)) == pytest.approx(hellinger(0.5 + x, 0.5 + y), abs=1e-13)


@pytest.mark.parametrize(("n", "epsilon", "prior"), [(8, 1.0, 1.0), (12, 3.0, 0.3)])
def test_means_of_lattice_noise_are_those_of_its_exact_law(n, epsilon, prior):
    space = simplex(n, prior)
    described = dp.mechanism("lattice", epsilon)
    exact = [described.law(row, [prior] * 3).mean_distance() for row in space.rows]
    np.testing.assert_allclose(lattice_means(space, epsilon), exact, rtol=1e-10)


def test_too_many_records_are_refused():
    with pytest.raises(ValueError, match=r"n must be at most 1000 for three categories, got 1001"):
        simplex(1001)
