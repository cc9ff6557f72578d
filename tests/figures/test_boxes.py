"""Box plots: quartiles, whiskers, notches, and the exact quantiles on them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.cbook import boxplot_stats
from matplotlib.collections import LineCollection

from dpbayes.figures.boxes import Boxes, BoxPanel, boxes
from dpbayes.figures.language import LOOKS, SERIES
from dpbayes.figures.theme import new_axes

SAMPLE = np.concatenate((np.linspace(0.1, 0.5, 101), [0.9, 0.9, 0.95]))


def draw(**options):
    exact = [[0.2, 0.3, 0.4], [0.25, 0.35, 0.45]]
    one = Boxes("one", [SAMPLE, SAMPLE + 0.01], exact)
    other = Boxes("other", [SAMPLE, SAMPLE])
    return boxes("prior", "distance", ["1", "2"], [BoxPanel([one, other], "title")], **options)


def test_boxes_reach_from_quartile_to_quartile():
    figure, _ = draw(notch=False)
    low, high = np.quantile(SAMPLE, [0.25, 0.75])
    both = figure.axes[0].patches[0].get_path().vertices
    for more, box in ((0.0, both[both[:, 0] < 0.5]), (0.01, both[both[:, 0] > 0.5])):
        assert box[:, 1].min() == pytest.approx(low + more)
        assert box[:, 1].max() == pytest.approx(high + more)


@pytest.mark.parametrize("notch", [True, False])
def test_boxes_are_those_of_matplotlib(notch):
    figure, _ = draw(notch=notch)
    (body, _), lines = figure.axes[0].patches, figure.axes[0].get_lines()[:4]
    theirs = new_axes("", "")[1].bxp(
        [{**boxplot_stats(SAMPLE + more)[0]} for more in (0.0, 0.01)],
        positions=[-0.2, 0.8], widths=0.82 * 0.4, shownotches=notch, patch_artist=True,
    )  # fmt: skip
    shapes = np.concatenate([box.get_path().vertices[:-1] for box in theirs["boxes"]])
    np.testing.assert_allclose(body.get_path().vertices, shapes)
    assert body.zorder == theirs["boxes"][0].zorder
    for ours, kind in zip(lines, ("whiskers", "caps", "medians", "fliers"), strict=True):
        points = ours.get_xydata()
        drawn = {tuple(point) for point in points[~np.isnan(points[:, 1])].round(12)}
        wanted = np.concatenate([line.get_xydata() for line in theirs[kind]])
        assert drawn == {tuple(point) for point in wanted.round(12)}
        assert ours.zorder == theirs[kind][0].zorder


def test_whiskers_end_within_the_stated_box_lengths():
    figure, _ = draw(whiskers=1.2)
    low, high = np.quantile(SAMPLE, [0.25, 0.75])
    fence = high + 1.2 * (high - low)
    reach = max(value for value in SAMPLE if value <= fence)
    ends = {round(float(y), 9) for line in figure.axes[0].get_lines() for y in line.get_ydata()}
    assert round(float(reach), 9) in ends
    assert {0.9, 0.95} <= ends


def test_equal_outliers_are_drawn_once():
    figure, _ = draw()
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() == "."]
    found = sorted(zip(*dots[0].get_data(), strict=True))
    assert found == pytest.approx(np.array([(-0.2, 0.9), (-0.2, 0.95), (0.8, 0.91), (0.8, 0.96)]))


def test_exact_quantiles_are_short_bars():
    figure, _ = draw()
    bars = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    heights = sorted(segment[0][1] for segment in bars[0].get_segments())
    assert heights == pytest.approx([0.2, 0.25, 0.3, 0.35, 0.4, 0.45])


def test_a_mechanism_keeps_its_colour_in_every_panel():
    one, other = (Boxes(name, [SAMPLE]) for name in ("lapMech", "other"))
    figure, _ = boxes("p", "d", ["1"], [BoxPanel([one, other]), BoxPanel([other])])
    colors = [axes.patches[-1].get_edgecolor()[:3] for axes in figure.axes]
    assert colors[0] == colors[1]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["lapMech", "other"]
    colors = [line.get_color() for line in legend.get_lines()]
    assert colors == [LOOKS["lapMech"].color, SERIES[0]]


def test_the_alternative_text_gives_exact_medians():
    _, alt = draw()
    assert "one: median from 0.3 at 1 to 0.35 at 2." in alt
    assert "other: median" in alt


def test_the_alternative_text_names_a_median_that_stands_out_in_between():
    one = Boxes("one", [SAMPLE] * 3, [[0.1, 0.3, 0.5], [0.2, 0.6, 0.7], [0.1, 0.3, 0.5]])
    other = Boxes("other", [SAMPLE] * 3, [[0.4, 0.5, 0.6], [0.0, 0.2, 0.3], [0.3, 0.4, 0.5]])
    _, alt = boxes("prior", "distance", ["1", "2", "3"], [BoxPanel([one, other])])
    assert "one: median from 0.3 at 1 to 0.3 at 3, highest 0.6 at 2." in alt
    assert "other: median from 0.5 at 1 to 0.4 at 3, lowest 0.2 at 2." in alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Boxes("a", []), "at least one group"),
        (lambda: Boxes("a", [[0.1]]), "at least 2 distances"),
        (lambda: Boxes("a", [SAMPLE], [[0.1, 0.2]]), "quantiles must have shape"),
        (lambda: boxes("p", "d", ["1", "2"], [BoxPanel([Boxes("a", [SAMPLE])])]), "2 samples"),
        (lambda: boxes("p", "d", ["1"], []), "one a group"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_median_of_minus_zero_is_zero() -> None:
    one = Boxes("one", [[-0.0, -0.0, -0.0]] * 2)
    assert "one: median from 0 at 1 to 0 at 2." in boxes("n", "d", ["1", "2"], [BoxPanel([one])])[1]
