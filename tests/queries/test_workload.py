"""Sensitivities by brute force over neighbours, and the shapes of query sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import queries

rows = st.lists(
    st.lists(st.integers(-5, 5).map(float), min_size=3, max_size=3), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_sensitivity_is_the_largest_change_over_all_neighbours(matrix: list[list[float]]) -> None:
    H = np.array(matrix)
    cells = range(H.shape[1])
    added = np.array([[abs(H[i, j]) for j in cells] for i in range(H.shape[0])]).max(axis=1)
    replaced = np.array([max(abs(row[j] - row[k]) for j in cells for k in cells) for row in H])
    np.testing.assert_array_equal(queries.sensitivity(H), added)
    np.testing.assert_array_equal(queries.sensitivity(H, "replace-one"), replaced)
    assert np.all(replaced <= 2 * added)
    one = queries.sensitivity_witness(H)
    np.testing.assert_array_equal(np.abs(np.take_along_axis(H, one, 1))[:, 0], added)
    two = np.take_along_axis(H, queries.sensitivity_witness(H, "replace-one"), 1)
    np.testing.assert_array_equal(two[:, 0] - two[:, 1], replaced)


def test_scales_of_the_worked_example() -> None:
    example = queries.worked_example()
    np.testing.assert_allclose(example.scales, [20, 10, 10, 10, 10, 20])
    np.testing.assert_array_equal(queries.sensitivity(example.H), [1, 1, 1, 2, 1, 1])


def test_replacing_can_cost_twice_as_much() -> None:
    H = [[1.0, -1.0, 0.0]]
    assert queries.sensitivity(H, "replace-one")[0] == 2 * queries.sensitivity(H)[0]


def test_public_total_is_refused_under_replacement() -> None:
    with pytest.raises(ValueError, match="row 0 has sensitivity 0 under replace-one"):
        queries.laplace_scales(np.ones((1, 4)), [0.1], "replace-one")


def test_ranges_and_trees() -> None:
    assert queries.all_intervals(5).shape == (15, 5)
    assert queries.tree_workload(8).shape == (15, 8)
    assert np.all(queries.tree_workload(8).sum(axis=0) == 4)
    drawn = queries.random_ranges((4, 5), 30, np.random.default_rng(1))
    assert drawn.shape == (30, 20)
    assert np.all((drawn == 0) | (drawn == 1))
    assert np.all(drawn.sum(axis=1) >= 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queries.laplace_scales([[1.0]], [0.0]), "alpha must be positive"),
        (lambda: queries.laplace_scales([[1.0]], [-1.0]), "alpha must be positive"),
        (lambda: queries.laplace_scales([[1.0]], [np.inf]), "alpha must be finite"),
        (lambda: queries.sensitivity([[1.0]], "swap"), "neighbours must be one of"),
        (lambda: queries.range_query((3,), [2], [2]), "low < high"),
        (lambda: queries.range_query((3,), [0], [4]), "low < high <= shape"),
        (lambda: queries.range_query((3,), [0, 0], [1, 1]), "must have 1 entries"),
        (lambda: queries.tree_workload(6), "power of 2"),
        (lambda: queries.all_intervals(0), "at least 1"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()
