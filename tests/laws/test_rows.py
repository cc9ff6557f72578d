"""Sums over many ranges at once against sums number by number."""

import numpy as np
import pytest

from dpbayes.laws.rows import Panels, Rows


def cut(number, seed=5):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 5000, size=(4, number)), axis=0)
    ends[:, rng.random(number) < 0.2] = 7  # nothing
    return ends


@pytest.mark.parametrize("near", [0, 40, 10_000])
def test_each_number_once_and_no_panel_longer_than_the_way(near):
    ends = cut(50)
    panels = Panels.cut(ends, np.full_like(ends, near), 256, 17)
    sizes = np.bincount(panels.rows, panels.lengths, 50)
    assert np.array_equal(sizes, ends[-1] - ends[0])
    assert panels.lengths.max() == 256
    for row, start, length in zip(panels.rows, panels.starts, panels.lengths, strict=True):
        part = int(np.searchsorted(ends[:, row], start, side="right")) - 1
        left, right = ends[part, row], ends[part + 1, row]
        assert left <= start
        assert start + length <= right
        way = near + min(start - left, right - start - length)
        assert length <= max(16, way)


def test_sums_of_roots_and_their_doubts():
    ends = cut(3000)
    rows = Rows(ends, np.zeros_like(ends), 4096)
    low = ends[0]

    def terms(row, place):
        return np.sqrt(place - low[row] + 1.0), np.exp(-0.001 * place)

    sums, doubts = rows.sums(terms)
    for row in range(0, 3000, 97):
        place = np.arange(ends[0, row], ends[-1, row])
        for found, doubt, one in zip(sums, doubts, terms(row, place), strict=True):
            assert abs(found[row] - one.sum()) <= doubt[row] + 1e-12 * one.sum()
            assert doubt[row] <= 1e-9 * one.sum() + 1e-300


def test_sums_of_sums_over_even_and_odd_numbers():
    outer = Rows(np.array([[3], [300], [950]]), np.zeros((3, 1), dtype=np.int64), 64)

    def inner(odd, half):
        m = 2 * half + odd
        ends = np.stack((np.zeros_like(m), m // 2, m))

        def terms(row, place):
            return (np.where(2 * place < m[row], 1.0, 1.5) * (1.0 + place),)

        return Rows(ends + (ends > 0), np.zeros_like(ends), 64).sums(terms)

    found = outer.of_each_parity().sums_of_sums(inner)
    assert found.shape == (2, 1, 2)
    for odd in range(2):
        expected = 0.0
        for m in range(3, 950):
            if m % 2 == odd:
                place = np.arange(m + 1)
                expected += (np.where(2 * place < m, 1.0, 1.5) * (1.0 + place)).sum()
        assert found[0, 0, odd] == pytest.approx(expected, rel=1e-12)


def test_no_rows():
    none = Rows(np.zeros((2, 0), dtype=np.int64), np.zeros((2, 0), dtype=np.int64), 16)
    assert none.sums(lambda _, place: (1.0 * place,)).shape == (2, 1, 0)
