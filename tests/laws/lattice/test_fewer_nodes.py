"""Nodes that count, against weights of all nodes."""

import numpy as np
import pytest

from dpbayes.laws.lattice.fewer_nodes import (
    MOST_CAREFUL,
    added,
    climb,
    doublings,
    kept_turns,
    ladder,
    rounded,
    weights_of,
)

STARTS = (24.0, 34.0, 48.0, 96.0, 136.0, 280.0, 400.0)


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


@pytest.mark.parametrize(
    ("whole", "times"), [(1472, 0), (1472, 2), (7456, 2), (7456, 4), (27_008, 5)]
)
def test_rules_need_no_node_that_is_left_out(whole, times):
    kept = kept_turns(whole // 2 + 1, MOST_CAREFUL, times)
    some, every = ladder(whole, kept, times), ladder(whole, np.arange(whole // 2 + 1), times)
    assert len(some) == len(every)
    for rule, known in zip(some, every, strict=True):
        np.testing.assert_array_equal(rule.weights, known.weights[kept])
        assert rule.weights.sum() == pytest.approx(known.weights.sum(), rel=1e-12)
        assert rule.coarser.sum() == pytest.approx(known.coarser.sum(), rel=1e-12)
        assert rule.places.size > np.count_nonzero(rule.coarser != rule.weights) / 2
    assert np.concatenate(added(some)).size == some[-1].places.size


@pytest.mark.parametrize("place", [0, 1, 40, 350, 931, 1864, 2485, 3000])
@pytest.mark.parametrize("width", [0.0, 30.0, 400.0])
def test_climbing_reads_what_lies_anywhere_round_the_circle(place, width):
    # A peak of this width lies so far from where is read, and a wide one there. Half-way round the
    # circle lies nothing: it was taken so large.
    whole, times = 7456, 4
    turns = kept_turns(whole // 2 + 1, MOST_CAREFUL, times)

    def spectrum(turns):
        angles = 2.0 * np.pi * turns / whole
        folds = np.where((turns == 0) | (2 * turns == whole), 1.0, 2.0) / whole
        peak = np.cos(place * angles) * np.exp(-0.5 * (width * angles) ** 2)
        return folds * (peak + np.exp(-0.5 * (500.0 * angles) ** 2))

    rules, tolerance = ladder(whole, turns, times), 1e-13
    columns = [spectrum(turns[places])[None] for places in added(rules)]
    found, change, terms = climb(lambda some, rule: columns[rule][some], 1, rules, tolerance)
    expected = spectrum(np.arange(whole // 2 + 1)).sum()
    assert abs(found[0] - expected) <= max(change[0], tolerance)
    if width > 0.0 or place > 40:
        assert change[0] <= tolerance
    assert terms <= turns.size < 0.35 * whole / 2
