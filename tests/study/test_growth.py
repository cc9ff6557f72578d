"""Simulated means beside exact ones, and the data of box plots."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.growth import box_data, simulated_means

BALANCED, FLAT = [0.5, 0.5], [1.0, 1.0]


@pytest.mark.parametrize("name", ["expMech-smooth", "expMech-delta", "lapMech", "geometric"])
def test_simulated_means_agree_with_exact_ones(name):
    mechanism = dp.mechanism(name, 1.0)
    sizes = [50, 200]
    means, errors = simulated_means(mechanism, BALANCED, FLAT, sizes, seed=3, runs=4000)
    exact = dp.mean_distances(mechanism, BALANCED, FLAT, sizes)
    assert np.all(np.abs(means - exact) < 5 * errors)
    # The standard error is that of the law, not a number that always fits.
    for n, error in zip(sizes, errors, strict=True):
        law = mechanism.law(dp.split(n, BALANCED), FLAT)
        spread = np.sqrt(law.expectation(law.distances**2) - law.mean_distance() ** 2)
        assert error == pytest.approx(spread / np.sqrt(4000), rel=0.1)


def test_a_size_draws_the_same_whatever_stands_before_it():
    mechanism = dp.mechanism("lapMech", 1.0)
    alone = simulated_means(mechanism, BALANCED, FLAT, [80], seed=1, runs=50)
    after = simulated_means(mechanism, BALANCED, FLAT, [20, 80], seed=1, runs=50)
    assert alone[0][0] == after[0][1]
    other = simulated_means(mechanism, BALANCED, FLAT, [80], seed=2, runs=50)
    assert alone[0][0] != other[0][0]


def test_mechanisms_do_not_share_their_random_numbers():
    laplace, improved = dp.mechanism("lapMech", 2.0), dp.mechanism("ilapMech", 1.0)
    counts = [[50, 50]]
    first, second = (
        box_data(m, counts[0], [FLAT], seed=1, runs=200)[0][0] for m in (laplace, improved)
    )
    # Same noise scale, so the laws are the same; the draws are not.
    assert not np.array_equal(np.sort(first), np.sort(second))


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_exact_quartiles_split_the_law(metric):
    counts, priors = [30, 20], [[1.0, 1.0], [40.0, 40.0]]
    yardstick = {"hellinger": dp.hellinger, "published": dp.hellinger_published}[metric]
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    samples, quartiles = box_data(mechanism, counts, priors, seed=5, runs=100, metric=metric)
    assert [sample.size for sample in samples] == [100, 100]
    for prior, (low, middle, high) in zip(priors, quartiles, strict=True):
        law = mechanism.law(counts, prior)
        a = np.asarray(prior) + counts
        distances = yardstick(a, np.asarray(prior) + law.outputs)
        for q, value in ((0.25, low), (0.5, middle), (0.75, high)):
            assert law.probabilities[distances <= value + 1e-9].sum() >= q - 1e-9
            assert law.probabilities[distances < value - 1e-9].sum() < q


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: simulated_means(m, BALANCED, FLAT, [10], seed=-1),
            "seed must be an integer of at least 0",
        ),
        (lambda m: simulated_means(m, BALANCED, FLAT, [0], seed=1), "sizes must be an integer"),
        (lambda m: simulated_means(m, BALANCED, FLAT, [10], 1, runs=1), "runs"),
        (lambda m: box_data(m, [3, 3], [FLAT], 1, metric="euclid"), "metric must be one of"),
        (lambda m: box_data(m, [3, 3, 3], [[1, 1, 1]], 1), "2 entries"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(dp.mechanism("lapMech", 1.0))
