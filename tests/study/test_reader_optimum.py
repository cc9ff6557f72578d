"""The reader's optimum: extreme columns against the whole program, losses against definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import beta, betabinom

from dpbayes.study.reader_optimum import (
    READERS,
    _data_weights,
    _extreme_columns,
    _geometric_columns,
    _losses,
    reader_optimum,
)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("n", "epsilon"), [(6, 0.2), (8, 1.0), (10, 0.5), (10, 2.0)])
def test_the_geometric_mechanism_is_optimal_for_a_reader_who_knows_the_noise(
    reader: str, n: int, epsilon: float
) -> None:
    for prior in ((1.0, 1.0), (0.5, 3.0)):
        assert abs(reader_optimum(n, epsilon, reader, prior).gap) < 1e-7


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("prior", [(1e-3, 1e3), (1e3, 1e3), (1e-3, 1e-3)])
@pytest.mark.parametrize(("n", "epsilon"), [(2, 20.0), (3, 12.0), (8, 7.0), (4, 0.02)])
def test_a_loss_far_below_the_tolerance_of_the_solver_is_still_least(
    reader: str, n: int, epsilon: float, prior: tuple[float, float]
) -> None:
    assert abs(reader_optimum(n, epsilon, reader, prior).gap) < 1e-6


@pytest.mark.parametrize("reader", READERS)
def test_no_random_mechanism_does_better(reader: str) -> None:
    n, epsilon, alpha = 5, 0.9, np.array([1.0, 2.0])
    least = reader_optimum(n, epsilon, reader, alpha).optimum
    weights, rng = _data_weights(n, alpha), np.random.default_rng(3)
    apart = np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1))
    for _ in range(200):
        raw = rng.gamma(0.3, size=(n + 1, 6)) + 1e-6
        # The largest multiple of each entry that a neighbour allows, then rows of sum 1.
        table = np.max(raw[:, None, :] * np.exp(-0.5 * epsilon * apart)[:, :, None], axis=0)
        table /= table.sum(axis=1, keepdims=True)
        ratios = np.abs(np.diff(np.log(table), axis=0))
        assert ratios.max() <= epsilon + 1e-9
        assert _losses((table.T * weights), reader, alpha).sum() >= least - 1e-12


def test_splitting_a_column_never_raises_a_loss() -> None:
    rng, alpha = np.random.default_rng(8), np.array([0.7, 1.5])
    for reader in READERS:
        first, second = rng.random((40, 7)), rng.random((40, 7))
        split = _losses(first, reader, alpha) + _losses(second, reader, alpha)
        assert np.all(split <= _losses(first + second, reader, alpha) + 1e-12)


def test_the_data_have_the_beta_binomial_law() -> None:
    weights = _data_weights(9, np.array([0.6, 2.2]))
    assert weights == pytest.approx(betabinom.pmf(np.arange(10), 9, 0.6, 2.2), rel=1e-12)


def test_the_losses_are_what_they_say() -> None:
    n, alpha = 4, np.array([1.0, 1.0])
    joint = (_geometric_columns(n, 0.7) * _data_weights(n, alpha))[1:2]
    given = joint[0] / joint.sum()
    means = (1.0 + np.arange(n + 1)) / (n + 2)
    stated = given @ means
    assert _losses(joint, "squared error", alpha)[0] == pytest.approx(
        joint.sum() * (given @ (means - stated) ** 2), rel=1e-10
    )
    entropy = -(given @ np.log(given))
    assert _losses(joint, "log score", alpha)[0] == pytest.approx(joint.sum() * entropy, rel=1e-12)
    grid = np.linspace(0.0, 1.0, 20_001)
    roots = np.array([np.sqrt(beta.pdf(grid, 1 + x, 1 + n - x)) for x in range(n + 1)])
    best = given @ roots
    best /= np.sqrt(integrate.simpson(best**2, x=grid))
    squares = [1.0 - integrate.simpson(root * best, x=grid) for root in roots]
    expected = joint.sum() * float(given @ squares)
    assert _losses(joint, "squared Hellinger", alpha)[0] == pytest.approx(expected, rel=1e-6)


def test_extreme_columns_move_by_epsilon_at_every_step() -> None:
    columns = _extreme_columns(5, 0.4)
    assert len(np.unique(np.round(columns, 12), axis=0)) == 32
    assert np.abs(np.diff(np.log(columns), axis=1)) == pytest.approx(np.full((32, 5), 0.4))


def test_refusals_name_the_argument() -> None:
    with pytest.raises(ValueError, match="n must be at most 14"):
        reader_optimum(15, 1.0, "log score")
    with pytest.raises(ValueError, match="reader must be one of"):
        reader_optimum(5, 1.0, "regret")
