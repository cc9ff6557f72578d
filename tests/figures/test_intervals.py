"""Interval figures: what is drawn, what the alternative text says, bad input."""

from __future__ import annotations

import pytest

from dpbayes.figures.intervals import intervals

READINGS = {"exact": [[0.1, 0.2], [0.5, 0.7]], "noise-aware": [[0.05, 0.3], [0.4, 0.8]]}


def test_each_category_has_a_panel_with_every_reading():
    figure, alt = intervals(["fair", "poor"], READINGS, "proportion")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["fair", "poor"]
    for axes, row in zip(figure.axes, (0, 1), strict=True):
        drawn = [list(line.get_xdata()) for line in axes.lines[::2]]
        assert drawn == [READINGS[label][row] for label in READINGS]
        assert [text.get_text() for text in axes.get_yticklabels()] == list(READINGS)
    assert figure.axes[-1].get_xlabel() == "proportion"
    assert "poor: exact 0.5000 to 0.7000; noise-aware 0.4000 to 0.8000." in alt


@pytest.mark.parametrize(
    "readings",
    [{}, {"exact": [[0.1, 0.2]]}, {"exact": [[0.2, 0.1], [0.5, 0.7]]}],
)
def test_bad_input(readings):
    with pytest.raises(ValueError, match=r"interval|low <= high"):
        intervals(["fair", "poor"], readings, "proportion")
