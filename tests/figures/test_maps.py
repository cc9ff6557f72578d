"""Maps of who wins: winners become colours and words; bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.maps import MapPanel, maps
from dpbayes.figures.theme import svg_bytes

INDEX = np.array([[0, 0, 1], [0, 1, 1]])


def test_shares_of_cells_are_said_in_words() -> None:
    panels = [MapPanel(INDEX, "ε = 1"), MapPanel(np.zeros((2, 3), dtype=int))]
    figure, alt = maps("n", "share", [1, 10, 100], [0.1, 0.2], ["a", "b"], panels)
    assert "ε = 1: a in 50 percent of the cells, b in 50 percent of the cells." in alt
    assert "a in 100 percent of the cells." in alt
    assert len(figure.axes) == 2
    assert svg_bytes(figure, "x") == svg_bytes(figure, "x")


def test_every_cell_has_its_winner_s_colour_and_pattern() -> None:
    figure, _ = maps("n", "a", [1, 2, 4], [1.0, 3.0], ["x", "y"], [MapPanel(INDEX)])
    axes = figure.axes[0]
    assert axes.collections[0].get_array().reshape(INDEX.shape).tolist() == INDEX.tolist()
    assert [bool(patch.get_hatch()) for patch in axes.patches] == (INDEX.ravel() > 0).tolist()


def test_an_odd_number_of_panels_leaves_one_empty() -> None:
    figure, _ = maps("n", "a", [1, 2, 4], [1.0, 3.0], ["x", "y"], [MapPanel(INDEX)] * 3)
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]


@pytest.mark.parametrize(
    ("columns", "rows", "labels", "index", "message"),
    [
        ([1, 2, 4], [1.0, 2.0], ["x"], INDEX, "must number the 1 labels"),
        ([1, 2], [1.0, 2.0], ["x", "y"], INDEX, "shape"),
        ([1, 1, 4], [1.0, 2.0], ["x", "y"], INDEX, "columns must be"),
        ([1, 2, 4], [1.0], ["x", "y"], INDEX, "rows must be"),
        ([1, 2, 4], [1.0, 2.0], ["x", "y"], INDEX * 1.0, "whole numbers"),
        ([1, 2, 4], [1.0, 2.0], ["x", "y"], INDEX[0], "whole numbers"),
    ],
)
def test_bad_input(columns: list[float], rows: list[float], labels: list[str], index: object,
                   message: str) -> None:  # fmt: skip
    with pytest.raises(ValueError, match=message):
        maps("n", "a", columns, rows, labels, [MapPanel(index)])


def test_no_panels() -> None:
    with pytest.raises(ValueError, match="at least one panel"):
        maps("n", "a", [1, 2], [1, 2], ["x"], [])
