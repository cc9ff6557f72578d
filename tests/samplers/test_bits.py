"""Uniform whole numbers from fair bits, on every string of bits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpbayes.samplers.bits import SystemBits, below
from tests.samplers.sources import law_of_bits


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 8])
def test_every_value_below_the_bound_is_equally_likely(bound):
    law, left = law_of_bits(lambda source: below(source, bound), 12)
    assert set(law) == set(range(bound))
    assert len(set(law.values())) == 1
    assert sum(law.values()) + left == 1
    assert left <= Fraction(1, 2) ** 3


def test_system_bits_fill_their_range():
    source = SystemBits()
    drawn = {source.bits(3) for _ in range(2000)}
    assert drawn == set(range(8))
    assert all(0 <= source.bits(200) < 2**200 for _ in range(20))


def test_one_value_needs_no_bits():
    assert below(None, 1) == 0
