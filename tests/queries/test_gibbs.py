"""Draws from the posterior of a query, against the exact posterior and against quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.gibbs import posterior_draws

DRAWS = 20_000
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def test_one_unknown_agrees_with_the_exact_posterior() -> None:
    y, scales = [3.0, 5.5, -1.0], [1.0, 2.0, 4.0]
    drawn = posterior_draws(
        [[1.0], [2.0], [1.0]], scales, y, [1.0], DRAWS, np.random.default_rng(5)
    )
    exact = queries.posterior_one_unknown(y, scales, [1.0, 2.0, 1.0])
    for level in LEVELS:
        # Neighbouring draws are dependent; a tenth of them counts.
        error = np.sqrt(level * (1 - level) / (0.1 * DRAWS))
        assert abs(exact.cdf(float(drawn.quantile(level))) - level) < 6 * error
    assert float(drawn.mean) == pytest.approx(exact.mean, abs=0.1)


def test_two_unknowns_agree_with_a_grid() -> None:
    H = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    scales, y = np.array([1.0, 2.0, 1.5, 3.0]), np.array([2.0, -1.0, 2.5, 1.0])
    query = np.array([1.0, 2.0])
    axis = np.linspace(-30.0, 30.0, 1201)
    first, second = np.meshgrid(axis, axis, indexing="ij")
    cells = np.stack([first, second])
    logs = -sum(np.abs(y[i] - np.tensordot(H[i], cells, 1)) / scales[i] for i in range(scales.size))
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    theta = np.tensordot(query, cells, 1)
    order = np.argsort(theta, axis=None)
    cumulative = np.cumsum(mass.ravel()[order])
    drawn = posterior_draws(H, scales, y, query, DRAWS, np.random.default_rng(6))
    assert float(drawn.mean) == pytest.approx(float((mass * theta).sum()), abs=0.1)
    for level in LEVELS:
        found = np.searchsorted(theta.ravel()[order], float(drawn.quantile(level)))
        error = np.sqrt(level * (1 - level) / (0.1 * DRAWS))
        assert abs(float(cumulative[min(found, cumulative.size - 1)]) - level) < 6 * error


def test_several_data_sets_at_once_are_each_answered() -> None:
    y = np.array([[0.0, 0.0], [10.0, 12.0]])
    drawn = posterior_draws([[1.0], [1.0]], [1.0, 1.0], y, [1.0], 4000, np.random.default_rng(7))
    assert drawn.draws.shape == (2, 4000)
    assert drawn.mean[0] == pytest.approx(0.0, abs=0.2)
    assert drawn.mean[1] == pytest.approx(11.0, abs=0.2)


def test_the_same_generator_gives_the_same_draws() -> None:
    def once() -> np.ndarray:
        rng = np.random.default_rng(8)
        return posterior_draws([[1.0]], [2.0], [4.0], [1.0], 50, rng).draws

    np.testing.assert_array_equal(once(), once())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": [1.0, 2.0]}, r"y must have shape \(1,\) or \(batch, 1\), got \(2,\)"),
        ({"scales": [0.0]}, "scales must be positive, got"),
        ({"draws": 0}, "draws must be"),
        ({"warm_up": -1}, "warm_up must be"),
        ({"q": [0.0, 1.0]}, "must lie in the row space of the history"),
    ],
)
def test_refusals_name_the_argument(changed: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "H": [[1.0, 0.0]],
        "scales": [2.0],
        "y": [4.0],
        "q": [1.0, 0.0],
        "draws": 10,
    }
    with pytest.raises(ValueError, match=message):
        posterior_draws(**{**given, **changed}, rng=np.random.default_rng(1))
