"""The picture of what epsilon means: right arrays drawn, right numbers said, bad shapes refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.meaning import meaning

EPSILONS = np.array([0.1, 1.0, 5.0])
CHANCES = np.array([0.52, 0.73, 0.99])
DISTANCES = {"geometric": [0.4, 0.1, 0.01], "ilapMech": [0.5, 0.2, 0.05]}


def test_both_panels_hold_the_arrays_that_were_given() -> None:
    figure, _ = meaning(EPSILONS, CHANCES, DISTANCES, 0.5, [1.0])
    top, bottom = figure.axes
    np.testing.assert_array_equal(top.lines[0].get_xydata(), np.column_stack((EPSILONS, CHANCES)))
    drawn = [line.get_ydata() for line in bottom.lines[:2]]
    np.testing.assert_array_equal(drawn, list(DISTANCES.values()))
    assert [line.get_xdata()[0] for line in (top.lines[-1], bottom.lines[-1])] == [1.0, 1.0]
    assert {text.get_text() for text in bottom.texts} == set(DISTANCES)


def test_the_alternative_text_says_where_the_curves_start_and_end() -> None:
    _, alt = meaning(EPSILONS, CHANCES, DISTANCES, 0.5, [])
    assert "starts at 0.50 rises from 0.52 at epsilon 0.1 to 0.99 at 5" in alt
    assert "geometric: from 0.4 to 0.01." in alt


def test_a_small_distance_is_not_called_zero() -> None:
    _, alt = meaning(EPSILONS, CHANCES, {"geometric": [0.4, 0.1, 6.2e-5]}, 0.5, [])
    assert "geometric: from 0.4 to 6.2e-05." in alt


@pytest.mark.parametrize("epsilons", [[1.0], [[0.1, 1.0, 5.0]], [0.1, 1.0]])
def test_shapes_that_disagree_are_refused(epsilons: list[float]) -> None:
    with pytest.raises(ValueError, match="epsilons and chances must be"):
        meaning(epsilons, CHANCES, DISTANCES, 0.5, [])
