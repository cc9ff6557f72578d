"""Data sets up to order, and means of lattice noise over all of them."""

from itertools import permutations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import hellinger
from dpbayes.posteriors import compositions
from dpbayes.study import simplex as tested
from dpbayes.study.simplex import all_rows, lattice_means, simplex


@pytest.mark.parametrize(("n", "k"), [(1, 3), (5, 3), (12, 3), (6, 4), (4, 5), (7, 2)])
def test_every_data_set_has_its_class_and_every_class_its_copies(n, k):
    space, rows = simplex(n, k), compositions(n, k)
    np.testing.assert_array_equal(all_rows(n, k), rows)
    np.testing.assert_array_equal(
        space.rows[space.place[tuple(rows[:, :-1].T)]], np.sort(rows, axis=1)
    )
    assert space.copies.sum() == len(rows)
    assert np.count_nonzero(space.place < len(space.rows)) == len(rows)
    assert space.mean(space.rows[:, 0].astype(float)) == pytest.approx(rows.min(axis=1).mean())


def test_affinities_add_up_to_the_distance():
    space = simplex(9, prior=0.5)
    table = space.affinities(9)
    x, y = np.array([1, 2, 6]), np.array([4, 0, 5])
    total = sum(table[a, b - a + 9] for a, b in zip(x, y, strict=True))
    assert np.sqrt(-np.expm1(-total)) == pytest.approx(hellinger(0.5 + x, 0.5 + y), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior"),
    [(9, 2, 0.5, 1.0), (3, 3, 1.0, 1.0), (6, 3, 3.0, 0.3), (2, 4, 2.0, 1.0), (3, 4, 3.0, 0.5),
     (2, 5, 4.0, 1.0)],
)  # fmt: skip
def test_means_of_lattice_noise_are_those_of_its_exact_laws_over_all_orders(n, k, epsilon, prior):
    space, described = simplex(n, k, prior), dp.mechanism("lattice", epsilon)

    exact = {
        tuple(row): float(described.law(row, [prior] * k).mean_distance())
        for row in compositions(n, k).tolist()
    }
    found = lattice_means(space, epsilon)
    for row, value in zip(space.rows.tolist(), found, strict=True):
        orders = set(permutations(row))
        assert value == pytest.approx(np.mean([exact[one] for one in orders]), abs=1e-7)
    assert space.mean(found) == pytest.approx(np.mean(list(exact.values())), abs=1e-7)


def test_too_many_records_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"n must be at most 1000 for k = 3 categories, got 1001"):
        simplex(1001)
    with pytest.raises(ValueError, match=r"n must be at most 199 for k = 4 categories, got 200"):
        simplex(200, 4)
    monkeypatch.setattr(tested, "LARGEST_BOX", 100)
    with pytest.raises(ValueError, match="at most 100 are listed"):
        lattice_means(simplex(6), 1.0)
