"""The share of releases near the truth, against complete laws."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.near_the_truth import near_outputs, share_within

GRID = np.linspace(0.0, 0.3, 13)
NAMES = ["expMech", "expMech-local", "expMech-delta", "expMech-smooth", "lapMech", "ilapMech"]


def by_listing(name: str, counts, prior, metric) -> np.ndarray:
    law = dp.mechanism(name, 1.0).law(counts, prior)
    distances = metric(np.asarray(prior) + counts, np.asarray(prior) + law.outputs)
    return np.array([law.probabilities[distances <= c + 1e-12].sum() for c in GRID])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", [dp.hellinger, dp.hellinger_published])
def test_three_categories_against_the_whole_list(name, metric):
    counts, prior = np.array([40, 30, 30]), [1.0, 1.0, 1.0]
    grid = GRID if metric is dp.hellinger else GRID / 2
    near = share_within(dp.mechanism(name, 1.0), counts, prior, grid, 25, metric)
    law = dp.mechanism(name, 1.0).law(counts, prior)
    distances = metric(np.asarray(prior) + counts, np.asarray(prior) + law.outputs)
    listed = [law.probabilities[distances <= c + 1e-12].sum() for c in grid]
    assert near == pytest.approx(np.array(listed), abs=1e-12)


def test_two_categories_against_the_whole_list():
    for name in NAMES:
        near = share_within(dp.mechanism(name, 1.0), [60, 40], [1, 1], GRID, 30)
        assert near == pytest.approx(by_listing(name, [60, 40], [1, 1], dp.hellinger), abs=1e-12)


def test_four_categories_by_the_series():
    counts, prior = dp.split(600, [0.25] * 4), [1.0] * 4
    mechanism = dp.mechanism("expMech-delta", 1.0)
    near = share_within(mechanism, counts, prior, [0.0, 0.04], 6)
    law = mechanism.law(counts, prior)
    assert near[0] == pytest.approx(law.probability(counts), rel=1e-12)
    # The twelve neighbours are all at one distance, below 0.05 and nothing else is.
    neighbour = law.probability([151, 149, 150, 150])
    step = float(dp.hellinger(np.add(prior, counts), np.add(prior, [151, 149, 150, 150])))
    assert share_within(mechanism, counts, prior, [step], 6)[0] == pytest.approx(
        near[0] + 12 * neighbour, rel=1e-9
    )


@pytest.mark.parametrize("counts", [[30, 30, 40], [100, 0, 0], [0, 1, 2]])
def test_without_a_radius_it_is_large_enough(counts):
    for name in ("lapMech", "expMech-delta"):
        mechanism = dp.mechanism(name, 0.2)
        whole = share_within(mechanism, counts, [1, 1, 1], GRID, sum(counts) + 1)
        assert share_within(mechanism, counts, [1, 1, 1], GRID) == pytest.approx(whole, abs=1e-14)


def test_outputs_stay_histograms():
    outputs = near_outputs([1, 2, 5], 3)
    assert outputs.min() == 0
    assert np.all(outputs.sum(axis=1) == 8)
    assert len(np.unique(outputs, axis=0)) == len(outputs)
    assert np.abs(outputs - [1, 2, 5])[:, :2].max() == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: near_outputs([5, 5], 0), "radius must be an integer of at least 1"),
        (lambda: near_outputs([500] * 5, 40), "radius must leave at most"),
        (
            lambda: share_within(dp.mechanism("lapMech", 1.0), [300, 300], [1, 1], [0.5], 3),
            "radius 3 is too small",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
