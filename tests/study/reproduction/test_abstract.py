"""Document A's series: what the caption says and what the program did, each by a second road."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.catalogue import catalogue
from dpbayes.study.full_paper import at_shares

EPSILON, DELTA = 0.8, 1e-8
SERIES = {(s.figure, s.panel, s.curve): s for s in catalogue() if s.document == "A"}


def test_three_figures_with_a_commit_and_a_cause_each():
    assert {figure for figure, _, _ in SERIES} == {"1", "2", "3"}
    assert all(s.document == "A" and s.commit and s.cause and s.points for s in SERIES.values())
    assert all(s.caption is not None for s in SERIES.values())


def test_data_are_split_by_the_shares():
    counts, prior = at_shares(0.2, 0.3, 0.5)("1000")
    assert np.asarray(counts).tolist() == [200, 300, 500]
    assert prior == [1.0] * 3


@pytest.mark.parametrize("x", ["150", "600"])
def test_laplace_of_figure_1_has_noise_of_scale_two_over_epsilon_in_either_distance(x):
    series = SERIES["1", "a", "lapMech"]
    split, size = int(0.1 * int(x)), int(x)
    # A count plus noise of scale b, rounded down and clamped: P(<= m) = F(m + 1 - x).
    ends = np.arange(0, size + 1) + 1.0 - split
    scale = 2.0 / EPSILON
    below = np.where(ends < 0, 0.5 * np.exp(ends / scale), 1 - 0.5 * np.exp(-ends / scale))
    below[-1] = 1.0
    masses = np.diff(below, prepend=0.0)
    outputs = np.column_stack((np.arange(size + 1), size - np.arange(size + 1)))
    truth = np.array([1.0 + split, 1.0 + size - split])
    for drawing, metric in ((series.caption, dp.hellinger), (series.drawn, dp.hellinger_published)):
        expected = float(masses @ metric(truth, outputs + 1.0))
        assert drawing.expected(x).value == pytest.approx(expected, abs=1e-9)


def test_the_program_divided_delta_by_2n_and_used_the_published_distance():
    series = SERIES["1", "a", "expMech-delta"]
    options = {"distance": "l1", "delta": DELTA}
    caption = dp.mechanism("expMech-delta", EPSILON, **options)
    program = dp.mechanism(
        "expMech-delta", EPSILON, **options, failure_term="2n", metric="published"
    )
    counts, prior = [15, 135], [1.0, 1.0]
    assert series.caption.expected("150").value == pytest.approx(
        float(caption.law(counts, prior).mean_distance()), rel=1e-9
    )
    law = program.law(counts, prior)
    distances = dp.hellinger_published(np.array([16.0, 136.0]), law.outputs + 1.0)
    assert series.drawn.expected("150").value == pytest.approx(
        float(law.probabilities @ distances), rel=1e-9
    )


def test_boxes_of_figure_3_clamp_in_turn_and_have_half_the_runs():
    for curve in ("expMech-delta", "Laplace 2/eps"):
        series = SERIES["3", "", curve]
        assert (series.caption.runs, series.drawn.runs) == (1000, 500)
        (point, *_) = series.points
        assert series.drawn.expected(point.x, "median").value != pytest.approx(
            series.caption.expected(point.x, "median").value, abs=1e-4
        )
