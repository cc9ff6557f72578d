"""Readings of the published figures: complete, well formed, and met by the identified settings."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.growth import reading_deviations
from dpbayes.study.readings import published, published_curves, published_figures


def test_every_reading_can_be_loaded():
    for figure in published_figures():
        for curve in published_curves(figure):
            read = published(figure, curve)
            assert read.sizes.shape == read.values.shape == read.errors.shape
            assert np.all(read.sizes >= 1)
            assert np.all((read.values > 0) & (read.values < 1))
            assert np.all((read.errors > 0) & (read.errors <= 0.01))


def test_readings_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        published("D-F5", "expMech").values[0] = 0.0


def test_unknown_names_list_what_exists():
    with pytest.raises(ValueError, match=r"figure must be one of .*D-F5"):
        published("D-F99", "expMech")
    with pytest.raises(ValueError, match=r"curve must be one of .*lapMech"):
        published("D-F5", "nothing")


def test_figure_five_is_met_within_the_reading_error():
    mechanisms = {
        "expMech": dp.mechanism(
            "expMech-delta", 0.8, delta=1e-8, failure_term="2n", metric="published"
        ),
        "lapMech": dp.mechanism("lapMech", 0.8),
        "ilapMech": dp.mechanism("ilapMech", 0.8),
    }
    assert set(published_curves("D-F5")) == set(mechanisms)
    for curve, mechanism in mechanisms.items():
        read = published("D-F5", curve)
        assert read.sizes.size == 7
        off = reading_deviations(mechanism, read, [0.5, 0.5], [1, 1], dp.hellinger_published)
        assert np.abs(off).max() < 0.002
        # The same settings on the true distance miss the figure by far.
        true = reading_deviations(mechanism, read, [0.5, 0.5], [1, 1])
        assert np.abs(true).max() > 0.02


def test_the_captions_settings_do_not_give_figure_five():
    read = published("D-F5", "expMech")
    smooth = dp.mechanism("expMech-smooth", 1.0, metric="published")
    off = reading_deviations(smooth, read, [0.5, 0.5], [1, 1], dp.hellinger_published)
    assert np.abs(off).max() > 0.02


def test_the_three_category_figure_is_met_within_the_reading_error():
    read = published("D-F6a", "expMech")
    mechanism = dp.mechanism("expMech-delta", 1.0, failure_term="2n", metric="published")
    off = reading_deviations(mechanism, read, [0.3, 0.3, 0.4], [1, 1, 1], dp.hellinger_published)
    assert np.abs(off).max() < 0.004


def test_probabilities_of_the_exact_posterior_in_figure_three():
    counts, prior = [300, 300], [1, 1]
    mechanisms = {
        "local P(0)": dp.mechanism("expMech-local", 1.0, metric="published", divisor=1.0),
        "ilapMech P(0)": dp.mechanism("ilapMech", 1.0),
        "lapMech P(0)": dp.mechanism("lapMech", 1.0),
        "expMech-smooth P(0)": dp.mechanism("expMech-smooth", 1.0, metric="published"),
    }
    for curve, mechanism in mechanisms.items():
        read = published("D-F3a", curve)
        seen = mechanism.law(counts, prior).probability(counts)
        assert abs(seen - read.values[0]) <= read.errors[0]
