"""Steps above the weight of one category's count: all counts, everywhere above, little waste."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpbayes.samplers import category_steps
from dpbayes.samplers.category_steps import UNIT, Category, cuts, steps_above

flint = pytest.importorskip("flint")

CASES = [
    (1.0, 3, 9, 4, -0.2),
    (0.3, 0, 60, 20, -1.5),
    (1.0, 400, 1000, 30, 0.01),
    (1e-300, 1, 300, 5, -0.05),
    (1e18, 50, 90, 10**12, -0.3),
    (2.5, 7, 50, 0, -0.1),
]


@pytest.mark.parametrize(("prior", "x", "n", "power", "tilt"), CASES)
@pytest.mark.parametrize("waste", [1.0, 0.1])
def test_steps_are_above_the_weight_of_every_count(prior, x, n, power, tilt, waste):
    category = Category(flint, prior, x, n, 400)
    grid, psi = category.grid()
    assert grid[0] == 0
    assert grid[-1] == n
    beginnings = cuts(grid, power * psi, tilt * (grid - x), waste)
    steps = steps_above(category, Fraction(power), Fraction(tilt), beginnings)
    assert sum(steps.sizes) == n + 1
    assert steps.area == sum(steps.height(count) for count in range(n + 1))
    mass = mp.mpf(0)
    with mp.workdps(120):
        a = mp.mpf(prior) + x
        for count in range(n + 1):
            b = mp.mpf(prior) + count
            log_bc = mp.loggamma((a + b) / 2) - (mp.loggamma(a) + mp.loggamma(b)) / 2
            weight = mp.exp(power * log_bc + mp.mpf(tilt) * (count - x)) * 2**UNIT
            assert steps.height(count) >= weight * (1 - mp.mpf(10) ** -60)
            mass += weight
        assert steps.area < mass * (1 + 1.5 * waste) + n + 1


def test_columns_are_drawn_in_proportion_to_the_steps():
    class Numbers:
        """Answers each choice with the next of a list."""

        def __init__(self, *answers):
            self.answers = list(answers)

        def choose(self, ends):
            self.ends = ends
            return self.answers.pop(0)

        def one_of(self, size):
            self.size = size
            return self.answers.pop(0)

    category = Category(flint, 1.0, 3, 9, 128)
    steps = steps_above(category, Fraction(4), Fraction(0), np.array([0, 2, 3, 4, 6]))
    number = Numbers(3, 1)
    count, height = steps.column(number)
    assert (count, height) == (5, steps.heights[3])
    assert number.size == 2
    assert np.diff([0, *number.ends]).tolist() == [
        size * height for size, height in zip(steps.sizes, steps.heights, strict=True)
    ]


def test_blocks_are_as_long_as_the_waste_allows() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        places = np.cumsum(rng.integers(1, 9, 200))
        run = np.cumsum(rng.exponential(size=200) ** 6)
        each = float(10.0 ** rng.uniform(-4.0, 4.0))
        found = category_steps._blocks(places.tolist(), run.tolist(), each)
        starts = np.searchsorted(places, found[1:])
        ends = [*starts, 199]
        for start, end in zip([0, *starts], ends, strict=True):
            wasted = (places - places[start]) * (run - run[start])
            assert end == start + 1 or wasted[end] <= each
            assert end == 199 or wasted[end + 1] > each
