"""The error of one count in records, and the width of its interval: against draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import dpbayes as dp
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.tables.forecast import CountError, count_error, records_for
from dpbayes.tables.shares import Shares

DRAWS = 20_000


@pytest.mark.parametrize(
    ("mechanism", "counts", "category"),
    [
        (dp.mechanism("lattice", 0.3), [500, 300, 200], 0),
        (dp.mechanism("lattice", 0.1), [4000] * 12, 5),
        (dp.mechanism("geometric", 0.2), [500, 300], 1),
        (dp.mechanism("ilapMech", 0.5), [500, 300, 200], 2),
        (dp.mechanism("lapMech", 0.5), [500, 300, 200], 0),
        (dp.mechanism("discrete-gaussian", 1.0), [500, 300, 200], 1),
        (IndependentNoise(0.2), [500, 300, 200], 2),
        (dp.mechanism("expMech-smooth", 1.0), [30, 50], 0),
    ],
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_nine_of_ten_draws_are_within(mechanism, counts, category):
    found = count_error(mechanism, counts, category)
    law = mechanism.law(counts, np.ones(len(counts)))
    drawn = law.rvs(DRAWS, np.random.default_rng(6))[:, category]
    far = np.abs(drawn - counts[category])
    error = 5 * (0.1 * 0.9 / DRAWS) ** 0.5
    assert np.mean(far <= found.within) >= 0.9 - error
    assert np.mean(far < found.within) < 0.9 + error
    assert found.count == counts[category]
    assert found.n == sum(counts)


@pytest.mark.parametrize(
    ("epsilon", "counts", "category"),
    [(1.0, [20] * 50, 3), (0.1, [500, 300, 200], 2), (0.05, [100, 60, 40], 0)],
)
def test_the_interval_is_wider_by_what_draws_say(epsilon, counts, category):
    mechanism, k, n = dp.mechanism("lattice", epsilon), len(counts), sum(counts)
    found = count_error(mechanism, counts, category, confidence=0.9)
    noise = mechanism.noise(np.random.default_rng(2), k, DRAWS)[:, category]
    steps, times = np.unique(noise, return_counts=True)
    other, widths = int(category == 0), []
    for step in steps:
        drawn = np.array(counts)
        drawn[category] += step
        drawn[other] -= step
        low, high = Shares(mechanism, drawn, n, k).read([category]).interval(0.9)
        widths.append(high - low)
    plain = beta(1 + counts[category], 1 + n - counts[category]).ppf([0.05, 0.95])
    drawn_wider = np.average(widths, weights=times) / np.diff(plain)[0] - 1.0
    assert found.wider == pytest.approx(drawn_wider, abs=0.02 * (1.0 + drawn_wider))


def test_fifty_categories_are_not_drowned_though_their_joint_distance_is():
    mechanism, counts = dp.mechanism("lattice", 1.0), [20] * 50
    assert mechanism.law(counts, np.ones(50)).mean_distance() > 0.9
    found = count_error(mechanism, counts)
    assert found.wider == pytest.approx(0.17, abs=0.005)
    assert found.distance == pytest.approx(0.144, abs=0.002)
    assert found.advice == "The number of records matters more than the noise."


def test_words():
    assert count_error(dp.mechanism("lattice", 9.0), [500, 500]).within == 0
    drowned = count_error(dp.mechanism("lattice", 0.05), [100] * 10)
    assert "times as wide as without noise" in drowned.sentence
    assert "merge categories" in drowned.advice
    assert (
        "in 80% of all releases"
        in CountError(5, 9, 1, 0.2, 0.3, 0.1, level=0.8).sentence
    )
    with pytest.raises(ValueError, match="category must be"):
        count_error(dp.mechanism("lattice", 1.0), [3, 4], 2)
    with pytest.raises(ValueError, match="at least one record"):
        count_error(dp.mechanism("lattice", 1.0), [0, 0])


@pytest.mark.parametrize(
    ("epsilon", "k", "wider"), [(1.0, 4, 0.1), (0.3, 12, 0.1), (1.0, 50, 0.1)]
)
def test_so_many_records_make_the_interval_so_much_wider(epsilon, k, wider):
    chosen = dp.mechanism("lattice", epsilon)
    n = records_for(chosen, 1.0 / k, k, wider)
    found = count_error(chosen, dp.split(n, np.full(k, 1.0 / k)))
    assert found.wider == pytest.approx(wider, rel=0.2)
    with pytest.raises(ValueError, match="mechanism must add noise"):
        records_for(dp.mechanism("expMech", 1.0), 0.5, 2)
