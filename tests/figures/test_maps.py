"""Maps of who wins: winners become colours and words; bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from dpbayes.figures._old_maps import MapPanel, maps
from dpbayes.figures._old_theme import svg_bytes
from dpbayes.figures.language import LOOKS

INDEX = np.array([[0, 0, 1], [0, 1, 1]])


@pytest.mark.slow
def test_shares_of_cells_are_said_in_words() -> None:
    panels = [MapPanel(INDEX, "ε = 1"), MapPanel(np.zeros((2, 3), dtype=int))]
    figure, alt = maps("n", "share", [1, 10, 100], [0.1, 0.2], ["a", "b"], panels)
    assert "ε = 1: a in 50 percent of the cells, b in 50 percent of the cells." in alt
    assert "a in 100 percent of the cells." in alt
    assert len(figure.axes) == 2
    assert svg_bytes(figure, "x") == svg_bytes(figure, "x")


def test_every_cell_has_its_winner_s_colour_and_pattern() -> None:
    names = ["lapMech", "expMech"]
    x, y = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0])
    figure, _ = maps("n", "a", x, y, names, [MapPanel(INDEX)])
    patches = figure.axes[0].patches
    assert [patch.get_hatch() for patch in patches] == [
        LOOKS[name].hatch for name in names
    ]
    assert [to_hex(p.get_edgecolor()).upper() for p in patches] == [
        LOOKS[n].color for n in names
    ]
    for (i, j), number in np.ndenumerate(INDEX):
        inside = [patch.get_path().contains_point((x[j], y[i])) for patch in patches]
        assert inside == [number == 0, number == 1]
