"""Simulated means beside exact ones."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.growth import simulated_means

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
    first, second = (
        simulated_means(m, BALANCED, FLAT, [100], seed=1, runs=200) for m in (laplace, improved)
    )
    # Same noise scale, so the laws are the same; the draws are not.
    assert first[0][0] != second[0][0]
    assert abs(first[0][0] - second[0][0]) < 5 * np.hypot(first[1][0], second[1][0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: simulated_means(m, BALANCED, FLAT, [10], seed=-1),
            "seed must be an integer of at least 0",
        ),
        (lambda m: simulated_means(m, BALANCED, FLAT, [0], seed=1), "sizes must be an integer"),
        (lambda m: simulated_means(m, BALANCED, FLAT, [10], 1, runs=1), "runs"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(dp.mechanism("lapMech", 1.0))
