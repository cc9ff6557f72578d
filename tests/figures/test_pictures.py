"""What each picture shows of the data it is given, what its text says, and that no
file of the user's changes it.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from matplotlib.colors import to_hex
from scipy.stats import beta

from dpbayes.figures.alternative import alternative_text, headline
from dpbayes.figures.boxes import READ, drawn_boxes, exact_boxes
from dpbayes.figures.densities import proportions_for, stretch
from dpbayes.figures.intervals import intervals
from dpbayes.figures.language import LOOKS, REFERENCE, look
from dpbayes.figures.maps import winners
from dpbayes.figures.points import printed_points, residuals, simulated_means
from dpbayes.figures.theme import (
    PNG_DPI,
    WIDTH,
    legend,
    plain,
    png_bytes,
    subplots,
    svg_bytes,
)

FIVE = [[0.0, 0.1, 0.2, 0.4, 0.8], [0.1, 0.2, 0.3, 0.5, 0.9]]
HOSTILE = (
    "font.family: serif\nfont.size: 20\nsavefig.bbox: tight\ntext.usetex: True\n"
    "svg.fonttype: none\naxes.grid: False\nlines.linewidth: 9\nlegend.fontsize: 3\n"
    "axes.facecolor: black\nfigure.dpi: 33\nxtick.major.size: 40\n"
)
DRAWING = """
from tests.figures.test_pictures import curves
from dpbayes.figures.theme import svg_bytes
import hashlib
print(hashlib.sha256(svg_bytes(curves()[0], "part/x")).hexdigest())
"""


def curves(title: str = "Noise wins"):
    """Return a figure of two curves with a reference line, and its axes."""
    columns = {"lapMech": [0.4, 0.2, 0.1], "expMech": [0.3, 0.9, 0.5]}
    frame = pd.DataFrame({"n": [10, 100, 1000], **columns})
    frame = frame.melt("n", var_name="mechanism", value_name="error")
    figure, axes = subplots()
    kind = {"x": "n", "y": "error", "hue": "mechanism", "style": "mechanism"}
    sns.lineplot(frame, **kind, **look(columns), ax=axes)
    axes.axhline(0.7, label="promise", **REFERENCE)
    axes.set(xscale="log", yscale="log")
    legend(figure, title)
    return figure, axes


def test_no_file_of_the_user_changes_a_figure(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(HOSTILE)
    root = Path(__file__).parents[2]
    seen = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DRAWING],
            cwd=root,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "PYTHONPATH": str(root),
            }
            | ({"MATPLOTLIBRC": str(tmp_path)} if hostile else {}),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hostile in (False, True)
    }
    assert len(seen) == 1


def test_a_figure_gives_the_same_bytes_without_a_date() -> None:
    first, second = (curves()[0] for _ in range(2))
    svg = svg_bytes(first, "part/x")
    assert svg == svg_bytes(first, "part/x") == svg_bytes(second, "part/x")
    assert svg != svg_bytes(curves()[0], "part/y")  # the salt is in its parts' names
    assert b"<dc:date>" not in svg
    assert png_bytes(first, "words") == png_bytes(second, "words")
    assert b"words" in png_bytes(first, "words")
    width = int.from_bytes(png_bytes(first)[16:20], "big")
    assert width == WIDTH * PNG_DPI


def test_the_text_says_title_axes_curves_and_lines() -> None:
    figure, _ = curves()
    assert headline(figure) == "Noise wins"
    assert alternative_text(figure) == (
        "Noise wins. Error (logarithmic scale) against n (logarithmic scale). lapMech:"
        " from 0.4 at 10 to 0.1 at 1000. expMech: from 0.3 at 10 to 0.5 at 1000,"
        " highest 0.9 at 100. promise: a straight line at height 0.7."
    )


def test_nothing_leaves_the_picture_and_no_labels_touch() -> None:
    figure, axes = curves("A title of so many words that one line has no room for it")
    axes.set_xlabel(
        "a label that is much too long for a picture of three inches and a half"
    )
    png_bytes(figure)
    figure.draw_without_rendering()
    page = figure.bbox
    texts = [figure.legends[0], axes.xaxis.label, axes.yaxis.label]
    for one in texts:
        box = one.get_window_extent()
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
    for axis in (axes.xaxis, axes.yaxis):
        shown = [one.get_window_extent() for one in axis.get_ticklabels()]
        assert not any(a.overlaps(b) for a, b in pairwise(shown))
    written = [one.get_text() for one in axes.get_yticklabels()]
    assert "0.5" in written
    assert not any("10^" in word for word in written)
    assert float(plain(1_234_567.0).replace("\u202f", "")) == 1_234_567.0


def test_boxes_are_drawn_at_their_five_numbers_beside_what_was_read() -> None:
    figure, (above, below) = subplots(2, 1, sharex=True)
    read = {"lapMech": [(0, 0.15, 0.01), (1, 0.35, 0.02)]}
    exact_boxes(above, ["10", "20"], {"lapMech": FIVE, "geometric": FIVE}, 400, read)
    rng = np.random.default_rng(1)
    runs = pd.DataFrame({"n": ["10", "20"] * 50, "d": rng.random(100), "m": "lapMech"})
    drawn_boxes(below, runs, x="n", y="d", hue="m")
    legend(figure)
    lap = above.containers[0]
    medians = [line.get_ydata()[0] for line in lap.medians]
    assert medians == [0.2, 0.3]
    heights = lap.boxes[0].get_path().vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.1, 0.4)
    notch = 1.57 * 0.3 / np.sqrt(400)
    assert any(heights == pytest.approx(0.2 + notch) for heights in heights)
    assert to_hex(lap.boxes[0].get_edgecolor()) == LOOKS["lapMech"].color.lower()
    text = alternative_text(figure)
    assert "lapMech: median 0.2 at 10 and 0.3 at 20" in text
    assert f"lapMech, {READ}: 2 points at height 0.15 to 0.35" in text
    middle = runs["d"][runs["n"] == "10"].median()
    assert f"lapMech: median {middle:.3g} at 10" in text


def test_points_have_the_errors_and_the_colour_of_their_curve() -> None:
    figure, axes = subplots()
    printed = {"x": [1, 2], "y": [0.5, 0.25], "error": [0.1, 0.2]}
    printed_points(axes, printed | {"curve": ["lapMech"] * 2})
    data, _, (bars,) = axes.containers[0].lines
    ends = [bar[:, 1] for bar in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.4, 0.6], [0.05, 0.45]])
    assert data.get_color() == LOOKS["lapMech"].color
    runs = pd.DataFrame({"x": [1.0] * 100, "y": [0.0, 1.0] * 50, "m": "geometric"})
    simulated_means(axes, runs, x="x", y="y", hue="m")
    bar = axes.containers[-1].lines[2][0].get_segments()[0][:, 1]
    deviation = np.std(runs["y"], ddof=1) / 10
    np.testing.assert_allclose(bar, [0.5 - deviation, 0.5 + deviation])
    legend(figure)
    assert (
        "printed points, lapMech: 2 points at height 0.25 to 0.5"
        in alternative_text(figure)
    )


def test_every_score_is_drawn_on_a_scale_that_holds_it() -> None:
    figure, caption = residuals({"lapMech": (0.5, -1.0), "read": [-12.5]}, "A").values()
    low, high = figure.axes[0].get_ylim()
    assert low == -high < -12.5
    assert "points of A" in caption
    assert "lapMech: 2 points at height −1 to 0.5" in alternative_text(figure)


def test_every_cell_has_its_winner_s_colour_and_marker() -> None:
    index = np.array([[0, 0, 1], [0, 1, 1]])
    figure, axes = subplots()
    winners(axes, index, [0.1, 0.2], [1, 10, 100], ["lapMech", "expMech"])
    legend(figure)
    mesh, *marks = axes.collections
    mesh.update_scalarmappable()
    colors = [to_hex(one) for one in mesh.get_facecolor()]
    assert [colors[0] == one for one in colors] == [i == 0 for i in index.ravel()]
    assert [len(one.get_offsets()) for one in marks] == [3, 3]
    assert to_hex(marks[0].get_facecolor()[0]) == LOOKS["lapMech"].color.lower()
    assert not axes.yaxis_inverted()  # the first row is the lowest
    assert (
        "lapMech in 50 % of the cells, expMech in 50 % of the cells"
        in alternative_text(figure)
    )


def test_each_category_has_every_reading_and_its_truth() -> None:
    figure, axes = subplots()
    readings = {
        "exact": [[0.1, 0.2], [0.5, 0.7]],
        "noise-aware": [[0.05, 0.3], [0.4, 0.8]],
    }
    intervals(axes, ["fair", "poor"], readings, [0.15, 0.6])
    legend(figure)
    text = alternative_text(figure)
    assert "exact: fair 0.1 to 0.2, poor 0.5 to 0.7" in text
    assert "noise-aware: fair 0.05 to 0.3, poor 0.4 to 0.8" in text
    with pytest.raises(ValueError, match="low <= high"):
        intervals(axes, ["fair"], {"exact": [[0.2, 0.1]]})
    with pytest.raises(ValueError, match="at least one category"):
        intervals(axes, [], readings)


@pytest.mark.parametrize(
    "law", [(1000001.0, 13.0), (2.0, 3e7), (1e12, 13.0), (8.0, 4.0)]
)
def test_a_posterior_is_seen_however_narrow_it_is(law: tuple[float, float]) -> None:
    points = proportions_for([(1.0, 1.0), law])
    assert beta(*law).pdf(points).max() > 0.99 * beta(*law).pdf(
        (law[0] - 1) / (sum(law) - 2)
    )
    low, high = stretch(law)
    assert (low, high) == (0.0, 1.0) or law[0] != 8.0
    assert beta(*law).cdf(high) - beta(*law).cdf(low) > 0.99
    assert (high - low) < 200 * beta(*law).std()
