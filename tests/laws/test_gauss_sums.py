"""Sums over blocks of whole numbers against exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpbayes.laws.gauss_sums import block_nodes, block_rule


@pytest.mark.parametrize(("start", "length", "size"), [(0, 50, 6), (32, 1000, 5), (7, 40, 5)])
def test_polynomials_below_twice_the_nodes_are_summed_exactly(start, length, size):
    nodes, weights = block_rule(start, length, size)
    assert weights.min() > 0
    assert start <= nodes.min()
    assert nodes.max() <= start + length - 1
    for degree in range(2 * size):
        exact = sum(Fraction(j, start + length) ** degree for j in range(start, start + length))
        ours = weights @ (nodes / (start + length)) ** degree
        assert ours == pytest.approx(float(exact), rel=1e-11)
    beyond = sum(Fraction(j, start + length) ** (2 * size) for j in range(start, start + length))
    left = weights @ (nodes / (start + length)) ** (2 * size) - float(beyond)
    assert abs(left) > 1e-13 * float(beyond)


def test_few_numbers_are_taken_one_by_one():
    nodes, weights = block_rule(5, 4)
    assert nodes.tolist() == [5, 6, 7, 8]
    assert weights.tolist() == [1, 1, 1, 1]


def test_blocks_cover_every_number_once():
    nodes, weights = block_nodes(3, 10_000, 2.0)
    total = math.ceil(weights.sum() - 1e-6)
    assert total == pytest.approx(weights.sum(), rel=1e-12)
    last = 3 + total - 1
    assert last >= 10_000
    assert weights @ nodes == pytest.approx((3 + last) * total / 2, rel=1e-12)


@pytest.mark.parametrize("rate", [0.5, 5.0])
def test_a_smooth_sum_keeps_its_digits(rate):
    nodes, weights = block_nodes(1, 20_000, rate)
    total = round(weights.sum())
    j = np.arange(1, total + 1, dtype=np.float64)
    exact = np.exp(-rate * np.sqrt(j) / 20).sum()
    assert weights @ np.exp(-rate * np.sqrt(nodes) / 20) == pytest.approx(exact, rel=1e-9)
