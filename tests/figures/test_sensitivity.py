"""Pictures of sensitivities: the profile along all data sets, and the map of score changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.patches import PathPatch

import dpbayes as dp
from dpbayes.figures.sensitivity import Profile, score_change_map, sensitivity_profile, shades
from dpbayes.figures.theme import svg_bytes
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


def test_the_map_has_one_cell_for_each_candidate_in_areas_whose_colours_can_turn():
    counts = [4, 2, 3]
    outputs, changes = score_changes(counts, [1, 1, 1])
    figure, alt = score_change_map(outputs, changes, counts)
    assert "<image" not in svg_bytes(figure, "map").decode()
    areas = [one for one in figure.axes[0].patches if isinstance(one, PathPatch)]
    low, high = changes.min(), changes.max()
    found = {(int(r[0]), int(r[1])): c for r, c in zip(outputs, changes, strict=True)}
    for cell in itertools.product(range(10), range(10)):
        over = [one for one in areas if one.get_path().contains_point(cell)]
        assert len(over) == (cell in found)
        if over:
            tone = min(int(32 * (found[cell] - low) / (high - low)), 31)
            assert over[0].get_facecolor() == pytest.approx(shades()(tone))
    assert found[4, 2] == high
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
