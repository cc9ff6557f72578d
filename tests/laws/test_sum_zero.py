"""Sum-zero lattice noise: counts, normaliser and tails against lists; draws with power."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mpmath import mp

from dpbayes.laws.sum_zero import LatticeNoise


def listed(k, top):
    rows = np.array(list(itertools.product(range(-top, top + 1), repeat=k - 1)))
    rows = np.column_stack((rows, -rows.sum(axis=1)))
    return rows[np.maximum(rows, 0).sum(axis=1) <= top]


@pytest.mark.parametrize(("k", "top"), [(2, 9), (3, 6), (4, 4), (5, 3)])
def test_points_are_all_and_counted(k, top):
    expected, found = listed(k, top), LatticeNoise(k, 1.0).points(top)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))
    assert found.tolist() == sorted(found.tolist())
    assert LatticeNoise(k, 1.0).number_of_points(top) == len(expected)
    assert LatticeNoise(k, 1.0).number_of_points(0) == 1.0
    assert LatticeNoise(50, 1.0).number_of_points(10**6) > 1e200


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.3), (3, 2.0), (4, 3.0), (6, 0.1), (50, 0.5)])
def test_normaliser_and_tail_against_the_sum_over_sizes(k, epsilon):
    # u - v with u, v compositions of m: the sum over m of C(m+k-1, k-1)^2 q^m, times (1 - q)^k.
    with mp.workdps(40):
        q = mp.exp(-mp.mpf(epsilon))
        total = mp.hyp2f1(k, k, 1, q) * (1 - q) ** k
        assert LatticeNoise(k, epsilon).log_normaliser == pytest.approx(
            float(mp.log(total)), abs=1e-12
        )
    if k <= 4:
        points = listed(k, 12)
        inside = np.exp(-0.5 * epsilon * np.abs(points).sum(axis=1)).sum()
        tail = 1.0 - inside / np.exp(LatticeNoise(k, epsilon).log_normaliser)
        assert LatticeNoise(k, epsilon).outside(12) == pytest.approx(tail, abs=1e-13)
    m = LatticeNoise(k, epsilon).reach(1e-9)
    assert LatticeNoise(k, epsilon).outside(m) <= 1e-9 < LatticeNoise(k, epsilon).outside(m - 1)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.8), (5, 1.5)])
def test_draws_have_the_law_and_not_one_a_tenth_wider(k, epsilon):
    size = 60_000
    drawn = LatticeNoise(k, epsilon).draw(np.random.default_rng(5), size)
    rows, seen = np.unique(drawn, axis=0, return_counts=True)
    assert not rows.sum(axis=1).any()

    def statistic(claimed):
        logs = -0.5 * claimed * np.abs(rows).sum(axis=1) - LatticeNoise(k, claimed).log_normaliser
        expected = size * np.exp(logs)
        kept = expected >= 5
        rest = size - expected[kept].sum()
        value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
        return (value - kept.sum()) / np.sqrt(2 * kept.sum())

    assert statistic(epsilon) < 6 < statistic(0.9 * epsilon)


def test_small_and_large_epsilon():
    wide = LatticeNoise(3, 1e-4).draw(np.random.default_rng(1), 4000)
    size = np.abs(wide).sum(axis=1) / 2
    # m is a sum of two geometric variables and of at most two.
    assert size.mean() == pytest.approx(2e4, rel=0.06)
    assert not LatticeNoise(4, 1e6).draw(np.random.default_rng(1), 20).any()
    with pytest.raises(ValueError, match="needs a table of"):
        LatticeNoise(3, 1e-9).draw(np.random.default_rng(1), 5)
