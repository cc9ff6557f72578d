"""Probability against distance: masses, staircases, readings."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.figures.steps import Masses, StepPanel, steps

DISTANCES = [0.0, 0.1, 0.3]


def panels(cumulative: bool = False) -> list[StepPanel]:
    masses = [
        Masses("near", DISTANCES, [0.6, 0.3, 0.1], [(0.0, 0.61)]),
        Masses("far", DISTANCES, [0.1, 0.2, 0.7]),
    ]
    return [StepPanel(masses, "title", cumulative)]


def test_masses_are_drawn_as_they_are():
    figure, _ = steps(panels())
    axes = figure.axes[0]
    near = next(line for line in axes.get_lines() if line.get_label() == "near")
    assert np.array_equal(near.get_xydata(), np.column_stack((DISTANCES, [0.6, 0.3, 0.1])))
    assert axes.get_ylabel() == "P(H = c)"


def test_staircases_add_up():
    figure, _ = steps(panels(cumulative=True))
    far = next(line for line in figure.axes[0].get_lines() if line.get_label() == "far")
    assert far.get_ydata() == pytest.approx([0.1, 0.3, 1.0])
    assert far.get_drawstyle() == "steps-post"
    assert figure.axes[0].get_ylabel() == "P(H ≤ c)"


def test_readings_and_labels_are_shown():
    figure, _ = steps(panels())
    marks = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert [tuple(mark.get_xydata()[0]) for mark in marks] == [(0.0, 0.61)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["near", "far"]


def test_the_alternative_text_says_how_exact_and_how_far():
    _, alt = steps(panels())
    assert "near: exact with probability 0.6, the median output at 0." in alt
    assert "far: exact with probability 0.1, the median output at 0.3." in alt


def test_a_rare_output_is_not_called_impossible() -> None:
    _, alt = steps([StepPanel([Masses("rare", DISTANCES, [4e-6, 0.3, 0.7])])])
    assert "rare: exact with probability 4e-06," in alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Masses("a", [0.0], [0.5, 0.5]), "one shape"),
        (lambda: Masses("a", [0.2, 0.1], [0.5, 0.5]), "increasing"),
        (lambda: steps([]), "at least one panel"),
        (lambda: steps([StepPanel([])]), "at least one mechanism"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
