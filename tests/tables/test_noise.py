"""Exact noise: its law, its independence of seeds, and the grid."""

import math
import random
import secrets
from fractions import Fraction

import numpy as np
import pytest

from dpbayes.tables import noise as grid


def test_discrete_laplace_follows_its_law_and_not_one_ten_percent_wider() -> None:
    source = random.Random(17)
    scale, size = 5, 30_000
    draws = np.array([grid.discrete_laplace(scale, source.randrange) for _ in range(size)])
    assert chi_square(draws, scale) < threshold(25)
    assert chi_square(draws, 1.1 * scale) > threshold(25)


def chi_square(draws: np.ndarray, scale: float) -> float:
    inner = np.arange(-12, 13)
    ratio = math.exp(-1 / scale)
    p = (1 - ratio) / (1 + ratio) * ratio ** np.abs(inner)
    p = np.append(p, 1 - p.sum())
    seen = np.array([*(np.sum(draws == k) for k in inner), np.sum(np.abs(draws) > 12)])
    return float(np.sum((seen - draws.size * p) ** 2 / (draws.size * p)))


def threshold(degrees: int) -> float:
    """Return a bound that a chi-square variable exceeds with probability below 1e-6."""
    log_inverse = -math.log(1e-6)
    return degrees + 2 * math.sqrt(degrees * log_inverse) + 2 * log_inverse


def test_bernoulli_exp_has_the_right_probability() -> None:
    source = random.Random(3)
    for numerator, denominator in ((0, 1), (1, 2), (1, 1)):
        hits = sum(
            grid._bernoulli_exp(numerator, denominator, source.randrange) for _ in range(20_000)
        )
        p = math.exp(-numerator / denominator)
        assert abs(hits / 20_000 - p) <= 6 * math.sqrt(p * (1 - p) / 20_000)


def test_real_noise_ignores_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = 10 * 2**grid.GRID_BITS
    seen = set()
    for _ in range(5):
        random.seed(1)
        seen.add(grid.system_noise(scale))
    assert len(seen) == 5
    calls = []

    def counted(bound: int) -> int:
        calls.append(bound)
        return random.SystemRandom().randrange(bound)

    monkeypatch.setattr(secrets, "randbelow", counted)
    grid.system_noise(scale)
    assert calls


def test_answers_do_not_betray_the_truth_by_their_low_digits() -> None:
    # Floating-point Laplace noise added to 0 and to 1 leaves different low digits; grid noise does
    # not: every multiple of the grid has positive probability under both.
    scale = 2**grid.GRID_BITS
    zero = [grid.system_noise(scale) % 2**8 for _ in range(2000)]
    one = [(grid.system_noise(scale) + 2**grid.GRID_BITS) % 2**8 for _ in range(2000)]
    assert abs(np.mean(zero) - np.mean(one)) < 6 * 74 * math.sqrt(2 / 2000)
    assert len(set(zero)) > 200
    assert len(set(one)) > 200


def test_true_answer_is_exact_where_floats_round() -> None:
    counts = np.array([2**53, 1, 1], dtype=np.int64)
    query = grid.on_grid([1.0, 1.0, 1.0], 3)
    assert grid.true_answer(query, counts) == (2**53 + 2) * 2**grid.GRID_BITS
    assert float(np.float64(2**53) + 1.0 + 1.0) != 2**53 + 2


def test_coefficients_land_on_the_grid() -> None:
    rounded = grid.on_grid([0.1, -1 / 3, 2.0], 3)
    np.testing.assert_array_equal(rounded, [0.1, -1 / 3, 2.0])
    assert np.all(np.ldexp(rounded, grid.GRID_BITS) == np.rint(np.ldexp(rounded, grid.GRID_BITS)))


def test_scale_is_rounded_down_so_that_the_length_is_kept() -> None:
    for sensitivity, alpha in ((1.0, 0.1497866137), (2.0, 1 / 3), (1.0, 1e-9)):
        units = grid.scale_in_units(sensitivity, alpha)
        assert grid.as_float(units) <= sensitivity / alpha
        assert grid.as_float(units) == pytest.approx(sensitivity / alpha, rel=1e-9)
        assert int(float(units)) == units


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid.on_grid([2.0**21], 1), "at most 1.04858e"),
        (lambda: grid.on_grid([1e-39], 1), "all zeros"),
        (lambda: grid.on_grid([1.0], 2), "a vector with 2 entries, got shape"),
        (lambda: grid.scale_in_units(1.0, 1e6), "noise scale between"),
        (lambda: grid.scale_in_units(1.0, 1e-14), "noise scale between"),
        (lambda: grid.system_noise(2**168 + 1), "scale must be an integer of at most"),
        (lambda: grid.system_noise(0), "scale must be an integer of at least 1"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("coefficient", [1 / 3, 0.1, -2 / 7, 5.0, 0.75, 2.0**20 - 1e-7, 1e-22])
def test_the_answer_is_that_of_the_coefficients_as_they_are_asked(coefficient):
    counts = np.array([10**7, 3], np.int64)
    units = grid.true_answer(grid.on_grid([coefficient, 0.0], 2), counts)
    assert Fraction(units, 2**grid.GRID_BITS) == Fraction(coefficient) * 10**7


def test_smaller_coefficients_move_the_answer_by_2_to_the_minus_129_for_each_record():
    asked, counts = [1.0, math.pi * 1e-25], np.array([5, 2**53], np.int64)
    units = grid.true_answer(grid.on_grid(asked, 2), counts)
    moved = abs(Fraction(units, 2**grid.GRID_BITS) - 5 - Fraction(asked[1]) * 2**53)
    assert 0 < moved <= Fraction(2**53, 2**129)
