from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from dpbayes.figures.night import contrast
from dpbayes.figures.privacy import promise_grid, score_grid
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


def test_broken_promises_are_bold_and_small_numbers_left_out():
    ratios = np.array([[0.0, 0.02, 1.0], [3.4, 1052.9, 1e-5]])
    figure, alt = promise_grid("records", [10, 20, 40], ["k = 2", "k = 4"], ratios)
    texts = figure.axes[0].texts
    assert [text.get_text() for text in texts] == ["", "0.02", "1", "3.4", "1053", ""]
    bold = [text.get_weight() == "bold" for text in texts]
    assert bold == [False, False, False, True, True, False]
    assert "k = 2: nowhere above 1, largest 1 at 40." in alt
    assert "k = 4: above 1 at 10, 20, largest 1.05e+03 at 20." in alt
    assert b"<image" not in svg_bytes(figure, "x")


def test_the_colour_of_a_cell_tells_kept_from_broken_and_numbers_can_be_read():
    figure, _ = promise_grid("n", [1, 2, 3], ["k"], [[0.01, 1.0, 100.0]])
    kept, equal, broken = figure.axes[0].collections[0].get_facecolors()[:, :3]
    assert kept[2] > kept[0]
    assert broken[0] > broken[2]
    assert np.allclose(equal, 1.0, atol=0.02)
    assert min(contrast(to_hex(tone), "#1a1a1a") for tone in (kept, equal, broken)) >= 4.5


@pytest.mark.parametrize(
    ("ratios", "floor", "message"),
    [
        ([[1.0]], 1e-4, "shape"),
        ([[1.0, -0.1]], 1e-4, "at least 0"),
        ([[1.0, np.inf]], 1e-4, "finite"),
        ([[1.0, 2.0]], 1.0, "floor must be between 0 and 1"),
    ],
)
def test_what_is_no_grid_of_ratios_is_refused(ratios, floor, message):
    with pytest.raises(ValueError, match=message):
        promise_grid("n", [1, 2], ["k"], ratios, floor)
