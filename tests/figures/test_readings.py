"""Circles of published points, and their residuals on a band of their own."""

from __future__ import annotations

import pytest

from dpbayes.figures.boxes import Boxes, BoxPanel, boxes
from dpbayes.figures.lines import Curve, Panel, lines
from dpbayes.figures.steps import Masses, StepPanel, steps


def marks(axes):
    """Return the points of the circles in some axes."""
    found = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    return [
        tuple(point) for line in found for point in line.get_xydata() if line.get_marker() == "o"
    ]


def test_lines_have_circles_and_residuals_below():
    above = [Curve("m", [1, 2], [3, 4]), Curve("m", [1, 2], [3.1, 4.2], "reading", [0.1, 0.1])]
    below = [Curve("m", [1, 2], [1.0, -4.0], "residual")]
    figure, alt = lines("n", "mean", [Panel(above), Panel(below, "left over")])
    top, bottom = figure.axes
    assert marks(top) == [(1.0, 3.1), (2.0, 4.2)]
    assert marks(bottom) == [(1.0, 1.0), (2.0, -4.0)]
    assert bottom.get_ylim() == pytest.approx((-4.4, 4.4))
    assert "m: residuals from -4.0 to 1.0." in alt


def test_steps_have_circles_and_residuals_below():
    near = Masses("near", [0.0, 0.1], [0.6, 0.4], [(0.0, 0.61, 0.02, 0.5), (0.1, 0.4, 0.02, 0.0)])
    figure, _ = steps([StepPanel([near], "as drawn"), StepPanel([near], "again")])
    assert len(figure.axes) == 4
    assert marks(figure.axes[1]) == [(0.0, 0.5), (0.1, 0.0)]


def test_boxes_have_circles_and_residuals_below():
    box = Boxes(
        "m",
        [[0.1, 0.2, 0.3], [0.2, 0.3, 0.5]],
        readings=[(0, 0.15, 0.01, 0.2), (1, 0.4, 0.01, 3.5)],
    )
    figure, _ = boxes("prior", "distance", ["1", "2"], [BoxPanel([box])])
    assert len(figure.axes) == 2
    assert [value for _, value in marks(figure.axes[1])] == [0.2, 3.5]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "read off the published figure" in labels
