"""Levels put on the steps of a distribution function: the same places as by bisection."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.laws.inversion import steps_at


def bisected(cumulative: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.searchsorted(cumulative, levels, side="right")


@pytest.mark.parametrize("size", [1, 2, 51, 5000])
@pytest.mark.parametrize("total", [1.0, 0.3, 1e-300, 7e12])
@pytest.mark.parametrize("number", [0, 10, 300_000])
def test_every_level_lands_where_bisection_puts_it(size: int, total: float, number: int) -> None:
    rng = np.random.default_rng(size + number)
    masses = rng.exponential(size=size) ** 8
    cumulative = np.cumsum(masses / masses.sum() * total)
    levels = rng.random(number) * cumulative[-1]
    assert np.array_equal(steps_at(cumulative, levels), bisected(cumulative, levels))


def test_levels_on_the_steps_and_beside_them() -> None:
    rng = np.random.default_rng(2)
    masses = rng.exponential(size=300)
    masses[rng.random(300) < 0.3] = 0.0
    masses[-1] = 0.0
    cumulative = np.cumsum(masses)
    ends = np.concatenate((np.zeros(1), cumulative))
    beside = np.concatenate((ends, np.nextafter(ends, 0.0), np.nextafter(ends, np.inf)))
    levels = np.tile(np.minimum(beside, cumulative[-1]), 400)
    assert levels.size > 1 << 16
    assert np.array_equal(steps_at(cumulative, levels), bisected(cumulative, levels))


def test_steps_closer_than_the_cells() -> None:
    rng = np.random.default_rng(3)
    cumulative = np.sort(np.concatenate((rng.random(500) * 1e-9, 0.5 + rng.random(500) * 1e-15)))
    levels = np.tile(np.concatenate((cumulative, rng.random(1000) * cumulative[-1])), 100)
    assert np.array_equal(steps_at(cumulative, levels), bisected(cumulative, levels))
