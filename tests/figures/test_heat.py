from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.heat import heat


def test_every_cell_is_labelled_and_the_best_is_named():
    values = np.array([[1.0, 2.5], [3.25, 0.5]])
    figure, alt = heat("yardstick", "score", ["a", "b"], ["p", "q"], values, "mean error")
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert texts == {"1.00", "2.50", "3.25", "0.50"}
    assert "from 0.50 to 3.25" in alt
    assert "a: p (1.00); b: q (0.50)" in alt


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones((2, 3)), r"values must have shape \(2, 2\), got \(2, 3\)"),
        (np.array([[1, np.nan], [1, 1]]), "values must be finite"),
    ],
)
def test_bad_tables_are_named(values, words):
    with pytest.raises(ValueError, match=words):
        heat("x", "y", ["a", "b"], ["p", "q"], values, "error")
