"""Quantiles and tails from draws against the exact law."""

from __future__ import annotations

import pytest

import dpbayes as dp
from dpbayes.laws.simulated import simulate_distances

LAW = dp.mechanism("geometric", 0.2).law([30, 20], [1, 1])
DRAWN = simulate_distances(LAW, "hellinger")


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_the_interval_of_a_quantile_holds_the_exact_one(q):
    low, high = DRAWN.quantile_interval(q)
    assert low - 1e-12 <= LAW.quantile(q) <= high + 1e-12
    assert low <= DRAWN.quantile(q) <= high


@pytest.mark.parametrize("distance", [0.0, 0.1, 0.3])
def test_the_interval_of_a_tail_holds_the_exact_one(distance):
    exact = float(LAW.probabilities[LAW.distances > distance + 1e-12].sum())
    tail = DRAWN.tail(distance + 1e-12)
    assert tail.low <= exact <= tail.high
    assert tail.value == pytest.approx(exact, abs=0.01)
    assert tail.high - tail.low < 0.02


def test_ends_and_bad_input():
    assert DRAWN.tail(2.0).value == 0.0
    assert DRAWN.tail(2.0).low == 0.0
    assert DRAWN.quantile_interval(0.0)[0] == 0.0
    assert DRAWN.quantile_interval(1.0)[1] == 1.0
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        DRAWN.quantile(1.1)
