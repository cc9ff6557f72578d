"""Line charts: what is drawn, how labels are kept apart, what the alternative text
says.
"""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dpbayes.figures._old_lines import Curve, Panel, lines
from dpbayes.figures.language import LOOKS, REFERENCE


def one_panel() -> list[Panel]:
    x = [1.0, 2.0, 3.0]
    curves = [
        Curve("first", x, [3.0, 2.0, 1.0]),
        Curve("second", x, [1.0, 4.0, 1.0]),
        Curve("first", x, [3.1, 1.9, 1.2], "simulated", [0.1, 0.1, 0.1]),
        Curve("first", [2.0], [2.05], "reading"),
    ]
    return [Panel(curves, "title")]


@pytest.mark.slow
def test_every_label_is_written_once_and_stays_inside():
    figure, _ = lines("n", "mean", one_panel())
    figure.draw_without_rendering()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == ["first", "second"]
    boxes = [
        Text.get_window_extent(text) for text in texts
    ]  # without the tie to the curve
    assert not boxes[0].overlaps(boxes[1])
    for box in boxes:
        assert box.x1 <= figure.bbox.x1 + 1


def test_ties_of_labels_stay_outside_and_an_early_end_is_labelled_where_it_is():
    long, short = (
        Curve("long", [1, 2, 10], [1, 2, 3]),
        Curve("short", [1, 2, 4], [3, 2, 1]),
    )
    axes = lines("n", "mean", [Panel([long, short])])[0].axes[0]
    tied, free = (
        next(t for t in axes.texts if t.get_text() == word)
        for word in ("long", "short")
    )
    assert tied.xy[0] == 1.0
    assert tied.arrow_patch is not None
    assert free.arrow_patch is None
    assert axes.transAxes.transform(free.xy) == pytest.approx(
        axes.transData.transform((4, 1))
    )


def test_a_reference_is_thin_grey_and_without_marks():
    promise = Curve("promise", [1, 2, 3], [1, 1, 1], "reference")
    figure, alt = lines(
        "n", "loss", [Panel([Curve("lapMech", [1, 2, 3], [3, 2, 1]), promise])]
    )
    data, grey = figure.axes[0].get_lines()
    assert (grey.get_color(), grey.get_marker()) == (REFERENCE["color"], "None")
    assert grey.get_linewidth() < data.get_linewidth()
    assert data.get_marker() == LOOKS["lapMech"].marker
    assert "promise: 1 all the way from 1 to 3." in alt


def test_markers_are_explained_below():
    figure, _ = lines("n", "mean", one_panel())
    notes = [text.get_text() for text in figure.legends[0].get_texts()]
    assert notes == [
        "average of simulated runs, bars: ± 1 standard error",
        "read off the printed figure",
    ]
    plain, _ = lines("n", "mean", [Panel([Curve("a", [1, 2], [1, 2])])])
    assert not plain.legends


def test_the_alternative_text_tells_ends_and_extremes():
    _, alt = lines("n", "mean", one_panel())
    assert (
        "Curves of mean against n. Panel: title. first: from 3 at 1 to 1 at 3." in alt
    )
    assert "second: from 1 at 1 to 1 at 3, highest 4 at 2." in alt
    assert "first (read off the printed figure): 2.05 at 2." in alt


def test_places_on_the_axis_have_no_digits_of_a_grid():
    _, alt = lines(
        "δ", "mean", [Panel([Curve("a", [0.5, 0.682034, 123456.0], [1, 3, 2])])]
    )
    assert "from 1 at 0.5 to 2 at 123456, highest 3 at 0.682." in alt


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("place", [1e-3, 1.0, 10.0, 100.0, 1000.0])
def test_a_single_power_of_ten_has_an_axis_without_a_warning(place: float) -> None:
    curves = [
        Curve("a", [place], [0.2]),
        Curve("b", [place], [0.3], "simulated", [0.1]),
    ]
    figure, _ = lines("x", "y", [Panel(curves)] * 2, "log", "log")
    assert figure.axes[0].get_xlim() == pytest.approx((place / 2, place * 2))


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_panel_of_one_point_cuts_no_other(scale: str) -> None:
    panels = [
        Panel([Curve("a", [300], [1.0])]),
        Panel([Curve("a", [300, 1000], [1.0, 2.0])]),
    ]
    figure, _ = lines("n", "y", panels, xscale=scale)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low < 300
        assert high > 1000


def test_a_staircase_rises_at_its_places_and_dots_have_no_line() -> None:
    curves = [
        Curve("lapMech", [0, 1], [0.2, 1.0], "cumulative"),
        Curve("all", [0, 1], [1, 0], "dots"),
        Curve("geometric", [0, 1], [0.4, 0.6], "law"),
    ]
    stairs, dots, treads = lines("c", "share", [Panel(curves)])[0].axes[0].get_lines()
    assert stairs.get_drawstyle() == "steps-post"
    assert treads.get_drawstyle() == "steps-mid"
    assert stairs.get_marker() in ("None", None)
    assert (dots.get_linestyle(), dots.get_marker()) == ("None", ".")


def test_a_long_title_is_broken_into_lines() -> None:
    title = "The global sensitivity is up to five times as large as the local one"
    figure, _ = lines("n", "y", [Panel([Curve("a", [1, 2], [1, 2])], title)])
    shown = figure.axes[0].get_title(loc="left")
    assert " ".join(shown.split("\n")) == title
    assert max(map(len, shown.split("\n"))) <= 46
