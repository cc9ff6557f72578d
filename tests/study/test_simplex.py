"""Data sets up to order, rings of steps, means of lattice noise, the best answers to it."""

from itertools import permutations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import hellinger
from dpbayes.laws import sum_zero as noise
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study import simplex as tested
from dpbayes.study.orbit_programs import orbit_optimum
from dpbayes.study.simplex import all_rows, lattice_means, remapped_mean, ring, simplex


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


@pytest.mark.parametrize(("k", "d"), [(3, 1), (3, 5), (4, 4), (5, 3)])
def test_a_ring_holds_every_step_of_its_size_once(k, d):
    steps = ring(k, d)
    assert len({tuple(z) for z in steps.tolist()}) == len(steps)
    assert np.all(steps.sum(axis=1) == 0)
    assert np.all(np.abs(steps).sum(axis=1) == 2 * d)
    assert np.log(len(steps)) == pytest.approx(
        float(np.log(noise.number_of_points(k, d) - noise.number_of_points(k, d - 1)))
    )


def test_affinities_add_up_to_the_distance():
    space = simplex(9, prior=0.5)
    table = space.affinities(9)
    x, y = np.array([1, 2, 6]), np.array([4, 0, 5])
    total = sum(table[a, b - a + 9] for a, b in zip(x, y, strict=True))
    assert np.sqrt(-np.expm1(-total)) == pytest.approx(hellinger(0.5 + x, 0.5 + y), abs=1e-13)


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


@pytest.mark.parametrize(("n", "epsilon"), [(10, 0.1), (20, 1.0), (7, 3.0)])
def test_the_best_answers_at_two_categories_are_those_of_the_remapped_geometric(n, epsilon):
    remapped = dp.mechanism("geometric", epsilon, remap=True)
    exact = np.mean([remapped.law([x, n - x], [1, 1]).mean_distance() for x in range(n + 1)])
    assert remapped_mean(simplex(n, 2), epsilon) == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize(("n", "k"), [(3, 3), (2, 4)])
def test_the_best_answers_are_the_least_of_a_list_of_all_noisy_rows(n, k):
    epsilon, rows, losses = 1.2, compositions(n, k), distance_table(n, [1.0] * k)
    steps = noise.points(k, 16)
    noisy = np.unique(np.concatenate([row + steps for row in rows]), axis=0)
    weights = np.exp(-epsilon * np.abs(noisy[:, None] - rows).sum(axis=2) / 2)
    total = float((weights @ losses).min(axis=1).sum())
    direct = total / len(rows) * np.exp(-noise.log_normaliser(k, epsilon))
    assert remapped_mean(simplex(n, k), epsilon) == pytest.approx(direct, abs=2e-7)


@pytest.mark.parametrize(("n", "k", "epsilon"), [(8, 3, 0.5), (6, 4, 1.0), (4, 5, 1.0)])
def test_best_answers_are_between_the_optimum_and_the_projection(n, k, epsilon):
    space = simplex(n, k)
    found = remapped_mean(space, epsilon)
    assert orbit_optimum(n, k, epsilon).lower - 1e-7 < found
    assert found <= space.mean(lattice_means(space, epsilon)) + 1e-7


def test_too_many_records_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"n must be at most 1000 for k = 3 categories, got 1001"):
        simplex(1001)
    with pytest.raises(ValueError, match=r"n must be at most 199 for k = 4 categories, got 200"):
        simplex(200, 4)
    with pytest.raises(ValueError, match="has 6555 data sets; answers are compared for at most"):
        remapped_mean(simplex(113), 1.0)
    monkeypatch.setattr(tested, "LARGEST_BOX", 100)
    with pytest.raises(ValueError, match="at most 100 are listed"):
        lattice_means(simplex(6), 1.0)
