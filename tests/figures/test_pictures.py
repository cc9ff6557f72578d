"""What each picture shows of the arrays it is given, what its text says, and what it
refuses.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.optimize import minimize
from scipy.stats import beta

import dpbayes as dp
from dpbayes.figures import _old_queries as queries
from dpbayes.figures._labels import label_ends, spread
from dpbayes.figures._old_boxes import Box, boxes
from dpbayes.figures._old_densities import densities, overlap, proportions_for
from dpbayes.figures._old_intervals import intervals
from dpbayes.figures._old_lines import Curve, Panel, lines, residuals
from dpbayes.figures._old_meaning import meaning
from dpbayes.figures._old_theme import (
    PNG_DPI,
    new_axes,
    new_panels,
    plain,
    plain_decades,
    png_bytes,
    svg_bytes,
)
from dpbayes.figures.language import LOOKS, SERIES

FIVE = [[0.0, 0.1, 0.2, 0.4, 0.8], [0.1, 0.2, 0.3, 0.5, 0.9]]
READINGS = {"exact": [[0.1, 0.2], [0.5, 0.7]], "noise-aware": [[0.05, 0.3], [0.4, 0.8]]}
EPSILONS, CHANCES = np.array([0.1, 1.0, 5.0]), np.array([0.52, 0.73, 0.99])
DISTANCES = {"geometric": [0.4, 0.1, 6.2e-5], "ilapMech": [0.5, 0.2, 0.05]}


def test_boxes_are_drawn_at_their_five_numbers_beside_what_was_read() -> None:
    read = [(0, 0.15, 0.01), (1, 0.35, 0.02)]
    many = [Box("lapMech", FIVE, read), Box("geometric", FIVE)]
    figure, alt = boxes(
        "n", "distance", ["10", "20"], {"title": many, "below": many}, "whiskers"
    )
    axes = figure.axes[0]
    ends, middle, median, _, second, *_ = axes.collections  # the fourth: error bars
    low, lower, centre, upper, high = np.array(FIVE).T
    for drawn, least, most in ((ends, low, high), (middle, lower, upper)):
        reach = np.array(drawn.get_segments())
        assert reach[:, :, 1] == pytest.approx(np.column_stack((least, most)))
    assert np.array(median.get_segments())[:, 0, 1] == pytest.approx(centre)
    assert ends.get_segments()[0][0, 0] < 0.0 < second.get_segments()[0][0, 0]
    circle = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert np.asarray(circle.get_ydata()) == pytest.approx([0.15, 0.35])
    assert circle.get_color() == LOOKS["lapMech"].color
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == [
        "lapMech",
        "geometric",
        "thin: whiskers",
        "read off the printed figure",
    ]
    assert "Panel: title. lapMech: median 0.2 at 10 and 0.3 at 20." in alt


def test_every_score_is_drawn_on_a_scale_that_holds_it() -> None:
    figure, alt, _ = residuals(
        {"lapMech": (0.5, -1.0), "read": [-12.5]}, "A's Figure 1"
    ).values()
    first, second = figure.axes[0].get_lines()
    assert list(first.get_ydata()) == [0.5, -1.0]
    assert list(second.get_xdata()) == [1]
    low, high = figure.axes[0].get_ylim()
    assert low == -high < -12.5
    assert "lapMech: 2 points, z from -1.0 to 0.5." in alt


@pytest.mark.parametrize(
    "law", [(1000001.0, 13.0), (2.0, 3e7), (1e12, 13.0), (8.0, 4.0)]
)
def test_a_posterior_is_seen_however_narrow_it_is(law: tuple[float, float]) -> None:
    points = proportions_for([(1.0, 1.0), law])
    heights = beta(*law).pdf(points)
    assert heights.max() > 0.99 * beta(*law).pdf((law[0] - 1) / (sum(law) - 2))
    figure, alt = densities(
        points, {"prior": np.ones(points.size), "posterior": heights}
    )
    assert len(figure.axes) == 1 + (law[0] != 8.0)
    low, high = figure.axes[-1].get_xlim()
    assert beta(*law).cdf(high) - beta(*law).cdf(low) > 0.99
    assert ("Below, the same between" in alt) == (law[0] != 8.0)
    assert law[0] != 8.0 or alt.endswith(
        "posterior: highest at 0.70 with density 2.94."
    )
    _, alt = densities(
        points, {"wide": np.ones(points.size), "narrow": np.zeros(points.size)}
    )
    assert "narrow: too narrow to be seen" in alt


def test_the_area_that_two_densities_share_is_their_affinity() -> None:
    x, a, b = np.linspace(0.0, 1.0, 201), np.array([13.0, 9.0]), np.array([10.0, 12.0])
    distance = float(dp.hellinger(a, b))
    figure, alt = overlap(x, beta(*a).pdf(x), {"3 moved": beta(*b).pdf(x)}, [distance])
    x, y = figure.axes[0].collections[0].get_paths()[0].vertices.T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    assert area == pytest.approx(1 - distance**2, abs=1e-3)
    assert f"the area is {1 - distance**2:.3f}" in alt


def test_each_category_has_a_panel_with_every_reading() -> None:
    figure, alt = intervals(["fair", "poor"], READINGS, "proportion")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["fair", "poor"]
    for row, axes in enumerate(figure.axes):
        drawn = [list(line.get_xdata()) for line in axes.lines[::2]]
        assert drawn == [READINGS[label][row] for label in READINGS]
    assert "poor: exact 0.5000 to 0.7000; noise-aware 0.4000 to 0.8000." in alt


def test_the_meaning_of_epsilon_holds_the_arrays_that_were_given() -> None:
    figure, alt = meaning(EPSILONS, CHANCES, DISTANCES, 0.5, [1.0])
    top, bottom = figure.axes
    np.testing.assert_array_equal(
        top.lines[0].get_xydata(), np.column_stack((EPSILONS, CHANCES))
    )
    drawn = [line.get_ydata() for line in bottom.lines[:2]]
    np.testing.assert_array_equal(drawn, list(DISTANCES.values()))
    assert [line.get_xdata()[0] for line in (top.lines[-1], bottom.lines[-1])] == [
        1.0,
        1.0,
    ]
    assert "starts at 0.50 rises from 0.52 at epsilon 0.1 to 0.99 at 5" in alt
    assert "geometric: from 0.4 to 6.2e-05." in alt


def test_mass_panels_pad_and_cut_around_their_middle() -> None:
    exact, rough = np.array([0.25, 0.5, 0.25]), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    figure, alt = queries.mass_panels(
        exact, {"rough": rough, "same": exact}, "noise", 2
    )
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    np.testing.assert_allclose(bars, rough)
    np.testing.assert_allclose(
        figure.axes[1].lines[0].get_ydata(), [0, 0.25, 0.5, 0.25, 0]
    )
    assert "The largest difference of rough from it in a cell is 0.1" in alt
    figure, _ = queries.mass_panels([1.0], {"wide": np.arange(1.0, 8.0)}, "noise", 1)
    np.testing.assert_allclose(
        [patch.get_height() for patch in figure.axes[0].patches], [3, 4, 5]
    )


def test_the_cube_names_every_cell_and_the_fullest_is_the_darkest() -> None:
    figure, alt = queries.cube_diagram(
        [("30", "12")],
        ("age", "income"),
        [[1, 4], [0, 2]],
        ["young", "old"],
        ["low", "high"],
    )
    texts = {text.get_text() for text in figure.axes[1].texts}
    assert {"1", "4", "0", "2", "young", "old", "low", "high"} <= texts
    cells = [patch for patch in figure.axes[1].patches if isinstance(patch, Rectangle)]
    depths = {cell.get_xy(): cell.get_facecolor()[3] for cell in cells}
    assert depths == {(0, 0): 0.0625, (1, 0): 0.25, (0, 1): 0.0, (1, 1): 0.125}
    assert "old: 0 at low, 2 at high" in alt


def test_the_way_of_a_question_has_three_ways_out() -> None:
    figure, alt = queries.framework_diagram()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert all(
        word in " ".join(words) and word in alt
        for word in ("derived", "rejected", "account")
    )
    questions = [word for word in words if word.endswith("?")]
    assert len(questions) == words.count("yes") == words.count("no") == 2


@pytest.mark.parametrize(
    "positions", [[0.2, 0.21, 0.8], [0.5, 0.5, 0.5], [0.9, 0.3, 0.35, 0.4]]
)
def test_labels_move_as_little_as_possible(positions: list[float]) -> None:
    gap, wanted = 0.1, np.array(positions)
    apart = [
        {"type": "ineq", "fun": lambda at, i=i, j=j: at[j] - at[i] - gap}
        for i, j in pairwise(np.argsort(wanted, kind="stable"))
    ]
    best = minimize(
        lambda at: ((at - wanted) ** 2).sum(), wanted, constraints=apart, tol=1e-12
    )
    np.testing.assert_allclose(spread(positions, gap), best.x, atol=1e-5)
    assert spread([1.0, 1.0, 0.98], 0.2) == [0.8, 1.0, 0.6]


@pytest.mark.parametrize("height", [0.06, 0.5, 0.95])
@pytest.mark.parametrize("between", [0.0, 0.02, 0.2])
def test_labels_of_curves_that_end_early_lie_on_none_of_each_other(
    height, between
) -> None:
    axes = Figure(figsize=(4, 3)).subplots()
    axes.set(xlim=(1, 100), ylim=(0.01, 1))
    ends = [(20.0 + 100 * between * i, height) for i in range(3)]
    label_ends(
        axes, ends, ["3 categories", "4 categories", "5 categories"], SERIES[:3], 3.0
    )
    axes.figure.canvas.draw()
    written = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in combinations(written, 2))


@pytest.mark.slow
def test_a_figure_gives_the_same_bytes_without_a_date() -> None:
    def drawn() -> Figure:
        return lines("n", "mean", [Panel([Curve("lapMech", [1, 2], [0.1, 0.2])])])[0]

    figure = drawn()
    svg = svg_bytes(figure, "part/x")
    assert png_bytes(figure) == png_bytes(drawn())
    assert svg == svg_bytes(figure, "part/x") == svg_bytes(drawn(), "part/x")
    assert svg != svg_bytes(drawn(), "part/y")  # the salt is in the names of its parts
    assert b"<dc:date>" not in svg
    header = png_bytes(new_panels(1, 2, 4.0, 2.0)[0])
    size = [int.from_bytes(header[at : at + 4], "big") for at in (16, 20)]
    assert size == [4 * PNG_DPI, 2 * PNG_DPI]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "decimals"),
    [(0.02, 0.9, True), (1e-6, 1.0, False), (1.0, 1e5, False)],
)
def test_short_logarithmic_axes_have_plain_labels(
    low: float, high: float, decimals: bool
) -> None:
    figure, axes = new_axes("x", "y")
    axes.set(yscale="log", ylim=(low, high))
    plain_decades(axes)
    figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert any("10^{" in text for text in shown) != decimals
    assert not decimals or {"0.05", "0.1", "0.2", "0.5"} <= set(shown)
    assert float(plain(1_234_567.0).replace("\u202f", "")) == 1_234_567.0
    assert plain(0.05) == "0.05"


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(100, 100_000), (90, 20_000), (1, 400)])
def test_labels_of_a_logarithmic_axis_do_not_touch(low: float, high: float) -> None:
    figure, axes = new_axes("n", "y", width=5.2)
    axes.set(xscale="log", xlim=(low, high))
    plain_decades(axes, "x")
    figure.draw_without_rendering()
    shown = [one for one in axes.get_xticklabels() if one.get_text()]
    drawn = [
        one.get_window_extent() for one in shown if low <= one.get_position()[0] <= high
    ]
    assert len(drawn) >= 2
    assert all(a.x1 < b.x0 for a, b in pairwise(drawn))
