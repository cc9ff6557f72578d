"""Boxes of exact numbers: five lines of a law, and the printed points beside them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.boxes import LEVELS, Box, boxes
from dpbayes.figures.language import LOOKS
from dpbayes.mechanisms import mechanism

FIVE = [[0.0, 0.1, 0.2, 0.4, 0.8], [0.1, 0.2, 0.3, 0.5, 0.9]]


def test_each_box_is_drawn_at_its_five_numbers() -> None:
    figure, alt = boxes("n", "distance", ["10", "20"], {"title": [Box("lapMech", FIVE)]})
    ends, middle, median = figure.axes[0].collections
    low, lower, centre, upper, high = np.array(FIVE).T
    for drawn, least, most in ((ends, low, high), (middle, lower, upper)):
        reach = np.array(drawn.get_segments())
        assert reach[:, :, 1] == pytest.approx(np.column_stack((least, most)))
        assert reach[:, 0, 0] == pytest.approx([0.0, 1.0])
    assert np.array(median.get_segments())[:, 0, 1] == pytest.approx(centre)
    assert "Panel: title. lapMech: median 0.2 at 10 and 0.3 at 20." in alt


def test_mechanisms_stand_side_by_side_in_their_own_colours_with_what_was_read() -> None:
    read = [(0, 0.15, 0.01), (1, 0.35, 0.02)]
    many = [Box("lapMech", FIVE, read), Box("geometric", FIVE)]
    figure, _ = boxes("n", "distance", ["10", "20"], {"": many, "below": many}, "whiskers")
    axes = figure.axes[0]
    first, second = axes.collections[0], axes.collections[4]  # between them lie the error bars
    assert first.get_segments()[0][0, 0] < 0.0 < second.get_segments()[0][0, 0]
    circle = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert np.asarray(circle.get_ydata()) == pytest.approx([0.15, 0.35])
    assert circle.get_color() == LOOKS["lapMech"].color
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["lapMech", "geometric", "thin: whiskers", "read off the printed figure"]


def test_the_quantiles_of_a_law_are_a_box() -> None:
    law = mechanism("ilapMech", 0.8).law([5, 5], [1, 1])
    five = [law.quantile(level) for level in LEVELS]
    assert np.asarray(Box("ilapMech", [five]).five).shape == (1, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Box("a", [0.1, 0.2]), r"five must have shape \(groups, 5\), got \(2,\)"),
        (lambda: Box("a", [[0.1, 0.2, 0.1, 0.4, 0.5]]), "five numbers of 'a' must not fall"),
        (lambda: boxes("n", "d", ["1"], {}), "panels must hold boxes for 1 groups each"),
        (lambda: boxes("n", "d", ["1"], {"": [Box("a", FIVE)]}), "for 1 groups each"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
