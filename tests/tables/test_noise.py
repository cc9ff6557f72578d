"""Exact noise: its law, its independence of seeds, and the grid."""

import math
import random
import secrets
from fractions import Fraction

import numpy as np
import pytest

from dpbayes.tables import noise as grid


def chi_square(draws: np.ndarray, scale: float) -> float:
    inner = np.arange(-12, 13)
    ratio = math.exp(-1 / scale)
    p = (1 - ratio) / (1 + ratio) * ratio ** np.abs(inner)
    p = np.append(p, 1 - p.sum())
    seen = np.array([*(np.sum(draws == k) for k in inner), np.sum(np.abs(draws) > 12)])
    return float(np.sum((seen - draws.size * p) ** 2 / (draws.size * p)))


def test_system_noise_follows_its_law_and_not_one_ten_percent_wider() -> None:
    draws = np.array([grid.system_noise(5) for _ in range(30_000)])
    # passed once in 10^6
    limit = 25 + 2 * math.sqrt(25 * 6 * math.log(10)) + 12 * math.log(10)
    assert chi_square(draws, 5) < limit < chi_square(draws, 5.5)


def test_real_noise_ignores_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    scale, seen, asked = 10 * 2**grid.GRID_BITS, set(), []
    for _ in range(5):
        random.seed(1)
        seen.add(grid.system_noise(scale))
    assert len(seen) == 5
    monkeypatch.setattr(
        secrets, "randbits", lambda n: asked.append(n) or random.getrandbits(n)
    )
    grid.system_noise(scale)
    assert asked


def test_answers_do_not_betray_the_truth_by_their_low_digits() -> None:
    # Floating-point Laplace noise added to 0 and to 1 leaves different low digits; grid
    # noise does not: every multiple of the grid has positive probability under both.
    scale = 2**grid.GRID_BITS
    low = np.array(
        [[grid.system_noise(scale) % 2**8 for _ in range(2000)] for _ in range(2)]
    )
    assert abs(np.diff(low.mean(axis=1))) < 6 * 74 * math.sqrt(2 / 2000)
    assert all(len(set(row)) > 200 for row in low.tolist())


def test_what_the_grid_cannot_hold_is_refused() -> None:
    for query, message in (([2.0**21], "at most 1.04858e"), ([1e-39], "all zeros")):
        with pytest.raises(ValueError, match=message):
            grid.on_grid(query, 1)
    for alpha in (1e6, 1e-14):
        with pytest.raises(ValueError, match="noise scale between"):
            grid.scale_in_units(1.0, alpha)


def test_scale_is_rounded_down_so_that_the_length_is_kept() -> None:
    for sensitivity, alpha in ((1.0, 0.1497866137), (2.0, 1 / 3), (1.0, 1e-9)):
        units = grid.scale_in_units(sensitivity, alpha)
        assert grid.as_float(units) <= sensitivity / alpha
        assert grid.as_float(units) == pytest.approx(sensitivity / alpha, rel=1e-9)
        assert int(float(units)) == units


@pytest.mark.parametrize(
    "coefficient", [1 / 3, 0.1, -2 / 7, 5.0, 0.75, 2.0**20 - 1e-7, 1e-22]
)
def test_the_answer_is_that_of_the_coefficients_as_they_are_asked(coefficient):
    counts = np.array([10**7, 2**53, 1], np.int64)  # the sum of the others is no float
    units = grid.true_answer(grid.on_grid([coefficient, 1.0, 1.0], 3), counts)
    exact = Fraction(coefficient) * 10**7 + 2**53 + 1
    assert Fraction(units, 2**grid.GRID_BITS) == exact


def test_smaller_coefficients_move_the_answer_by_2_to_the_minus_129_for_each_record():
    asked, counts = [1.0, math.pi * 1e-25], np.array([5, 2**53], np.int64)
    units = grid.true_answer(grid.on_grid(asked, 2), counts)
    moved = abs(Fraction(units, 2**grid.GRID_BITS) - 5 - Fraction(asked[1]) * 2**53)
    assert 0 < moved <= Fraction(2**53, 2**129)
