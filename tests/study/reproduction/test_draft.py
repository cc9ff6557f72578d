"""Document B's series: runs, causes, and the noise of its older programs by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import dpbayes as dp
from dpbayes.study.catalogue import DELTA_CURVE, LAPLACE_CURVE, catalogue, older_laplace
from dpbayes.study.curves import boxed

EPSILON, DELTA = 0.8, 5e-4
SERIES = {(s.figure, s.panel, s.curve): s for s in catalogue() if s.document == "B"}


def test_both_curves_of_every_figure_say_what_differs_and_where():
    assert {figure for figure, _, _ in SERIES} == {"1", "2", "3", "4", "5"}
    assert {curve for _, _, curve in SERIES} == {DELTA_CURVE, LAPLACE_CURVE}
    assert all(s.cause and s.commit and s.points for s in SERIES.values())
    assert {s.drawn.runs for s in SERIES.values() if s.figure != "5"} == {500}
    assert {s.drawn.runs for s in SERIES.values() if s.figure == "5"} == {300}


def test_captions_are_the_mechanisms_as_printed():
    series = SERIES["2", "", LAPLACE_CURVE]
    (point, *_) = series.points
    law = dp.mechanism("draft-laplace", EPSILON).law(*boxed(point.x))
    assert series.caption.expected(point.x).value == pytest.approx(float(law.mean_distance()))
    series = SERIES["2", "", DELTA_CURVE]
    law = dp.mechanism("expMech-delta", EPSILON, delta=DELTA).law(*boxed(point.x))
    assert series.caption.expected(point.x).value == pytest.approx(float(law.mean_distance()))


def test_the_older_program_moves_parameters_and_cuts_them_off_at_one():
    label, size = "5/5/5", 40_000
    counts, prior = boxed(label)
    expected = older_laplace(runs=100).expected(label)
    rng = np.random.default_rng(3)
    noise = np.floor(rng.laplace(scale=2.0 / EPSILON, size=(size, 2)))
    truth = np.array(prior) + counts
    noisy = np.maximum(truth[:2] + noise, 1.0)
    released = np.column_stack((noisy, truth.sum() - noisy.sum(axis=1)))
    assert (released[:, 2] <= 0).mean() > 0.01  # the last takes the rest, whatever it is

    def log_beta(v):  # the program leaves out a factor that is not positive
        return sum(gammaln(np.where(c > 0, c, 1.0)) for c in v.T) - gammaln(v.sum(axis=1))

    whole = np.broadcast_to(truth, released.shape)
    affinity = log_beta((whole + released) / 2) - (log_beta(whole) + log_beta(released)) / 2
    distances = np.sqrt(np.clip(-np.expm1(affinity), 0.0, 1.0))
    assert distances.mean() == pytest.approx(
        expected.value, abs=6 * distances.std() / np.sqrt(size)
    )
    assert expected.error == pytest.approx(distances.std() / 10.0, rel=0.03)


def test_ninety_records_are_not_thirty():
    for curve in (DELTA_CURVE, LAPLACE_CURVE):
        series = SERIES["5", "", curve]
        (point, *_) = series.points
        assert "90" in series.drawn.settings
        assert sum(boxed(point.x)[0]) == 30
        assert (
            series.drawn.expected(point.x, "median").value
            > series.caption.expected(point.x, "median").value
        )
