"""Nodes that count, against weights of all nodes."""

import numpy as np
import pytest

from dpbayes.laws.lattice.fewer_nodes import STARTS, doublings, kept_turns, rounded, weights_of


@pytest.mark.parametrize("whole", [30, 1472, 20_000, 300_000])
@pytest.mark.parametrize("start", STARTS)
def test_kept_nodes_are_those_with_a_weight(whole, start):
    whole = rounded(whole)
    for times in range(doublings(whole) + 1):
        every = np.arange(whole // 2 + 1)
        weights = weights_of(whole, every, np.inf, start, times)
        kept = kept_turns(every.size, start, times)
        assert np.isin(np.flatnonzero(weights), kept).all()
        assert (weights[kept] >= 0.0).all()
        assert kept.size <= np.count_nonzero(weights > 1e-30) + 30 * (times + 1)


@pytest.mark.parametrize("times", [1, 3, 6])
def test_weights_add_up_to_those_of_all_nodes(times):
    whole = rounded(100_000)
    every = np.arange(whole // 2 + 1)
    weights = weights_of(whole, every, np.inf, STARTS[0], times)
    assert abs(weights.sum() / every.size - 1.0) < 1e-3
