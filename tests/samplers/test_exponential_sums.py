"""A sum of powers is above the weight everywhere, and not by much."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpbayes.samplers import exponential_sums

flint = pytest.importorskip("flint")

CASES = [(1.0, 0.01, 80), (0.001, 0.05, 80), (30.0, 1e-3, 100), (300.0, 1e-5, 150),
         (3000.0, 2.5e-7, 220), (3000.0, 2.5e-7, 850), (1e40, 1e-3, 100)]  # fmt: skip


def logs(found, rate, points):
    with mp.workdps(40):
        pairs = [
            (mp.mpf(p.numerator) / p.denominator, mp.mpf(c.numerator) / c.denominator)
            for p, c in zip(found.powers, found.coefficients, strict=True)
        ]
        above = [mp.log(sum(c * mp.exp(-p * u) for p, c in pairs)) for u in points]
        weight = [-rate * mp.sqrt(-mp.expm1(-u)) for u in points]
    return np.array(above, dtype=float), np.array(weight, dtype=float)


@pytest.mark.parametrize(("rate", "first", "depth"), CASES)
def test_the_sum_is_nowhere_below_the_weight_and_close_to_it(rate, first, depth):
    found = exponential_sums.dominating(flint, Fraction(rate), flint.arb(first), depth)
    points = [mp.mpf(u) for u in np.geomspace(first, 50.0, 500)]
    above, weight = logs(found, rate, points)
    assert np.all(above >= weight)
    seen = weight > -depth * np.log(2.0)
    assert np.all(above[seen] - weight[seen] < 0.9)
    assert found.at_truth + sum(found.coefficients) >= 1
    assert all(p >= 0 and c > 0 for p, c in zip(found.powers, found.coefficients, strict=True))


def test_a_sum_that_is_too_small_is_noticed_and_one_that_is_not_is_left():
    speed, left, right = flint.arb(30), flint.arb(0.01), flint.arb(0.02)

    def shortfall(coefficient: float, start: flint.arb, end: flint.arb | None) -> float:
        ball = flint.arb(coefficient)
        terms = [(flint.arb(20), ball), (flint.arb(0), ball)]
        return exponential_sums._shortfall(flint, speed, terms, ball, start, end)

    with flint.ctx.workprec(128):
        short = shortfall(0.01, left, right)
        assert short > 0.5
        assert shortfall(0.01 * np.exp(short) * 1.0001, left, right) == 0.0
        beyond = shortfall(0.01, left, None)
        assert beyond == pytest.approx(-30.0 * np.sqrt(-np.expm1(-0.01)) - np.log(0.01))
        assert shortfall(0.01, flint.arb(9), None) == 0.0


@pytest.mark.parametrize(
    ("rate", "start", "deepest", "number"),
    [(0.1, 0.5, 0.05, 1), (0.1, 0.5, 0.065, 2), (5.0, 0.01, 0.6, 3), (1.0, 0.1, 5.0, 23)],
)
def test_checked_intervals_leave_no_gap(rate, start, deepest, number):
    points = exponential_sums._points(rate, start, deepest)
    assert len(points) == number
    lowest = flint.arb(start / 2.0)
    pairs = exponential_sums._checked(flint, Fraction(rate), lowest, start, deepest)
    left, right = zip(*pairs, strict=True)
    assert left[0] == lowest
    assert right[-1] is None
    assert all(a == b for a, b in zip(right, left[1:], strict=False))
    assert number == 1 or left[-1] == flint.arb(points[-1])
