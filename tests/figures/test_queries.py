"""Mass vectors and streams of questions: what is drawn, and what the texts say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbayes.figures import queries as figures


def test_mass_panels_show_what_they_are_given() -> None:
    exact, rough = np.array([0.25, 0.5, 0.25]), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    figure, alt = figures.mass_panels(exact, {"rough": rough, "same": exact}, "noise", 2)
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    np.testing.assert_allclose(bars, rough)
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), [0, 0.25, 0.5, 0.25, 0])
    assert "The largest difference of rough from it in a cell is 0.1" in alt
    assert "The largest difference of same from it in a cell is 0." in alt


def test_a_narrow_vector_is_padded_and_a_wide_one_cut_around_its_middle() -> None:
    wide = np.arange(1.0, 8.0)  # cell 0 holds 4
    figure, _ = figures.mass_panels([1.0], {"wide": wide}, "noise", 1)
    np.testing.assert_allclose([patch.get_height() for patch in figure.axes[0].patches], [3, 4, 5])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [0, 1, 0])


def test_stream_panels() -> None:
    answered, spent = {"a": [1.0, 0.5], "b": [1.0, 1.0]}, {"a": [0.2, 0.2], "b": [0.2, 0.4]}
    figure, alt = figures.stream_panels(answered, spent, 0.5)
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b"]
    assert "a 50%; b 100%." in alt
    assert "bound of 0.5" in alt


def test_probability_curves() -> None:
    figure, alt = figures.probability_curves([0, 1], {"p": [1.0, 0.25]}, "t", "probability", [0.5])
    assert len(figure.axes[0].lines) == 2
    assert alt == "Curves of probability against t: p goes from 1 to 0.25."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.mass_panels([1.0], {}, "x", 1), "at least one mass vector"),
        (lambda: figures.mass_panels([0.5, 0.5], {"a": [1.0]}, "x", 1), "odd length"),
        (lambda: figures.stream_panels({"a": [1]}, {"b": [1]}, 1.0), "same rules"),
        (lambda: figures.probability_curves([0], {}, "x", "y", []), "at least one curve"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
