"""The static picture of the explorer."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.language import LOOKS
from dpbayes.figures.one_release import one_release

SHARE = np.linspace(0.1, 0.9, 5)
DENSITIES = {"share": SHARE, "true": SHARE, "face value": SHARE, "noise-aware": SHARE}


def test_it_draws_four_panels_in_the_colour_of_the_mechanism() -> None:
    law, means, losses = [0.2, 0.5, 0.3], [0.4, 0.3, 0.6], [0.9, 0.8]
    figure, alt = one_release("geometric", law, means, losses, DENSITIES, (1, 2, 1.0))
    assert len(figure.axes) == 4
    bars = figure.axes[0].patches
    assert [bar.get_height() for bar in bars] == law
    assert figure.axes[2].lines[0].get_color() == LOOKS["geometric"].color
    assert list(figure.axes[3].lines[0].get_ydata()) == losses
    assert "its mode at 1" in alt
    assert "0.900, between 0 and 1 ones" in alt


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="losses must be"):
        one_release("geometric", [0.5, 0.5], [0.1, 0.1], [0.1, 0.2], DENSITIES, (0, 0, 1.0))
