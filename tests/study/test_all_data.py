"""Comparisons over all data sets: printed numbers, bounds and direct sums."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.capabilities import Symmetric, own
from dpbayes.study.all_data import (
    Winners,
    compare,
    count_crossings,
    everywhere,
    makers,
    prior_crossings,
)


@pytest.mark.parametrize(("k", "n"), [(2, 7), (3, 4)])
def test_distances_of_symmetric_mechanisms_are_those_of_each_data_set(
    k: int, n: int
) -> None:
    symmetric = [
        name
        for name, make in REGISTRY.items()
        if (one := own(make(2.0), Symmetric)) and one.symmetric
    ]
    assert {"expMech", "expMech-delta", "expMech-repaired", "permute-and-flip"} <= set(
        symmetric
    )
    assert not {"lapMech", "ilapMech", "lattice", "optimal"} & set(symmetric)
    for name in symmetric:
        found = everywhere(REGISTRY[name](2.0), n, [0.5] * k)
        single = [
            REGISTRY[name](2.0).law(x, [0.5] * k).mean_distance() for x in found.data
        ]
        assert found.distances == pytest.approx(single, rel=1e-13), name


@pytest.mark.slow
def test_the_comparison_is_the_table_of_single_means() -> None:
    chosen = makers([1.0, 2.0])
    some = {name: chosen[name] for name in ("ilapMech", "geometric", "expMech-smooth")}
    found = compare(some, [4, 9], [0.3, 2.0], [1.0, 2.0])
    for i, name in enumerate(some):
        for j, epsilon in enumerate((0.3, 2.0)):
            for column, n in enumerate((4, 9)):
                each = [
                    dp.mechanism(name, epsilon)
                    .law([x, n - x], [1.0, 2.0])
                    .mean_distance()
                    for x in range(n + 1)
                ]
                assert found.means[i, j, column] == pytest.approx(
                    np.mean(each), rel=1e-12
                )
                assert found.worsts[i, j, column] == pytest.approx(max(each), rel=1e-12)
    by_mean = found.winners(["ilapMech", "expMech-smooth"])
    assert by_mean.index[0, 0] == int(found.means[2, 0, 0] < found.means[0, 0, 0])
    assert found.over("ilapMech", "geometric").shape == (2, 2)


PAIR = (dp.mechanism("lapMech", 0.8), dp.mechanism("expMech-delta", 0.8, delta=5e-4))


def test_the_smallest_mean_wins_and_equal_means_are_a_tie() -> None:
    means = np.array([[[0.1, 0.2, 0.3]], [[0.3, 0.2 * (1 + 1e-9), 0.2]]])
    won = Winners(("a", "b"), means)
    assert won.index.tolist() == [[0, 2, 1]]
    assert won.labels[2] == "tie"
    assert (won.share("a"), won.share("b")) == pytest.approx((1 / 3, 1 / 3))
    assert Winners(("a", "b"), means, np.full(means.shape, 0.06)).index.tolist() == [
        [0, 2, 2]
    ]


def test_crossing_prior_separates_the_winners() -> None:
    pair = (
        dp.mechanism("expMech-delta", 0.8, delta=1e-8, distance="l1"),
        dp.mechanism("ilapMech", 0.8),
    )
    (crossing,) = prior_crossings(*pair, [5, 5, 5], 0.5, 60.0)

    def gap(a: float) -> float:
        first, second = (m.law([5, 5, 5], [a] * 3).mean_distance() for m in pair)
        return first - second

    assert abs(gap(crossing)) < 1e-9
    assert gap(crossing - 0.01) > 0 > gap(crossing + 0.01)


def test_count_crossings_list_every_change() -> None:
    names = [
        min(PAIR, key=lambda m, x=x: m.law([x, 10 - x], [1, 1]).mean_distance()).name
        for x in range(11)
    ]
    found = dict(count_crossings(*PAIR, 10, [1, 1]))
    now = ""
    for x, name in enumerate(names):
        now = found.get(x, now)
        assert now == name


def test_crossings_on_a_grid_are_those_of_every_count() -> None:
    every = count_crossings(*PAIR, 10, [1, 1])
    assert len(every) == 3
    assert count_crossings(*PAIR, 10, [1, 1], counts=[0, 5, 10]) == every
    assert count_crossings(*PAIR, 10, [1, 1], counts=[0, 2, 5]) == every[:2]
