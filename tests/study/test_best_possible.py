"""The best possible: certificates, programs and the remap, against plain programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import dpbayes as dp
from dpbayes.mechanisms.optimum import (
    OptimalMechanism,
    Remapped,
    distance_table,
    record_distances,
)
from dpbayes.study.all_data import everywhere
from dpbayes.study.best_possible import (
    approximate_optimum,
    certificate,
    least_columns,
    orbit_optimum,
)


@pytest.mark.parametrize("seed", range(5))
def test_the_recursion_finds_the_least_of_all_extreme_columns(seed: int) -> None:
    m, q = 7, 0.4
    values = np.random.default_rng(seed).normal(size=(m, m)) * 3.0 ** np.arange(m)
    steps = np.array(list(product((np.log(q), -np.log(q)), repeat=m - 1)))
    logs = np.hstack((np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)))
    least = [min((np.exp(logs - logs[:, [s]]) @ values)[:, s]) for s in range(m)]
    assert least_columns(values, q) == pytest.approx(least, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.02, 0.5, 4.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.2, 7.0)])
def test_no_private_mechanism_does_better(
    epsilon: float, prior: tuple[float, float]
) -> None:
    found = certificate(25, epsilon, prior)
    table = OptimalMechanism(epsilon).table(25, prior)
    least = float((table * distance_table(25, prior)).sum()) / 26
    assert found.lower == pytest.approx(least, rel=3e-6)
    assert 0.0 <= found.gap < 1e-11


@pytest.mark.parametrize(
    ("n", "epsilon"), [(1, 1e-6), (40, 1e-9), (300, 1e-4), (9, 30.0)]
)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1000.0, 0.1)])
def test_what_is_attained_is_the_mean_of_the_mechanism_at_any_epsilon(
    n: int, epsilon: float, prior: tuple[float, float]
) -> None:
    found = certificate(n, epsilon, prior)
    mean = everywhere(dp.mechanism("geometric", epsilon, remap=True), n, prior).mean
    assert found.attained == pytest.approx(mean, rel=1e-14)
    assert found.lower <= found.attained
    assert found.gap < 1e-13 + 2e-15 * n / epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(12, 2), (6, 3), (3, 4)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_orbit_program_is_the_whole_program(n: int, k: int, epsilon: float) -> None:
    prior = [0.7] * k
    found = orbit_optimum(n, k, epsilon, 0.7)
    whole = OptimalMechanism(epsilon).table(n, prior)
    least = float((whole * distance_table(n, prior)).sum()) / len(whole)
    assert found.value == pytest.approx(least, rel=1e-5)
    assert found.value * (1 - 1e-7) <= found.lower <= found.value + 1e-12
    first, second = np.nonzero(record_distances(n, k) == 1)
    assert found.table.sum(axis=1) == pytest.approx(np.ones(len(whole)), abs=1e-9)
    assert np.all(found.table[first] <= np.exp(epsilon) * found.table[second] + 1e-9)


def test_a_delta_of_nothing_a_little_and_everything() -> None:
    for epsilon in (0.1, 1.0):
        exact = certificate(15, epsilon).attained
        assert approximate_optimum(15, epsilon, 0.0) == pytest.approx(exact, rel=1e-6)
    for prior in ((1.0, 1.0), (1000.0, 0.1)):
        exact = certificate(5, 15.0, prior).attained
        assert approximate_optimum(5, 15.0, 0.0, prior) == pytest.approx(
            exact, abs=1e-7
        )
    without = approximate_optimum(12, 1.0, 0.0)
    assert approximate_optimum(12, 1.0, 1e-6) > 0.99999 * without
    assert approximate_optimum(12, 1.0, 0.1) < 0.8 * without
    assert approximate_optimum(12, 1.0, 1.0) == pytest.approx(0.0, abs=1e-9)


Table = NDArray[np.float64]


def geometric(n: int, epsilon: float) -> Table:
    mechanism = dp.mechanism("geometric", epsilon)
    return np.array(
        [mechanism.law(x, [1, 1]).probabilities for x in dp.compositions(n, 2)]
    )


def lossless(rng: np.random.Generator, size: int) -> Table:
    """Return losses that never fall away from the truth, the two sides unlike each
    other.
    """
    steps = rng.exponential(size=(size, size)) * 10.0 ** rng.uniform(
        -2, 1, (size, size)
    )
    steps *= rng.random((size, size)) < 0.6
    result = np.zeros((size, size))
    for x in range(size):
        result[x, x + 1 :] = np.cumsum(steps[x, x + 1 :])
        result[x, :x] = np.cumsum(steps[x, :x][::-1])[::-1]
    return result


def least(cost: Table, epsilon: float, worst: bool = False) -> tuple[float, Table]:
    """Return the least sum of cost * table, or the least largest row of it, over
    private tables.
    """
    size = len(cost)
    rows = []
    for s in range(size):
        for x, other in [
            (a, b) for a in range(size) for b in (a - 1, a + 1) if 0 <= b < size
        ]:
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
def test_the_worst_case_of_the_hellinger_distance(
    n: int, epsilon: float, prior: float
) -> None:
    alpha, data = [prior, prior], dp.compositions(n, 2)
    remapped = Remapped(dp.mechanism("geometric", epsilon), "minimax")
    largest = max(remapped.law(x, alpha).mean_distance() for x in data)
    program = least(distance_table(n, alpha), epsilon, worst=True)[0]
    assert largest == pytest.approx(program, rel=1e-6)
    table = OptimalMechanism(epsilon, "worst").table(n, alpha)
    assert largest <= (table * distance_table(n, alpha)).sum(axis=1).max() * (1 + 1e-6)
