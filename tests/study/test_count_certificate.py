"""Proofs of optimality for two categories, against linear programs and the columns themselves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.optimum import OptimalMechanism, distance_table
from dpbayes.study.all_data import everywhere
from dpbayes.study.count_certificate import certificate, least_columns


@pytest.mark.parametrize("seed", range(5))
def test_the_recursion_finds_the_least_of_all_extreme_columns(seed: int) -> None:
    m, q = 7, 0.4
    values = np.random.default_rng(seed).normal(size=(m, m)) * 3.0 ** np.arange(m)
    steps = np.array(list(product((np.log(q), -np.log(q)), repeat=m - 1)))
    logs = np.hstack((np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)))
    least = [min((np.exp(logs - logs[:, [s]]) @ values)[:, s]) for s in range(m)]
    assert least_columns(values, q) == pytest.approx(least, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.02, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.2, 7.0)])
def test_no_private_mechanism_does_better(epsilon: float, prior: tuple[float, float]) -> None:
    found = certificate(25, epsilon, prior)
    table = OptimalMechanism(epsilon).table(25, prior)
    least = float((table * distance_table(25, prior)).sum()) / 26
    assert found.lower == pytest.approx(least, rel=3e-6)
    assert 0.0 <= found.gap < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(300, 1.0), (300, 0.1), (600, 5.0)])
def test_the_gap_is_rounding_for_larger_data(n: int, epsilon: float) -> None:
    assert certificate(n, epsilon).gap < 1e-11


@pytest.mark.parametrize(("n", "epsilon"), [(1, 1e-6), (40, 1e-9), (300, 1e-4), (9, 30.0)])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1000.0, 0.1)])
def test_what_is_attained_is_the_mean_of_the_mechanism_at_any_epsilon(
    n: int, epsilon: float, prior: tuple[float, float]
) -> None:
    found = certificate(n, epsilon, prior)
    mean = everywhere(mechanism("geometric", epsilon, remap=True), n, prior).mean
    assert found.attained == pytest.approx(mean, rel=1e-14)
    assert found.lower <= found.attained
    assert found.gap < 1e-13 + 2e-15 * n / epsilon


def test_prices_of_another_mechanism_prove_less() -> None:
    """The geometric mechanism without its remap is not optimal, and the columns show it."""
    n, q = 30, float(np.exp(-0.05))
    losses = distance_table(n, [1.0, 1.0])
    apart = np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1))
    kernel = q**apart
    prices = np.linalg.solve(kernel, (kernel * losses.T).sum(axis=1))
    assert least_columns(losses - prices[:, None], q).min() < -0.01


def test_refusals_name_the_argument() -> None:
    with pytest.raises(ValueError, match="n must be at most 3000 for a certificate, got 3001"):
        certificate(3001, 1.0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        certificate(10, 0.0)
    with pytest.raises(ValueError, match="epsilon must be at least 1e-09 for a certificate"):
        certificate(10, 1e-15)
