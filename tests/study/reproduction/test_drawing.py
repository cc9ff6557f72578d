"""Drawings and series: expectations against a sum over the law, scores by hand, labels of boxes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.curves import Series, boxed, releases, values
from dpbayes.study.printed import published_points


def data(x):
    return [int(x), 6], [1.0, 0.5]


@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_a_mean_of_runs_has_the_mean_of_the_law_and_its_error(metric):
    mechanism = dp.mechanism("ilapMech", 1.0)
    drawing = releases("words", mechanism, data, metric, runs=400)
    law = mechanism.law([4, 6], [1.0, 0.5])
    distances = metric(np.array([5.0, 6.5]), np.array([1.0, 0.5]) + law.outputs)
    mean = float(law.probabilities @ distances)
    spread = math.sqrt(float(law.probabilities @ distances**2) - mean**2)
    expected = drawing.expected("4")
    assert expected.value == pytest.approx(mean, rel=1e-9)
    assert expected.error == pytest.approx(spread / math.sqrt(400), rel=1e-6)
    means = drawing.curve([4, "7"])
    assert means[0] == expected.value
    assert means[1] != means[0]


def test_the_score_counts_combined_errors():
    drawing = values("computed", lambda x: 0.3 if x == "9" else 0.1)
    assert drawing.expected("9").value == 0.3
    assert drawing.expected("9").error == 0.0
    (point, *_) = published_points("D", "5", "", "lapMech")
    assert drawing.fit([point]).scores[0] == pytest.approx((point.y - 0.1) / point.y_error)


def test_a_law_is_computed_once_for_each_x():
    asked = []

    def noting(x):
        asked.append(x)
        return data(x)

    drawing = releases("words", dp.mechanism("geometric", 1.0), noting)
    for x in ("3", "3", "5", "3"):
        drawing.expected(x)
    assert asked == ["3", "5"]


def test_a_series_has_the_points_that_were_read_for_it():
    drawing = values("nothing", lambda x: 0.0)
    series = Series("D", "5", "", "lapMech", None, drawing, "", "")
    assert series.points == published_points("D", "5", "", "lapMech")
    assert len(series.points) > 3


@pytest.mark.parametrize(
    ("label", "counts", "prior"),
    [("3/0/4", [3, 0, 4], [1.0] * 3), ("5/5|prior 0.5", [5, 5], [0.5, 0.5]), ("7", [7], [1.0])],
)
def test_labels_below_boxes(label, counts, prior):
    assert boxed(label) == (counts, prior)


def test_a_label_with_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="x must be an integer of at least 0, got -1"):
        boxed("3/-1")
