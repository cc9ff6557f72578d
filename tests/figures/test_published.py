"""Published points beside computed values: dots, clouds and strips, and their words."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from dpbayes.figures.published import Strip, change_cloud, dots, read_off, strips
from dpbayes.figures.readings import RESIDUALS
from dpbayes.figures.steps import Masses, StepPanel
from dpbayes.figures.theme import svg_bytes

READ = [(0.0, 0.42, 0.01, 2.0), (0.1, 0.29, 0.01, -1.0)]


def panel() -> StepPanel:
    first = Masses("lapMech", [0.0, 0.1], [0.4, 0.3], READ)
    return StepPanel([first, Masses("ilapMech", [0.0, 0.1], [0.6, 0.2])], "as drawn")


def test_readings_become_circles_and_residuals():
    above, below = read_off({"lapMech": READ, "ilapMech": []})
    assert [curve.kind for curve in (*above, *below)] == ["reading", "residual"]
    assert np.asarray(above[0].y).tolist() == [0.42, 0.29]
    assert np.asarray(above[0].error).tolist() == [0.01, 0.01]
    assert np.asarray(below[0].y).tolist() == [2.0, -1.0]


def test_no_line_joins_the_dots():
    figure, alt = dots([panel()])
    upper, lower = figure.axes
    assert all(line.get_linestyle() in ("None", "none") for line in upper.get_lines())
    assert lower.get_title() == RESIDUALS
    assert upper.get_xlim() == lower.get_xlim()
    assert "lapMech: 0.4 at the nearest, 0.3 at the last." in alt
    notes = [text.get_text() for text in figure.legends[0].get_texts()]
    assert notes == ["lapMech", "ilapMech", "read off the published figure"]
    svg_bytes(figure, "a")


def test_circles_lie_on_the_dots_they_belong_to():
    figure, _ = dots([panel()])
    places = {}
    for line in figure.axes[0].get_lines():
        if line.get_marker() not in ("None", "_", "|", None) and len(line.get_xdata()) == 2:
            places.setdefault(to_hex(line.get_color()), []).append(np.asarray(line.get_xdata()))
    same = [found for found in places.values() if len(found) == 2]
    assert same
    for one, other in same:
        assert one == pytest.approx(other)
    spread = {float(found[0][0]) for found in places.values()}
    assert len(spread) == 2


def test_a_logarithmic_scale_leaves_out_zeros():
    zeros = StepPanel([Masses("lapMech", [0.0, 0.1, 0.2], [0.9, 0.1, 0.0])])
    figure, _ = dots([zeros], yscale="log")
    assert max(len(line.get_xdata()) for line in figure.axes[0].get_lines()) == 2


def test_a_cloud_of_changes():
    figure, alt = change_cloud([0.0, 0.1, 0.2], [0.05, 0.04, 0.01], READ, "distance", "change")
    assert len(figure.axes) == 2
    assert "the highest, 0.0500, at 0; the farthest has 0.01." in alt
    assert "2 readings, the farthest 2.0 errors off" in alt
    bare, _ = change_cloud([0.0, 0.1], [0.05, 0.04], [], "distance", "change")
    assert len(bare.axes) == 1


def test_strips_of_runs():
    many = [Strip("global", [0.8, 0.9], 0.85, (0.84, 0.01, -1.0)), Strip("local", [0.1], 0.1)]
    figure, alt = strips({"n = 300": many}, "distance")
    upper, lower = figure.axes
    assert [label.get_text() for label in upper.get_xticklabels()] == ["global", "local"]
    assert lower.get_title() == RESIDUALS
    assert (
        "n = 300: global has the mean 0.85, published 0.84. n = 300: local has the mean 0.1." in alt
    )


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="panels must hold"):
        dots([])
    with pytest.raises(ValueError, match="one shape"):
        change_cloud([0.0], [0.1, 0.2], [], "x", "y")
    with pytest.raises(ValueError, match="sample must have shape"):
        Strip("a", [], 0.1)
    with pytest.raises(ValueError, match="panels must hold"):
        strips({}, "distance")
