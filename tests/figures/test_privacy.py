from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.privacy import score_grid
from dpbayes.figures.theme import svg_bytes

RATIOS = np.array([[1.0, 1.5], [2.0, 1.0], [0.5, 0.25]])


def test_every_cell_shows_its_number_and_the_best_is_named_in_words():
    figure, alt = score_grid(["h", "kl"], ["first", "second", "none"], RATIOS)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown == [f"{value:.2f}" for value in RATIOS.ravel()]
    bold = [text.get_weight() == "bold" for text in figure.axes[0].texts]
    assert bold == (RATIOS.ravel() == 1.0).tolist()
    assert "h: best score first, lowest none at 0.50, highest second at 2.00." in alt
    assert svg_bytes(figure, "x") == svg_bytes(figure, "x")


def test_bad_input():
    with pytest.raises(ValueError, match="shape"):
        score_grid(["h"], ["a", "b"], RATIOS)
    with pytest.raises(ValueError, match="positive and finite"):
        score_grid(["h", "kl"], ["a", "b", "c"], RATIOS - 1.0)
