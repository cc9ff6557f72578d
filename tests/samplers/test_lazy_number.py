"""A uniform number drawn bit by bit: every choice has its probability, none depends on another."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from dpbayes.samplers import lazy_number
from dpbayes.samplers.lazy_number import LazyNumber
from tests.samplers.sources import SeededBits, law_of_bits


def bounded(found, left, expected):
    for value, probability in expected.items():
        reached = found.get(value, Fraction(0))
        assert reached <= probability <= reached + left
    assert set(found) <= set(expected)


@pytest.mark.parametrize("longest", [4096, 1])
def test_choices_in_a_row_have_the_product_of_their_probabilities(monkeypatch, longest):
    monkeypatch.setattr(lazy_number, "LONGEST", longest)
    ends, sizes = (3, 3, 10, 11), (1, 7, 3, 2)

    def sampler(source):
        number = LazyNumber(source)
        cell = number.choose(ends)
        return cell, number.one_of(sizes[cell])

    found, left = law_of_bits(sampler, 16)
    assert left < Fraction(1, 4)
    parts = [Fraction(high - low, 11) for low, high in pairwise((0, *ends))]
    bounded(found, left, {
        (cell, i): part / sizes[cell] for cell, part in enumerate(parts) if part
        for i in range(sizes[cell])
    })  # fmt: skip


def test_what_is_left_after_a_choice_is_a_uniform_number():
    flint = pytest.importorskip("flint")
    found = []
    for seed in range(400):
        number = LazyNumber(SeededBits(seed))
        number.choose((1, 6, 7))
        while number.bits < 40:
            number.refine()
        low, high = number.enclosed(flint)
        assert 0 <= low < high <= 1
        found.append(float(low.p) / float(low.q))
    found.sort()
    distance = max(max(abs(v - i / 400), abs(v - (i + 1) / 400)) for i, v in enumerate(found))
    assert distance < 0.11  # a uniform sample of 400 exceeds this once in ten thousand times
