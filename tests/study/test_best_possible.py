"""Certificates and linear programs: against extreme columns, whole programs and each other."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.optimum import OptimalMechanism, distance_table, record_distances
from dpbayes.study.all_data import everywhere
from dpbayes.study.best_possible import (
    approximate_optimum,
    certificate,
    least_columns,
    orbit_optimum,
    orbits,
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
def test_no_private_mechanism_does_better(epsilon: float, prior: tuple[float, float]) -> None:
    found = certificate(25, epsilon, prior)
    table = OptimalMechanism(epsilon).table(25, prior)
    least = float((table * distance_table(25, prior)).sum()) / 26
    assert found.lower == pytest.approx(least, rel=3e-6)
    assert 0.0 <= found.gap < 1e-11


@pytest.mark.parametrize(("n", "epsilon"), [(1, 1e-6), (40, 1e-9), (300, 1e-4), (9, 30.0)])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1000.0, 0.1)])
def test_what_is_attained_is_the_mean_of_the_mechanism_at_any_epsilon(
    n: int, epsilon: float, prior: tuple[float, float]
) -> None:
    found = certificate(n, epsilon, prior)
    mean = everywhere(dp.mechanism("geometric", epsilon, remap=True), n, prior).mean
    assert found.attained == pytest.approx(mean, rel=1e-14)
    assert found.lower <= found.attained
    assert found.gap < 1e-13 + 2e-15 * n / epsilon


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 3), (3, 4)])
def test_orbits_are_those_of_all_renamings(n: int, k: int) -> None:
    rows = dp.compositions(n, k)
    label, seen = orbits(rows), {}
    for i, x in enumerate(rows.tolist()):
        for j, r in enumerate(rows.tolist()):
            orbit = frozenset(
                (tuple(x[p] for p in order), tuple(r[p] for p in order))
                for order in permutations(range(k))
            )
            assert seen.setdefault(orbit, label[i, j]) == label[i, j]
    assert len(seen) == label.max() + 1


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
        assert approximate_optimum(5, 15.0, 0.0, prior) == pytest.approx(exact, abs=1e-7)
    without = approximate_optimum(12, 1.0, 0.0)
    assert approximate_optimum(12, 1.0, 1e-6) > 0.99999 * without
    assert approximate_optimum(12, 1.0, 0.1) < 0.8 * without
    assert approximate_optimum(12, 1.0, 1.0) == pytest.approx(0.0, abs=1e-9)
