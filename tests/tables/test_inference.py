"""The estimator against the pseudo-inverse, fractions and the growing factorisation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dpbayes import tables
from dpbayes.study import query_history
from dpbayes.study.linear_queries import worked_example

EXAMPLE = worked_example()


def random_history(seed: int, m: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (m, cells)).astype(float)
    H[:, 0] += ~H.any(axis=1)
    return H, rng.uniform(0.5, 20.0, m)


def test_worked_example_to_the_digit() -> None:
    result = tables.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q)
    np.testing.assert_allclose(
        result.weights * 167, [34, -66, 101, 16, 101, 32], rtol=1e-12
    )
    assert float(result.variance) == pytest.approx(241.9161676647, abs=5e-11)
    assert float(result.estimate(EXAMPLE.y)) == pytest.approx(71.9760479042, abs=5e-11)


def test_cell_zero_alone_is_not_estimable() -> None:
    result = tables.blue(EXAMPLE.H, EXAMPLE.scales, np.eye(9))
    assert not result.estimable.any()
    assert np.isnan(result.weights).all()
    assert np.isnan(result.estimate(EXAMPLE.y)).all()
    with pytest.raises(tables.NotEstimableError, match="row space"):
        tables.blue(EXAMPLE.H, EXAMPLE.scales, np.eye(9)[0]).estimate(EXAMPLE.y)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 8))
def test_weights_equal_the_pseudo_inverse_and_the_sparse_ones(
    seed: int, m: int, cells: int
) -> None:
    H, b = random_history(seed, m, cells)
    Q = np.random.default_rng(seed + 1).integers(-3, 4, (4, m)) @ H
    result = tables.blue(H, b, Q)
    assert result.estimable.all()
    expected = Q @ np.linalg.pinv(H / b[:, None], rcond=1e-10) / b
    np.testing.assert_allclose(
        result.weights, expected, atol=1e-8 * np.abs(expected).max()
    )
    np.testing.assert_allclose(result.weights @ H, Q, atol=1e-9)
    sparse = query_history.blue_sparse(csr_array(H), b, Q)
    np.testing.assert_allclose(
        sparse.weights, result.weights, atol=1e-7 * (1 + np.abs(Q).max())
    )


def test_rank_deficient_history_keeps_its_digits_where_normal_equations_lose_them() -> (
    None
):
    rng = np.random.default_rng(3)
    H = rng.normal(size=(60, 20)) @ rng.normal(size=(20, 40))
    b = np.geomspace(1e-2, 1e2, 60)
    q = rng.normal(size=60) @ H
    result = tables.blue(H, b, q)
    assert result.estimable
    assert np.abs(result.weights @ H - q).max() < 1e-10 * np.abs(q).max()
    G = H / b[:, None]
    naive = q @ np.linalg.inv(G.T @ G) @ G.T / b
    assert np.abs(naive @ H - q).max() > 1e-3 * np.abs(q).max()


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4])
def test_five_hundred_answers_of_many_sizes_keep_their_digits(spread: float) -> None:
    rng = np.random.default_rng(5)
    H = query_history.random_ranges((8, 8), 400, rng)
    H = np.vstack([H, H[:100]])
    b = spread ** rng.uniform(0.0, 1.0, 500)
    factor = tables.empty_factor(64)
    for row, scale in zip(H, b, strict=True):
        factor = factor.append(row, scale)
    assert factor.Z.shape[0] == np.linalg.matrix_rank(H)
    for q in (H[17], H[300] - H[20], rng.normal(size=64)):
        grown = factor.noise_weights(q)
        expected = np.linalg.lstsq((H / b[:, None]).T, q)[0]
        assert grown is not None
        assert np.abs((grown / b) @ H - q).max() < 1e-9 * np.abs(q).max()
        assert grown @ grown == pytest.approx(expected @ expected, rel=1e-9)
        assert np.abs(grown - expected).max() < 1e-7 * np.abs(grown).max()


def shortest_in_fractions(
    H: np.ndarray, scales: np.ndarray, query: np.ndarray
) -> float | None:
    """Return |w| of the shortest w with B^T w = query, B = diag(1/b) H, exactly; None
    if none.
    """
    flint = pytest.importorskip("flint")
    rows = [
        [Fraction(one) / Fraction(b) for one in row]
        for row, b in zip(H, scales, strict=True)
    ]
    G = flint.fmpq_mat(
        [[flint.fmpq(*one.as_integer_ratio()) for one in row] for row in rows]
    )
    right = flint.fmpq_mat([[flint.fmpq(*one.as_integer_ratio())] for one in query])
    system = G.transpose() * G
    n = len(query)
    rows = [[system[i, j] for j in range(n)] + [right[i, 0]] for i in range(n)]
    reduced, rank = flint.fmpq_mat(rows).rref()
    pivots = [next(j for j in range(n + 1) if reduced[i, j] != 0) for i in range(rank)]
    if n in pivots:
        return None
    x = flint.fmpq_mat(n, 1)
    for i, j in enumerate(pivots):
        x[j, 0] = reduced[i, n]
    w = G * x
    return math.sqrt(
        sum(float(w[i, 0].p) ** 2 / float(w[i, 0].q) ** 2 for i in range(len(H)))
    )


@pytest.mark.parametrize("spread", [1, 8, 15])
def test_what_is_estimable_does_not_depend_on_the_scales(spread: int) -> None:
    """Against the best weights worked out with fractions."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        cells, m = int(rng.integers(1, 5)), int(rng.integers(2, 9))
        H = rng.integers(-2, 3, (m, cells)).astype(float)
        H[~H.any(axis=1), 0] = 1.0
        scales = 2.0 ** rng.integers(0, int(3.3 * spread), m)
        query = rng.integers(-2, 3, cells).astype(float)
        exact = shortest_in_fractions(H, scales, query)
        found = tables.blue(H, scales, query)
        assert bool(found.estimable) == (exact is not None)
        if exact is not None:
            np.testing.assert_allclose(found.weights @ H, query, atol=1e-8)
            assert np.linalg.norm(found.noise_weights) <= exact * (1 + 1e-4)


def test_precise_repeats_do_not_hide_a_rough_answer() -> None:
    """The two precise rows differ by their scale alone, also in their last digit."""
    scales = [4.2820519864938797e-07, 2.014118976746866e-05, 145343947.19452444]
    found = tables.blue([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]], scales, [0.0, 1.0])
    assert found.estimable
    assert found.variance == pytest.approx(2.0 * scales[2] ** 2, rel=1e-9)

    # A history of zeros says nothing, at any scales.
    assert not tables.blue(np.zeros((2, 2)), [1.0, 1e12], [1.0, 0.0]).estimable


def test_a_history_over_a_million_cells_is_estimated_as_on_the_cells_that_matter() -> (
    None
):
    """Two sides of 1000 cells; the boxes cut each side at nine places."""
    rng = np.random.default_rng(4)
    edges = np.sort(rng.choice(999, (2, 9), replace=False) + 1)
    cuts = [np.concatenate([[0], side, [1000]]) for side in edges]
    small = query_history.random_ranges((10, 10), 60, rng)
    b = rng.uniform(1.0, 5.0, 60)
    place = [np.searchsorted(cut, np.arange(1000), "right") - 1 for cut in cuts]
    owner = (10 * place[0][:, None] + place[1][None, :]).reshape(-1)
    volumes = np.bincount(owner, minlength=100).astype(float)
    wide = csr_array(small)[:, owner]
    targets = np.vstack([small[:2] - small[3], small[5]])
    found = query_history.blue_sparse(wide, b, csr_array(targets)[:, owner])
    # Cells that no box tells apart are one cell: the same weights make their sums.
    expected = tables.blue(small, b, targets)
    assert wide.shape == (60, 10**6)
    assert volumes.sum() == 10**6
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-8)
    np.testing.assert_allclose(found.weights @ small, targets, atol=1e-6)
    corner = np.zeros(10**6)
    corner[0] = 1.0
    assert not query_history.blue_sparse(wide, b, corner).estimable
