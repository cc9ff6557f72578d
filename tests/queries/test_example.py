"""The worked example holds together: its scales, its tax, and that its answers are plausible."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.example import worked_example


def test_scales_are_sensitivity_over_budget() -> None:
    example = worked_example()
    np.testing.assert_allclose(example.scales, np.abs(example.H).max(axis=1) / example.alpha)


def test_rows_of_the_history_are_what_their_names_say() -> None:
    example = worked_example()
    cells = example.H.reshape(6, len(example.rows), len(example.columns))
    by_name = dict(zip(example.names, cells, strict=True))
    assert np.all(by_name["everyone"] == 1.0)
    for i, age in enumerate(example.rows):
        np.testing.assert_array_equal(by_name[age].sum(axis=1), 3.0 * (np.arange(3) == i))
    np.testing.assert_array_equal(by_name["tax"], [[0.0, 2.0, 2.0]] * 3)
    np.testing.assert_array_equal(by_name["income 0-9"], [[1.0, 0.0, 0.0]] * 3)


def test_the_answers_could_have_come_from_the_counts() -> None:
    example = worked_example()
    noise = np.abs(example.y - example.H @ example.x) / example.scales
    assert float(noise.max()) < 3.0  # a scale is passed three times by one answer in twenty


def test_the_new_query_is_estimable_and_its_interval_holds_the_truth() -> None:
    example = worked_example()
    best = queries.blue(example.H, example.scales, example.q)
    expected = (
        example.q
        @ np.linalg.pinv(example.H / example.scales[:, None])
        @ (example.y / example.scales)
    )
    assert float(best.weights @ example.y) == pytest.approx(float(expected), rel=1e-9)
    half = queries.NoiseLaw(best.weights * example.scales).half_width(0.05)
    assert abs(float(expected) - float(example.q @ example.x)) < half
