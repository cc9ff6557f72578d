"""A factorisation that grows, against a new pseudo-inverse at every step."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import queries
from dpbayes.queries.factor import Factor, empty_factor, factor_of

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
    np.testing.assert_allclose(factor.upper @ factor.upper.T, expected, rtol=1e-9, atol=1e-9)


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


def same(one: Factor, other: Factor) -> bool:
    """Return whether two factorisations are equal to the last bit."""
    parts = ("basis", "lower", "upper", "first", "rest")
    blocks = zip(one.blocks, other.blocks, strict=True)
    return all(np.array_equal(getattr(one, p), getattr(other, p)) for p in parts) and all(
        np.array_equal(a, b) for a, b in blocks
    )


def test_no_factor_changes_when_others_grow_from_it() -> None:
    rng = np.random.default_rng(3)
    questions = rng.integers(-2, 3, (60, 6)) + np.eye(60, 6)
    alone = [empty_factor(6)]
    for row in questions:
        alone.append(alone[-1].append(row, 2.0))
    for start, before in enumerate(alone[:-1]):
        # From each state two others grow: one as it happened, and one with another question.
        other = before.append(questions[start] + [0.0, 0.0, 0.0, 1.0, 5.0, 0.0], 1.0)
        again = before.append(questions[start], 2.0)
        assert same(again, alone[start + 1])
        assert not same(other, again)
    fresh = empty_factor(6)
    for row, expected in zip(questions, alone[1:], strict=True):
        fresh = fresh.append(row, 2.0)
        assert same(fresh, expected)


@pytest.mark.parametrize("where", ["drot", "dtpsv", "frozen"])
def test_an_exception_halfway_leaves_the_factor_as_it_was(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpbayes.queries import factor as module

    history = [([1, 0, 2, 0], 2.0), ([0, 1, 0, 1], 3.0), ([1, 1, 2, 1], 1.0), ([2, 1, 4, 1], 5.0)]
    before = grown(history)
    weights = before.noise_weights([1.0, 1.0, 2.0, 1.0])
    original = getattr(module, where)
    left = [0]

    def fails(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError
        return original(*arguments, **named)

    met = 0
    for calls in range(1, 8):
        left[0] = calls
        with monkeypatch.context() as patch:
            patch.setattr(module, where, fails)
            for query in ([1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 1.0]):
                try:
                    before.append(query, 0.5)
                except MemoryError:
                    met += 1
        assert same(before, grown(history))
        assert np.array_equal(before.noise_weights([1.0, 1.0, 2.0, 1.0]), weights)
        later = before.append([0.0, 0.0, 0.0, 1.0], 0.5)
        assert same(later, grown([*history, ([0, 0, 0, 1], 0.5)]))
    assert met > 0


def test_a_factor_of_known_parts_is_the_one_that_grows() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(-2, 3, (700, 5)).astype(float)
    rows[~rows.any(axis=1)] = 1.0
    factor = empty_factor(5)
    for row in rows:
        factor = factor.append(row, 3.0)
    assert [block.shape[0] for block in factor.blocks][-2:] == [256, 695 % 256]
    made = factor_of(factor.basis, factor.lower, combinations(factor), factor.first, factor.rest)
    q = np.array([1.0, 0.0, -2.0, 0.0, 1.0])
    np.testing.assert_allclose(made.upper, factor.upper, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made.noise_weights(q), factor.noise_weights(q), atol=1e-13)
    np.testing.assert_allclose(
        made.append(q, 1.0).noise_weights(q), factor.append(q, 1.0).noise_weights(q), atol=1e-13
    )


def test_weights_are_the_best_where_scales_differ_by_thousands() -> None:
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 2, (120, 20)).astype(float)
    rows[:, 0] = 1.0
    scales = 10.0 ** np.sort(rng.uniform(0.0, 4.0, 120))[::-1]
    factor = empty_factor(20)
    for row, scale in zip(rows, scales, strict=True):
        factor = factor.append(row, float(scale))
    scaled, q = rows / scales[:, None], rng.integers(-3, 4, 20).astype(float)
    found = factor.noise_weights(q)
    assert found is not None
    with mpmath.workdps(60):
        normal = mpmath.matrix(scaled.T.tolist()) * mpmath.matrix(scaled.tolist())
        best = mpmath.matrix(scaled.tolist()) * mpmath.lu_solve(normal, mpmath.matrix(q.tolist()))
        expected = np.array([float(one) for one in best])
    np.testing.assert_allclose(scaled.T @ found, q, atol=1e-11)
    assert float(found @ found) == pytest.approx(float(expected @ expected), rel=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("spread", [6, 8, 10, 12])
def test_rough_answers_before_precise_ones_do_not_spoil_the_estimate(spread: int) -> None:
    """Scales over many powers of ten: as good as a factorisation of all answers at once."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        cells, m = int(rng.integers(1, 5)), int(rng.integers(4, 10))
        H = rng.integers(0, 2, (m, cells)).astype(float)
        H[~H.any(axis=1), 0] = 1.0
        scales = 10.0 ** rng.uniform(0, spread, m)
        query = rng.integers(-1, 2, m) @ H
        if not query.any():
            continue
        factor = empty_factor(cells)
        for row, scale in zip(H, scales, strict=True):
            factor = factor.append(row, float(scale))
        found = factor.noise_weights(query)
        assert found is not None
        best = np.linalg.norm(queries.blue(H, scales, query).noise_weights)
        assert np.linalg.norm(found) <= best * (1 + 1e-5)
        np.testing.assert_allclose(found / scales @ H, query, atol=1e-8)
