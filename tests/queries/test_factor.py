"""A factorisation that grows, against a new pseudo-inverse at every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.queries.factor import Factor, empty_factor

rows = st.lists(
    st.tuples(
        st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any), st.floats(0.1, 20.0)
    ),
    min_size=1,
    max_size=8,
)


def grown(history: list[tuple[list[int], float]]) -> Factor:
    factor = empty_factor(4)
    for row, scale in history:
        factor = factor.append([float(one) for one in row], scale)
    return factor


def combinations(factor: Factor) -> np.ndarray:
    """Return D, whose blocks leave out later columns that are 0."""
    wide = [np.pad(block, ((0, 0), (0, factor.rank - block.shape[1]))) for block in factor.blocks]
    return np.vstack([np.zeros((0, factor.rank)), *wide])


def rebuilt(factor: Factor) -> np.ndarray:
    """Return the scaled history that the factors stand for: B = L V and D B, in their places."""
    new, mixed = factor.lower @ factor.basis, combinations(factor)
    scaled = np.empty((factor.answers, factor.basis.shape[1]))
    scaled[factor.first], scaled[factor.rest] = new, mixed @ new
    return scaled


@settings(max_examples=100, deadline=None)
@given(rows)
def test_the_factors_give_back_the_scaled_history(history: list[tuple[list[int], float]]) -> None:
    factor = grown(history)
    scaled = np.array([np.array(row) / scale for row, scale in history])
    np.testing.assert_allclose(rebuilt(factor), scaled, atol=1e-10 * np.abs(scaled).max())
    rank = np.linalg.matrix_rank(scaled)
    assert (factor.answers, factor.rank) == (len(history), rank)
    np.testing.assert_allclose(factor.basis @ factor.basis.T, np.eye(rank), atol=1e-12)
    mixed = combinations(factor)
    expected = np.eye(rank) + mixed.T @ mixed
    np.testing.assert_allclose(factor.upper.T @ factor.upper, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(rows, st.lists(st.integers(-2, 2), min_size=8, max_size=8))
def test_weights_are_those_of_the_pseudo_inverse(
    history: list[tuple[list[int], float]], mix: list[int]
) -> None:
    factor = grown(history)
    matrix = np.array([row for row, _ in history], dtype=float)
    query = np.array(mix[: len(history)]) @ matrix
    if not query.any():
        return
    scales = np.array([scale for _, scale in history])
    expected = np.linalg.pinv((matrix / scales[:, None]).T, rcond=1e-10) @ query
    found = factor.noise_weights(query)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def test_what_no_answer_speaks_of_has_no_weights() -> None:
    factor = empty_factor(3).append([1.0, 1.0, 0.0], 2.0)
    assert factor.noise_weights([1.0, 0.0, 0.0]) is None
    assert factor.noise_weights([0.0, 0.0, 1.0]) is None
    assert factor.noise_weights([3.0, 3.0, 0.0]) == pytest.approx([6.0])


def test_a_question_asked_again_adds_no_direction() -> None:
    factor = empty_factor(2)
    for _ in range(30):
        factor = factor.append([0.1, 0.7], 3.0)
    assert (factor.answers, factor.rank) == (30, 1)
    assert factor.noise_weights([0.1, 0.7]) == pytest.approx(np.full(30, 0.1))


@pytest.mark.parametrize(
    ("query", "scale", "message"),
    [
        ([1.0], 1.0, "query must have one coefficient for each of the 2 cells, got 1"),
        ([0.0, 0.0], 1.0, "query must have a coefficient that is not 0"),
        ([1.0, np.nan], 1.0, "query must be finite"),
        ([1.0, 0.0], 0.0, "scale must be"),
    ],
)
def test_refusals_name_the_argument(query: list[float], scale: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        empty_factor(2).append(query, scale)
