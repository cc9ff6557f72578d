"""Pictures of sensitivities: the profile along all data sets, and the map of score changes."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.figures.sensitivity import Profile, score_change_map, sensitivity_profile
from dpbayes.sensitivity import profile
from dpbayes.study.score_changes import score_changes


def test_the_profile_shows_local_below_global():
    counts, local = np.arange(21), profile(20, [1, 1])
    top = dp.global_sensitivity(20, [1, 1]).value
    figure, alt = sensitivity_profile([Profile(counts, local, top, "title")], "records")
    axes = figure.axes[0]
    drawn = [line.get_ydata() for line in axes.get_lines()]
    assert any(np.array_equal(np.asarray(y), local) for y in drawn)
    assert any(np.all(np.asarray(y) == top) for y in drawn)
    assert {text.get_text() for text in axes.texts} == {"global sensitivity", "local sensitivity"}
    assert f"falls to {local.min():.3g} at 10" in alt


def test_the_map_has_one_cell_for_each_candidate():
    counts = [4, 2, 3]
    outputs, changes = score_changes(counts, [1, 1, 1])
    figure, alt = score_change_map(outputs, changes, counts)
    cells = figure.axes[0].images[0].get_array()
    assert np.isfinite(cells.filled(np.nan)).sum() == len(outputs)
    assert cells[2, 4] == pytest.approx(changes.max())
    assert "55 candidates" in alt
    assert "the true counts attain it" in alt


def test_the_map_says_when_the_truth_is_not_the_top():
    outputs, changes = score_changes([4, 2, 3], [1, 1, 1])
    _, alt = score_change_map(outputs, changes, [0, 0, 9])
    assert "the true counts do not attain it" in alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Profile([1, 2], [0.1], 0.2), "one shape"),
        (lambda: sensitivity_profile([], "x"), "at least one profile"),
        (lambda: score_change_map([[1, 2]], [0.1], [1, 2]), "must have shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
