"""Releases with labels, and what they turn into."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

import dpbayes as dp

ORDER = ["good", "fair", "poor"]
LATTICE = dp.mechanism("lattice", "50")


def test_a_mapping_is_put_into_the_declared_order():
    private = dp.release(LATTICE, {"poor": 5, "good": 30}, [1, 1, 1], order=ORDER)
    assert private.labels == tuple(ORDER)
    # At epsilon 50 the noise is 0 but for a chance of e^-50.
    assert private.counts.tolist() == [30, 0, 5]


def test_a_series_sorted_by_frequency_does_not_leak_its_ranking():
    answers = pd.Series(["poor"] * 9 + ["good"] * 4 + ["fair"] * 6)
    private = dp.release(LATTICE, answers.value_counts(), [1, 1, 1], order=ORDER)
    assert private.counts.tolist() == [4, 6, 9]
    with pytest.raises(
        ValueError, match=r"counts must be a vector, or come with the order .* got a Series"
    ):
        dp.release(LATTICE, answers.value_counts(), [1, 1, 1])


@pytest.mark.parametrize(
    ("counts", "order", "message"),
    [
        ({"a": 1, "b": 2}, ["a", "c"], "order must list every category of counts, got none for"),
        ({"a": 1, "b": 2}, ["a", "a"], "order must be at least 2 different labels"),
        ({"a": 1, "b": 2}, "ab", "order must be at least 2 different labels"),
        ([1, 2], ["a", "b", "c"], "order must have 2 labels, got 3"),
        ({"a": -1, "b": 2}, ["a", "b"], "counts must be at least 0"),
    ],
)
def test_labels_that_do_not_fit(counts, order, message):
    with pytest.raises(ValueError, match=message):
        dp.release(LATTICE, counts, [1] * len(set(order)), order=order)


def test_intervals_are_those_of_the_marginals():
    posterior = dp.Posterior(np.array([3.0, 2.5, 7.0]))
    wanted = [beta.interval(0.9, a, 12.5 - a) for a in (3.0, 2.5, 7.0)]
    assert posterior.interval(0.9) == pytest.approx(np.array(wanted), abs=1e-12)
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
        posterior.interval(1.0)


@pytest.fixture
def private():
    return dp.release(dp.mechanism("lattice", 1.0), {"good": 30, "poor": 9}, [1, 1, 1], order=ORDER)


def test_as_html(private):
    text = private._repr_html_()
    assert "fair" in text
    assert "P[M(x) in S] &lt;= e^1 P[M(x&#x27;) in S]" in text
    assert private.posterior._repr_html_().count("<tr>") == 4
