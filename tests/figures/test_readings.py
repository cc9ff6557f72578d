"""What is left of printed points: every score is drawn, on a band of two units."""

from __future__ import annotations

import pytest

from dpbayes.figures.readings import residuals


def test_every_score_is_drawn_on_a_scale_that_holds_it() -> None:
    figure, alt = residuals({"lapMech": (0.5, -1.0), "read": [-12.5]})
    first, second = figure.axes[0].get_lines()
    assert list(first.get_ydata()) == [0.5, -1.0]
    assert list(second.get_xdata()) == [1]
    low, high = figure.axes[0].get_ylim()
    assert low == -high < -12.5
    assert "lapMech: 2 points, z from -1.0 to 0.5." in alt
    assert residuals({"a": [0.1]})[0].axes[0].get_ylim() == (-3.0, 3.0)


@pytest.mark.parametrize("scores", [{}, {"a": []}])
def test_nothing_to_draw_is_refused(scores) -> None:
    with pytest.raises(ValueError, match="at least one curve with at least one point"):
        residuals(scores)
