"""Overall cost: composition theorems, the exact privacy loss, both neighbour relations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import tables
from dpbayes.study.linear_queries import worked_example

EXAMPLE = worked_example()


def test_worked_example() -> None:
    assert tables.privacy_cost(EXAMPLE.H, EXAMPLE.alpha) == pytest.approx(0.35, abs=1e-12)
    replaced = tables.privacy_cost(EXAMPLE.H, EXAMPLE.alpha, "replace-one")
    assert replaced == pytest.approx(0.45, abs=1e-12)


def test_sequential_and_parallel_composition_are_special_cases() -> None:
    same = np.tile([1.0, 1.0, 0.0], (3, 1))
    assert tables.privacy_cost(same, [0.1, 0.2, 0.3]) == pytest.approx(0.6)
    assert tables.privacy_cost(np.eye(3), [0.1, 0.2, 0.3]) == pytest.approx(0.3)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["add-remove", "replace-one"]))
def test_cost_is_the_largest_log_ratio_of_densities(seed: int, neighbours: str) -> None:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (4, 5)).astype(float)
    b = rng.uniform(0.5, 5, 4)
    x = rng.integers(0, 5, 5)
    changes = np.eye(5)
    if neighbours == "replace-one":
        changes = (np.eye(5)[:, None] - np.eye(5)[None]).reshape(-1, 5)
    # The ratio of Laplace densities is largest when every answer lies beyond both means.
    worst = 0.0
    for change in changes:
        means, moved = H @ x, H @ (x + change)
        y = np.where(moved >= means, 1e3, -1e3)
        ratio = np.sum((np.abs(y - means) - np.abs(y - moved)) / b)
        worst = max(worst, float(ratio))
    cost = tables.cost_of_scales(H, b, neighbours)
    assert cost == pytest.approx(worst, rel=1e-9, abs=1e-9)
    draws = rng.normal(size=(200, 4)) * 5
    for change in changes[:3]:
        means, moved = H @ x, H @ (x + change)
        ratios = ((np.abs(draws - means) - np.abs(draws - moved)) / b).sum(axis=1)
        assert ratios.max() <= cost + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["add-remove", "replace-one"]))
def test_growing_costs_equal_the_batch_and_never_fall_short(seed: int, neighbours: str) -> None:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (6, 4)).astype(float)
    H[:, 0] += ~H.any(axis=1)
    b = rng.uniform(0.1, 5, 6)
    costs = tables.no_cost(4, neighbours)
    for row, scale in zip(H, b, strict=True):
        costs = costs.after(row, scale)
    batch = tables.cost_of_scales(H, b, neighbours)
    assert costs.total == pytest.approx(batch, rel=1e-12)
    assert costs.total >= batch * (1 - 1e-15)


def test_scales_for_added_records_cost_twice_as_much_when_one_is_replaced() -> None:
    H = [[1.0, -1.0]]
    b = tables.laplace_scales(H, [0.5])
    assert tables.cost_of_scales(H, b) == 0.5
    assert tables.cost_of_scales(H, b, "replace-one") == 1.0
    assert tables.privacy_cost(H, [0.5], "replace-one") == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tables.privacy_cost([[1.0]], [0.0]), "alpha must be positive"),
        (lambda: tables.privacy_cost([[1.0]], [0.1, 0.1]), "alpha must be a vector with 1 entries"),
        (lambda: tables.privacy_cost([[1.0]], [0.1], "none"), "neighbours must be one of"),
        (lambda: tables.no_cost(5000, "replace-one"), "cells must be at most 4096"),
        (lambda: tables.no_cost(2).after([1.0], 1.0), "query must be a vector with 2 entries"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def test_a_question_asked_only_between_the_means_never_costs_the_whole_sum() -> None:
    # One cell with 0 or 1 records; the second question comes only if the first answer lies inside.
    first, second, inside = 1.0, 1.0, (0.4, 0.6)
    answers = np.linspace(-3.0, 4.0, 7001)
    loss = np.abs(np.abs(answers) - np.abs(answers - 1.0))  # per unit of budget
    between = (answers > inside[0]) & (answers < inside[1])
    largest = first * loss
    largest[between] += second * loss.max()
    whole = tables.privacy_cost([[1.0], [1.0]], [first, second])
    assert largest.max() == pytest.approx(second + 0.2 * first, abs=2e-3)
    assert largest.max() < whole
