"""Diagrams of the query system: every cell and every way out is there, in picture and words."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

from dpbayes.figures import queries_diagrams as diagrams


def test_cube_diagram_names_every_cell() -> None:
    figure, alt = diagrams.cube_diagram(
        [("30", "12")], ("age", "income"), [[1, 2], [3, 4]], ["young", "old"], ["low", "high"]
    )
    texts = {text.get_text() for text in figure.axes[1].texts}
    assert {"1", "2", "3", "4", "young", "old", "low", "high"} <= texts
    assert "old: 3 at low, 4 at high" in alt


def test_the_fullest_cell_is_the_darkest() -> None:
    figure, _ = diagrams.cube_diagram(
        [("u", "x")], ("a", "b"), [[1, 4], [0, 2]], ["x", "y"], ["u", "v"]
    )
    boxes = [patch for patch in figure.axes[1].patches if isinstance(patch, Rectangle)]
    depths = {box.get_xy(): box.get_facecolor()[3] for box in boxes}
    assert depths == {(0, 0): 0.0625, (1, 0): 0.25, (0, 1): 0.0, (1, 1): 0.125}


def test_framework_diagram_has_three_ways_out() -> None:
    figure, alt = diagrams.framework_diagram()
    text = " ".join(text.get_text() for text in figure.axes[0].texts)
    for word in ("derived", "rejected", "ledger"):
        assert word in text
        assert word in alt


def test_each_decision_has_a_way_for_yes_and_one_for_no() -> None:
    figure, _ = diagrams.framework_diagram()
    words = [text.get_text() for text in figure.axes[0].texts]
    questions = [word for word in words if word.endswith("?")]
    assert len(questions) == words.count("yes") == words.count("no") == 2


def test_counts_and_labels_have_to_fit() -> None:
    with pytest.raises(ValueError, match="one cell a label pair"):
        diagrams.cube_diagram([], (), [[1]], ["a", "b"], ["c"])
