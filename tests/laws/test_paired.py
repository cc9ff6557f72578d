"""Differences of means, and which of them decide an order."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.lattice import SumZeroLaw, listed_law
from dpbayes.laws.law import mean_difference, order, order_of
from dpbayes.laws.sum_zero import LatticeNoise


def test_sums_are_subtracted_with_their_errors():
    a, b = (dp.mechanism(name, 1.0).law([30, 40], [1, 1]) for name in ("geometric", "lapMech"))
    found = mean_difference(a, b)
    assert found == a.mean_distance() - b.mean_distance()
    assert found.how == "listed"
    assert a.error_bound + b.error_bound <= found.error < 1e-13
    assert order(a, b) == -1
    assert order(b, a) == 1


@pytest.mark.parametrize("names", [("expMech", "expMech-local"), ("lapMech", "lapMech")])
def test_equal_laws_are_a_tie_however_they_are_rounded(names):
    # One record: every sensitivity is the same, and both draw from the same two answers.
    a, b = (dp.mechanism(name, epsilon).law([1, 0], [1, 1])
            for name, epsilon in zip(names, (9.0, 9.0), strict=True))  # fmt: skip
    assert order(a, b) == 0


def test_common_random_numbers_tell_close_means_apart():
    noise, prior = LatticeNoise(3, 0.4), np.ones(3)
    near, far = (np.array([0, 30, x]) for x in (60, 62))
    a, b = SumZeroLaw(prior, near, noise), SumZeroLaw(prior, far, noise)
    exact = [float(listed_law(prior, x, noise, "l2").mean_distance()) for x in (near, far)]
    found = mean_difference(a, b)
    apart = np.hypot(a.mean_distance().error, b.mean_distance().error)
    assert found.how == "drawn"
    assert found.error < 0.5 * apart
    assert abs(found - (exact[0] - exact[1])) <= 4.5 * found.error


def test_one_drawn_mean_leaves_its_own_error():
    prior, x = np.ones(3), np.array([0, 30, 60])
    drawn, listed = SumZeroLaw(prior, x, LatticeNoise(3, 0.4)), dp.mechanism("lapMech", 0.4).law(
        x, prior
    )  # fmt: skip
    found = mean_difference(drawn, listed)
    assert found.error == pytest.approx(drawn.mean_distance().error, rel=1e-6)
    assert order(drawn, listed) == -1


def test_an_order_needs_more_than_the_error():
    assert order_of(Estimate(1e-3, 9e-4, "listed")) == 1
    assert order_of(Estimate(-1e-3, 1e-3, "series")) == 0
    assert order_of(Estimate(-1e-3, 2.6e-4, "drawn")) == 0
    assert order_of(Estimate(-1e-3, 2.4e-4, "drawn")) == -1
    assert order_of(Estimate(0.0, 0.0, "listed")) == 0
