"""Pictures of document E: what is drawn, and what the texts say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from dpbayes.figures import queries as figures


def test_mass_panels_show_what_they_are_given() -> None:
    exact, rough = np.array([0.25, 0.5, 0.25]), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    figure, alt = figures.mass_panels(exact, {"rough": rough, "same": exact}, "noise", 2)
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    np.testing.assert_allclose(bars, rough)
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), [0, 0.25, 0.5, 0.25, 0])
    assert "The largest difference of rough from it in a cell is 0.1" in alt
    assert "The largest difference of same from it in a cell is 0." in alt


def test_a_narrow_vector_is_padded_and_a_wide_one_cut_around_its_middle() -> None:
    wide = np.arange(1.0, 8.0)  # cell 0 holds 4
    figure, _ = figures.mass_panels([1.0], {"wide": wide}, "noise", 1)
    np.testing.assert_allclose([patch.get_height() for patch in figure.axes[0].patches], [3, 4, 5])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [0, 1, 0])


def test_cube_diagram_names_every_cell() -> None:
    figure, alt = figures.cube_diagram(
        [("30", "12")], ("age", "income"), [[1, 2], [3, 4]], ["young", "old"], ["low", "high"]
    )
    texts = {text.get_text() for text in figure.axes[1].texts}
    assert {"1", "2", "3", "4", "young", "old", "low", "high"} <= texts
    assert "old: 3 at low, 4 at high" in alt


def test_the_fullest_cell_is_the_darkest() -> None:
    figure, _ = figures.cube_diagram(
        [("u", "x")], ("a", "b"), [[1, 4], [0, 2]], ["x", "y"], ["u", "v"]
    )
    boxes = [patch for patch in figure.axes[1].patches if isinstance(patch, Rectangle)]
    depths = {box.get_xy(): box.get_facecolor()[3] for box in boxes}
    assert depths == {(0, 0): 0.0625, (1, 0): 0.25, (0, 1): 0.0, (1, 1): 0.125}


def test_framework_diagram_has_three_ways_out() -> None:
    figure, alt = figures.framework_diagram()
    text = " ".join(text.get_text() for text in figure.axes[0].texts)
    for word in ("derived", "rejected", "account"):
        assert word in text
        assert word in alt


def test_each_decision_has_a_way_for_yes_and_one_for_no() -> None:
    figure, _ = figures.framework_diagram()
    words = [text.get_text() for text in figure.axes[0].texts]
    questions = [word for word in words if word.endswith("?")]
    assert len(questions) == words.count("yes") == words.count("no") == 2


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="at least one mass vector"):
        figures.mass_panels([1.0], {}, "x", 1)
    with pytest.raises(ValueError, match="odd length"):
        figures.mass_panels([0.5, 0.5], {"a": [1.0]}, "x", 1)
    with pytest.raises(ValueError, match="one cell a label pair"):
        figures.cube_diagram([], (), [[1]], ["a", "b"], ["c"])
