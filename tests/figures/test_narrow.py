"""The drawing for a narrow column: the same data and colours, every word readable and in reach."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from dpbayes.figures._fitting import broken, fit, readable
from dpbayes.figures._labels import end_labels
from dpbayes.figures.language import LOOKS
from dpbayes.figures.lines import Curve, Panel, lines
from dpbayes.figures.maps import MapPanel, maps
from dpbayes.figures.narrow import LEAST, WIDTH, narrow
from dpbayes.figures.pictures import hexagons
from dpbayes.figures.published import change_cloud
from dpbayes.figures.queries import cube_diagram, framework_diagram
from dpbayes.figures.theme import new_axes, new_panels, svg_bytes
from dpdrawn.svg import READABLE, least_width
from tests.figures.reading_svg import off_the_language

X = np.arange(1.0, 21.0)
NAMES = ("lapMech", "expMech-smooth, calibrated", "geometric, remapped")


def chart(panels: int = 1) -> Figure:
    curves = [Curve(name, X, X + place) for place, name in enumerate(NAMES)]
    curves.append(Curve("lapMech", X, X, "simulated", 0.1 * X))
    return lines("number of records in the table", "mean distance", [Panel(curves)] * panels)[0]


def winners(panels: int) -> Figure:
    index = np.array([[0, 1], [1, 1]])
    shown = [MapPanel(index, f"panel {number}") for number in range(panels)]
    return maps("records n", "share", [1, 2], [1.0, 3.0], ["lapMech", "expMech"], shown)[0]


def redrawn(figure: Figure) -> Figure:
    slim = narrow(figure)
    assert slim is not None
    return slim


def test_names_at_the_ends_become_one_legend_below() -> None:
    slim = redrawn(chart(2))
    (legend,) = slim.legends
    written = [text.get_text() for text in legend.get_texts()]
    assert [" ".join(one.split()) for one in written][:3] == list(NAMES)
    assert len(written) == 4  # and what the marks with bars are
    assert not any(text.get_visible() for axes in slim.axes for text in end_labels(axes))
    shown = dict(zip(NAMES, legend.legend_handles, strict=False))
    for name in NAMES:
        assert shown[name].get_color() == LOOKS[name].color
    lowest = min(axes.get_tightbbox().y0 for axes in slim.axes)
    assert legend.get_window_extent().y1 <= lowest + 1


def test_the_data_are_those_of_the_wide_figure() -> None:
    wide = chart()
    slim = redrawn(wide)
    for one, other in zip(wide.axes[0].lines, slim.axes[0].lines, strict=True):
        assert np.array_equal(one.get_xydata(), other.get_xydata())
        assert one.get_color() == other.get_color()
    assert (wide.axes[0].get_xlim(), wide.axes[0].get_ylim()) == (
        slim.axes[0].get_xlim(),
        slim.axes[0].get_ylim(),
    )


def test_the_wide_figure_stays_as_it_is() -> None:
    alone, redrawn_before = chart(), chart()
    redrawn(redrawn_before)
    assert svg_bytes(redrawn_before, "x") == svg_bytes(alone, "x")


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert svg_bytes(redrawn(chart()), "x") == svg_bytes(redrawn(chart()), "x")


@pytest.mark.parametrize("panels", [1, 2, 3, 4])
def test_panels_side_by_side_stand_below_one_another_in_their_order(panels: int) -> None:
    slim = redrawn(winners(panels))
    assert [axes.get_title() for axes in slim.axes] == [f"panel {i}" for i in range(panels)]
    boxes = [axes.get_window_extent() for axes in slim.axes]
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    assert np.ptp([box.x0 for box in boxes]) < 1
    assert min(box.width for box in boxes) > 0.6 * WIDTH * slim.dpi


def test_panels_that_shared_labels_have_their_own() -> None:
    figure, rows = new_panels(1, 3, sharey=True)
    for axes in rows[0]:
        axes.plot(X, X)
    rows[0][0].set_ylabel("density")
    slim = redrawn(figure)
    for axes in slim.axes:
        assert axes.get_ylabel() == "density"
        assert any(text.get_text() and text.get_visible() for text in axes.get_yticklabels())


@pytest.mark.parametrize("figure", [chart(), chart(3), winners(2)])
def test_letters_are_readable_and_the_language_is_kept(figure: Figure) -> None:
    slim = redrawn(figure)
    svg = svg_bytes(slim, "x")
    assert off_the_language(svg)[1] == []
    points = WIDTH * 72
    assert least_width(svg.decode(), points) <= 330  # pixels, at which letters have 11
    sizes = [text.get_fontsize() for text in slim.findobj(Text)]
    assert min(sizes) >= LEAST >= READABLE * 0.75


def test_long_words_are_broken_and_touching_numbers_left_out() -> None:
    figure, axes = new_axes("a name of an axis that is much too long for a narrow column", "y")
    axes.plot([1000.0, 20000.0], [0.0, 1.0])
    axes.set_xticks(np.arange(1000.0, 20001.0, 1000.0))
    axes.tick_params(labelsize=7)
    slim = redrawn(figure)
    assert "\n" in slim.axes[0].get_xlabel()
    seen = [text.get_text() for text in slim.axes[0].get_xticklabels()]
    assert 2 <= len(seen) < 12
    assert seen[0] == "1000"


def test_names_of_groups_that_touch_are_turned_and_none_is_left_out() -> None:
    figure, axes = new_axes("", "runs")
    axes.set_xticks(range(4), ["lapMech", "ilapMech", "expMech-smooth", "expMech-local"])
    slim = redrawn(figure)
    labels = slim.axes[0].get_xticklabels()
    assert len(labels) == 4
    assert {label.get_rotation() for label in labels} == {90.0}


def test_a_figure_without_room_is_left_alone() -> None:
    figure, axes = new_axes("x", "y")
    axes.text(0.1, 0.5, "a sentence inside of the axes that reaches to their end", fontsize=11)
    assert narrow(figure) is None
    figure, axes = new_axes("x", "y")
    axes.text(0.2, 0.5, "one word")
    axes.text(0.3, 0.5, "on another")
    assert narrow(figure) is None
    assert narrow(new_axes("x", "y", width=WIDTH)[0]) is None
    assert narrow(Figure()) is None


def test_a_name_without_its_curve_leaves_the_figure_alone() -> None:
    figure = chart()
    for line in figure.axes[0].lines:
        line.set_label("another")
    assert narrow(figure) is None


def test_a_circle_is_explained_by_a_circle() -> None:
    figure, _ = change_cloud(X, X, [(1.0, 1.0, 0.1, 0.2), (2.0, 2.0, 0.1, 0.1)], "x", "y")
    (legend,) = redrawn(figure).legends
    assert legend.get_texts()[1].get_text() == "read off the published figure"
    marks = [one.get_marker() for one in legend.findobj(Line2D) if isinstance(one, Line2D)]
    assert "o" in marks


def test_formulas_are_not_broken() -> None:
    assert broken("loss of $a + b + c$ now", 8) == "loss of\n$a + b + c$\nnow"
    assert broken("two\nlines", 20) == "two\nlines"


def test_readable_sees_a_text_outside() -> None:
    figure = Figure(figsize=(2, 2))
    figure.text(0.1, 0.5, "inside")
    assert readable(figure)
    figure.text(0.9, 0.9, "outside")
    assert not readable(figure)


def test_nothing_is_changed_where_everything_fits() -> None:
    figure, axes = new_axes("x", "y")
    axes.plot(X, X)
    figure.draw_without_rendering()
    assert not fit([axes])


def test_names_of_several_words_are_broken_rather_than_turned() -> None:
    figure, axes = new_axes("data", "distance")
    axes.set_xticks(range(2), ["x = (261, 39), ε = 0.5, drawn", "x = (90, 410), ε = 0.8, drawn"])
    labels = redrawn(figure).axes[0].get_xticklabels()
    assert {label.get_rotation() for label in labels} == {0.0}
    assert labels[0].get_text().split("\n") == ["x = (261, 39), ε = 0.5,", "drawn"]


@pytest.mark.parametrize(
    "figure",
    [
        framework_diagram()[0],
        cube_diagram([["1", "2"]], ["age", "pay"], [[3, 4]], ["age 1"], ["pay 0-9", "pay 10-19"])[
            0
        ],
        hexagons([[0, 0, 0], [1, -1, 0], [-1, 1, 0]], [0.6, 0.2, 0.2])[0],
    ],
    ids=["framework", "cube", "hexagons"],
)
def test_a_diagram_without_axes_is_drawn_for_a_narrow_column_too(figure: Figure) -> None:
    slim = redrawn(figure)
    assert len(slim.axes) == len(figure.axes)
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert [text.get_text() for axes in slim.axes for text in axes.texts] == words
