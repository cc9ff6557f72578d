"""Sum-zero noise: how many vectors there are, and the normaliser."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from dpbayes.laws.lattice import noise, sizes, transforms


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_number_of_vectors_by_listing(k):
    listed = noise.points(k, 6)
    assert np.all(listed.sum(axis=1) == 0)
    assert len(np.unique(listed, axis=0)) == len(listed)
    positive = np.maximum(listed, 0)
    sizes, parts = positive.sum(axis=1), (positive > 0).sum(axis=1)
    counted = np.exp(noise.log_numbers(k, np.arange(1, 7)))
    for m, j in itertools.product(range(1, 7), range(1, k)):
        assert counted[m - 1, j - 1] == pytest.approx(np.sum((sizes == m) & (parts == j)))
    assert noise.number_of_points(k, 6) == pytest.approx(len(listed))


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.5), (4, 2.0), (7, 1.0)])
def test_normaliser_against_characteristic_function(k, epsilon):
    # sum over z of q^|z| with sum z = 0 is the mean over the circle of the k-th power of
    # sum_t q^|t| e^(i t w) = (1 - q^2) / (1 - 2 q cos w + q^2).
    q = mpmath.exp(-mpmath.mpf(epsilon) / 2)
    with mpmath.workdps(30):
        mean = (
            mpmath.quad(
                lambda w: ((1 - q**2) / (1 - 2 * q * mpmath.cos(w) + q**2)) ** k,
                [0, 0.1, 1, mpmath.pi],
            )
            / mpmath.pi
        )
    assert math.exp(noise.log_normaliser(k, epsilon)) == pytest.approx(float(mean), rel=1e-12)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (5, 0.01), (12, 0.1)])
def test_sizes_in_closed_form_are_those_of_the_table(k, epsilon):
    assert sizes.log_normaliser(k, epsilon) == pytest.approx(
        noise.log_normaliser(k, epsilon), abs=1e-11
    )
    for tail in (0.3, 1e-6, 1e-16):
        m = noise.radius(k, epsilon, tail)
        assert sizes.radius(k, epsilon, tail) == m
        assert sizes.tail_mass(k, epsilon, m) == pytest.approx(
            noise.tail_mass(k, epsilon, m), rel=1e-9
        )


def test_draws_without_a_table_are_those_of_the_table(monkeypatch):
    table = np.exp(noise.log_table(5, 0.4))
    monkeypatch.setattr(noise, "_LONGEST_TABLE", 0)
    draws = noise.draw(np.random.default_rng(3), 5, 0.4, 200_000)
    assert (draws.sum(axis=1) == 0).all()
    moved, positives = np.maximum(draws, 0).sum(axis=1), (draws > 0).sum(axis=1)
    for m, j in ((0, 0), (1, 1), (2, 2), (5, 1), (5, 3), (9, 2)):
        share = float(((moved == m) & (positives == j)).mean())
        expected = float(table[m, max(j - 1, 0)])
        assert abs(share - expected) < 5 * np.sqrt(expected / 200_000)


@pytest.mark.parametrize("counts", [(3, 0, 5), (40, 0, 3, 9, 1)])
def test_no_count_becomes_negative_as_often_as_windows_say(counts):
    x, epsilon = np.array(counts), 0.01
    steps = np.arange(-x.sum(), x.sum() + 1)
    columns = [np.where(steps >= -count, 0.0, -np.inf) for count in counts]
    expected = transforms.zero_sum_means(
        columns,
        steps,
        -0.5 * epsilon * np.abs(steps),
        np.zeros(1),
        -noise.log_normaliser(x.size, epsilon),
    )
    assert noise.probability_inside(x, epsilon) == pytest.approx(expected[0], rel=1e-11)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [((3, 0, 5), 0.01), ((4, 0, 9, 1), 2.0), ((0, 0, 70), 0.3), ((900, 20, 0, 3000), 1e-3)],
)
def test_clamped_and_unclamped_noise_add_up(counts, epsilon):
    x = np.array(counts)
    both = sizes.probability_clamped(x, epsilon) + noise.probability_inside(x, epsilon)
    assert both == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(
    ("k", "epsilon"), [(20, 0.003), (30, 0.01), (50, 0.1), (50, 1e-5), (64, 2)]
)
def test_far_from_zero_no_count_becomes_negative(k, epsilon):
    far = np.full(k, 10 * noise.radius(k, epsilon, 1e-16))
    assert noise.probability_inside(far, epsilon) == pytest.approx(1.0, abs=2e-12)


@pytest.mark.parametrize(("k", "epsilon"), [(11, 0.02), (30, 0.1), (50, 0.4)])
def test_what_many_categories_leave_unclamped_is_what_windows_say(k, epsilon):
    x = np.arange(1, k + 1) ** 2
    reach = noise.radius(k, epsilon, 1e-16)
    steps = np.arange(-reach, reach + 1)
    columns = [np.where(steps >= -count, 0.0, -np.inf) for count in x]
    weights, scale = -0.5 * epsilon * np.abs(steps), -noise.log_normaliser(k, epsilon)
    expected = transforms.zero_sum_means(columns, steps, weights, np.zeros(1), scale)
    assert noise.probability_inside(x, epsilon) == pytest.approx(expected[0], abs=3e-13)


def test_two_categories_without_a_short_window():
    # P(-4000 <= z <= 7) for one discrete Laplace variable.
    q = np.exp(-1e-3)
    inside = (1.0 + q - q**4001 - q**8) / (1.0 + q)
    assert noise.probability_inside(np.array([4000, 7]), 1e-3) == pytest.approx(inside, abs=1e-13)
