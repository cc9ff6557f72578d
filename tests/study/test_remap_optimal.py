"""Geometric noise with a remap against all private mechanisms: the proof's remap, and programs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import dpbayes as dp
from dpbayes.mechanisms.optimum import OptimalMechanism, Remapped, distance_table

Table = NDArray[np.float64]


def geometric(n: int, epsilon: float) -> Table:
    mechanism = dp.mechanism("geometric", epsilon)
    return np.array([mechanism.law(x, [1, 1]).probabilities for x in dp.compositions(n, 2)])


def proved_remap(table: Table, noise: Table) -> Table:
    """Return the remap of the proof of thm-remap-optimal: rows r, columns the answers s."""
    size = len(table)
    below = np.cumsum(table, axis=1)
    thresholds = np.ones((size, size))
    for j in range(size - 1):
        # psi_y(j) is piecewise linear in y, with corners at the whole numbers.
        corners = np.append(0.0, np.cumsum(noise[j]))
        y = np.interp(below[j, j], corners, np.arange(size + 1.0))
        thresholds[:, j] = np.clip(y - np.arange(size), 0.0, 1.0)
    return np.diff(thresholds, axis=1, prepend=0.0)


def lossless(rng: np.random.Generator, size: int) -> Table:
    """Return losses that never fall away from the truth, the two sides unlike each other."""
    steps = rng.exponential(size=(size, size)) * 10.0 ** rng.uniform(-2, 1, (size, size))
    steps *= rng.random((size, size)) < 0.6
    result = np.zeros((size, size))
    for x in range(size):
        result[x, x + 1 :] = np.cumsum(steps[x, x + 1 :])
        result[x, :x] = np.cumsum(steps[x, :x][::-1])[::-1]
    return result


def least(cost: Table, epsilon: float, worst: bool = False) -> tuple[float, Table]:
    """Return the least sum of cost * table, or the least largest row of it, over private tables."""
    size = len(cost)
    rows = []
    for s in range(size):
        for x, other in [(a, b) for a in range(size) for b in (a - 1, a + 1) if 0 <= b < size]:
            row = np.zeros((size, size))
            row[x, s], row[other, s] = 1.0, -np.exp(epsilon)
            rows.append(np.append(row.ravel(), 0.0))
    objective = np.append(cost.ravel() * (not worst), float(worst))
    if worst:
        for x in range(size):
            row = np.zeros((size, size))
            row[x] = cost[x]
            rows.append(np.append(row.ravel(), -1.0))
    sums = np.hstack((np.kron(np.eye(size), np.ones((1, size))), np.zeros((size, 1))))
    found = linprog(objective, np.array(rows), np.zeros(len(rows)), sums, np.ones(size))
    assert found.success
    return float(found.fun), np.asarray(found.x[:-1]).reshape(size, size)


@pytest.mark.parametrize("seed", range(12))
def test_the_remap_of_the_proof_is_ahead_at_every_data_set_and_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, epsilon = int(rng.integers(2, 8)), float(np.exp(rng.uniform(-3, 1.5)))
    # A vertex of the private tables in a random direction: any shape, not a good mechanism.
    table = least(rng.normal(size=(size, size)), epsilon)[1]
    noise = geometric(size - 1, epsilon)
    remap = proved_remap(table, noise)
    assert remap.min() >= -1e-9
    assert remap.sum(axis=1) == pytest.approx(np.ones(size))
    ours, theirs = np.cumsum(noise @ remap, axis=1), np.cumsum(table, axis=1)
    left = np.arange(size)[:, None] <= np.arange(size)
    assert np.all(np.where(left, ours - theirs, theirs - ours)[:, :-1] >= -1e-9)
    losses = lossless(rng, size)
    assert np.all(((noise @ remap - table) * losses).sum(axis=1) <= 1e-8 * losses.max())


@pytest.mark.parametrize("seed", range(12))
def test_programs_find_nothing_better_for_any_loss_and_any_weights(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    size, epsilon = int(rng.integers(2, 7)), float(np.exp(rng.uniform(-2, 1.2)))
    cost = rng.exponential(size=(size, 1)) * lossless(rng, size)
    remapped = (geometric(size - 1, epsilon).T @ cost).min(axis=1).sum()
    assert remapped == pytest.approx(least(cost, epsilon)[0], rel=1e-6, abs=1e-9)


def test_a_loss_that_falls_again_needs_more_than_geometric_noise() -> None:
    """The condition matters: answers right at both ends and wrong between them."""
    cost = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    remapped = (geometric(2, 1.0).T @ cost).min(axis=1).sum()
    assert remapped > 1.05 * least(cost, 1.0)[0]


@pytest.mark.parametrize(
    ("n", "epsilon", "prior"), [(6, 0.3, 0.01), (9, 1.5, 2.0), (14, 0.05, 40.0)]
)
def test_the_worst_case_of_the_hellinger_distance(n: int, epsilon: float, prior: float) -> None:
    alpha, data = [prior, prior], dp.compositions(n, 2)
    remapped = Remapped(dp.mechanism("geometric", epsilon), "minimax")
    largest = max(remapped.law(x, alpha).mean_distance() for x in data)
    program = least(distance_table(n, alpha), epsilon, worst=True)[0]
    assert largest == pytest.approx(program, rel=1e-6)
    table = OptimalMechanism(epsilon, "worst").table(n, alpha)
    assert largest <= (table * distance_table(n, alpha)).sum(axis=1).max() * (1 + 1e-6)
