"""Prices of segments: what each column costs, written out over all histograms."""

import numpy as np
import pytest

from dpbayes.mechanisms.optimum import distance_table
from dpbayes.posteriors import compositions
from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_bound import simplex_bound
from dpbayes.study.simplex_folded import folded
from dpbayes.study.simplex_segments import segment_prices


def _left_over(space, epsilon, prices, losses, length):
    """The sum over x of e^(-epsilon d(x, P_s)) (H(x, s) - v_x) for each s in which P_s fits."""
    rows = compositions(space.n, 3)
    held = prices[space.place[tuple(rows[:, :-1].T)]]
    found = np.full(len(space.rows), np.nan)
    for number, s in enumerate(space.rows):
        points = [s + np.array([0, t, -t]) for t in range(-(length // 2), length - length // 2 + 1)]
        if min(one.min() for one in points) < 0:
            continue
        apart = np.min([np.abs(rows - one).sum(axis=1) // 2 for one in points], axis=0)
        here = int(np.flatnonzero((rows == s).all(axis=1))[0])
        found[number] = np.exp(-epsilon * apart) @ (losses[:, here] - held)
    return found


@pytest.mark.parametrize(("n", "epsilon", "prior"), [(40, 1.0, 1.0), (50, 1.0, 0.6)])
def test_the_chosen_segment_costs_its_worth_and_no_other_undercuts(n, epsilon, prior):
    space, losses = simplex(n, 3, prior), distance_table(n, [prior] * 3)
    prices, lengths = segment_prices(space, epsilon)
    left = np.array([_left_over(space, epsilon, prices, losses, one) for one in range(5)])
    assert {0, 1, 2} <= set(lengths)
    chosen = left[lengths, np.arange(len(lengths))]
    assert space.mean(chosen - np.nanmin(left, axis=0)) < 1e-6
    # The prices of folded noise, all segments of length 0, are undercut much more.
    alone = folded(space, epsilon).prices
    least = np.nanmin([_left_over(space, epsilon, alone, losses, one) for one in range(5)], axis=0)
    assert space.mean(np.abs(chosen)) < 0.1 * space.mean(np.abs(least))


def test_the_bound_comes_near_to_the_prices_of_segments():
    space = simplex(60)
    prices, _ = segment_prices(space, 1.0)
    lower = simplex_bound(60, 1.0, rounds=16).lower
    assert space.mean(prices) * (1.0 - 2e-4) < lower < space.mean(prices)
