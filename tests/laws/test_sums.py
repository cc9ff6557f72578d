"""Sums made piece by piece are numpy's own sums, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.laws.sums import AT_ONCE, piecewise_sum


@pytest.mark.parametrize(
    "size", [0, 1, 7, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5, 100_003, 999_999, 1_048_577]
)
def test_pieces_add_up_as_numpy_adds(size):
    values = np.random.default_rng(size).lognormal(0.0, 8.0, size)
    asked = []

    def piece(first, last):
        asked.append((first, last))
        return values[first:last]

    assert piecewise_sum(size, piece) == float(values.sum())
    assert max(last - first for first, last in asked) <= AT_ONCE
    assert [first for first, _ in asked[1:]] == [last for _, last in asked[:-1]]
