"""The reader's optimum at three categories: extreme columns against the cone they span."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dpbayes.mechanisms.optimum import record_distances
from dpbayes.posteriors import compositions
from dpbayes.study.reader_optimum import READERS, reader_optimum
from dpbayes.study.reader_three import (
    data_weights,
    heights,
    lattice_reader_loss,
    least_reader_loss,
    losses,
)


def private_columns(rng: np.random.Generator, n: int, k: int, epsilon: float) -> np.ndarray:
    apart = record_distances(n, k)
    raw = rng.gamma(0.3, size=(40, len(apart))) + 1e-6
    return np.asarray(np.max(raw[:, None, :] * np.exp(-epsilon * apart)[None], axis=2))


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 3), (3, 3), (1, 4)])
def test_every_private_column_is_a_sum_of_extreme_ones(n: int, k: int) -> None:
    rng, epsilon = np.random.default_rng(4), 0.8
    extreme = np.exp(epsilon * heights(n, k))
    for column in private_columns(rng, n, k, epsilon):
        parts = linprog(np.zeros(len(extreme)), A_eq=extreme.T, b_eq=column, bounds=(0, None))
        assert parts.success


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 3)])
def test_no_extreme_column_is_a_sum_of_the_others(n: int, k: int) -> None:
    extreme = np.exp(0.8 * heights(n, k))
    for i, column in enumerate(extreme):
        rest = np.delete(extreme, i, axis=0)
        parts = linprog(np.zeros(len(rest)), A_eq=rest.T, b_eq=column, bounds=(0, None))
        assert not parts.success


@pytest.mark.parametrize("reader", READERS)
def test_two_categories_agree_with_their_own_program(reader: str) -> None:
    # At two categories the squared error of both shares is twice that of one.
    twice = 2.0 if reader == "squared error" else 1.0
    for prior in ([1.0, 1.0], [0.5, 3.0]):
        known = reader_optimum(6, 0.7, reader, prior)
        assert least_reader_loss(6, 0.7, reader, prior) == pytest.approx(twice * known.optimum)
        lattice = lattice_reader_loss(6, 0.7, reader, prior)
        assert lattice == pytest.approx(twice * known.geometric)


@pytest.mark.parametrize("reader", READERS)
def test_no_random_mechanism_and_not_lattice_noise_does_better(reader: str) -> None:
    n, epsilon, alpha = 3, 1.0, np.array([1.0, 0.5, 2.0])
    least = least_reader_loss(n, epsilon, reader, alpha)
    assert lattice_reader_loss(n, epsilon, reader, alpha) > 1.005 * least
    rng, weights = np.random.default_rng(6), data_weights(n, alpha)
    assert weights.sum() == pytest.approx(1.0)
    for _ in range(5):
        columns = private_columns(rng, n, 3, 0.5 * epsilon)
        table = columns / columns.sum(axis=0)
        assert losses(table * weights, reader, n, alpha).sum() > least


def test_the_squared_error_is_what_it_says() -> None:
    n, alpha = 2, np.array([1.0, 2.0, 0.5])
    means = (alpha + compositions(n, 3)) / (alpha.sum() + n)
    joint = np.random.default_rng(2).random((1, len(means)))
    stated = joint[0] @ means / joint.sum()
    expected = joint[0] @ ((means - stated) ** 2).sum(axis=1)
    assert losses(joint, "squared error", n, alpha)[0] == pytest.approx(expected)


def test_too_many_data_sets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n = 5 records over k = 3 categories have 21 data sets"):
        least_reader_loss(5, 1.0, "log score", [1, 1, 1])
