"""Who wins: maps against single laws, crossings against the means on both sides."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.winners import (
    Winners,
    count_crossings,
    prior_crossings,
)

PAIR = (dp.mechanism("lapMech", 0.8), dp.mechanism("expMech-delta", 0.8, delta=5e-4))


def test_the_smallest_mean_wins_and_equal_means_are_a_tie() -> None:
    means = np.array([[[0.1, 0.2, 0.3]], [[0.3, 0.2 * (1 + 1e-9), 0.2]]])
    won = Winners(("a", "b"), means)
    assert won.index.tolist() == [[0, 2, 1]]
    assert won.labels[2] == "tie"
    assert (won.share("a"), won.share("b")) == pytest.approx((1 / 3, 1 / 3))
    assert Winners(("a", "b"), means, np.full(means.shape, 0.06)).index.tolist() == [[0, 2, 2]]
    with pytest.raises(ValueError, match="read-only"):
        won.means[0, 0, 0] = 1.0


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Winners(("a",), np.zeros((1, 1, 1))).share("x"), "name must be one of"),
        (lambda: prior_crossings(*PAIR, [3, 3], 2.0, 1.0), "0 < low < high"),
        (lambda: prior_crossings(*PAIR, [3], 1.0, 2.0), "at least 2 counts"),
        (lambda: count_crossings(*PAIR, 0, [1, 1]), "n must be"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def test_crossings_on_a_grid_are_those_of_every_count() -> None:
    every = count_crossings(*PAIR, 10, [1, 1])
    assert len(every) == 3
    assert count_crossings(*PAIR, 10, [1, 1], counts=[0, 5, 10]) == every
    assert count_crossings(*PAIR, 10, [1, 1], counts=[0, 2, 5]) == every[:2]


@pytest.mark.parametrize("counts", [[], [3, 2], [0, 61], [-1, 4]])
def test_counts_that_cannot_be_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="counts must increase from 0 to n = 60"):
        count_crossings(*PAIR, 60, [1, 1], counts=counts)
