"""Permute-and-flip from bits: its coins, a fair order, the truth as the last resort."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.samplers import flips
from tests.samplers.sources import SeededBits, law_of_bits

library = pytest.importorskip("flint")


def test_an_enormous_rate_always_gives_the_truth():
    counts = np.array([2, 3])
    drawn = [flips.draw_flip(SeededBits(i), counts, np.ones(2), Fraction(10**6)) for i in range(20)]
    assert all(row.tolist() == [2, 3] for row in drawn)


def test_a_tiny_rate_takes_the_first_in_a_fair_order():
    source, counts = SeededBits(4), np.array([1, 1, 1])
    drawn = Counter(
        tuple(flips.draw_flip(source, counts, np.ones(3), Fraction(1, 10**9)).tolist())
        for _ in range(2000)
    )
    assert set(drawn) == {tuple(row) for row in dp.compositions(3, 3).tolist()}
    assert max(drawn.values()) < 200 + 6 * 14
    assert min(drawn.values()) > 200 - 6 * 14


def test_draws_follow_the_integral():
    mechanism = dp.mechanism("permute-and-flip", 3.0)
    counts, prior = np.array([2, 1]), np.ones(2)
    rate, source = mechanism.scores_like.exact_rate(counts, prior), SeededBits(9)
    drawn = [flips.draw_flip(source, counts, prior, rate)[0] for _ in range(1500)]
    expected = 1500 * mechanism.law(counts, prior).probabilities
    observed = np.bincount(drawn, minlength=4)
    assert ((observed - expected) ** 2 / expected).sum() < 3 + 6 * np.sqrt(6)


@pytest.mark.parametrize(
    "probability", [Fraction(3, 10), Fraction(1, 256), Fraction(9999, 10_000), Fraction(1, 70_000)]
)
def test_a_coin_has_its_probability_to_the_last_bit_that_is_read(probability):
    def enclosure(precision):
        return library.arb(library.fmpq(probability.numerator, probability.denominator))

    law, left = law_of_bits(lambda source: flips._heads(source, library, enclosure), 24)
    assert left <= Fraction(2, 2**24)
    for outcome, share in ((True, probability), (False, 1 - probability)):
        assert law[outcome] <= share <= law[outcome] + left
