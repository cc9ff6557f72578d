"""The mean of a root from few moments, against laws whose mean is known."""

import numpy as np
import pytest
from scipy.special import beta

from dpbayes.laws.growing_root import mean_root, next_power


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 1.0), (2.0, 3.0), (0.5, 1.5), (40.0, 4.0), (1.0, 30.0), (3.0, 1.5)]
)
@pytest.mark.parametrize("mass", [1.0, 0.03])
def test_mean_of_a_beta_law(a, b, mass):
    def moment(s):
        return mass * beta(a + s, b) / beta(a, b), 1e-13

    value, error = mean_root(moment, 1e-9, mass, lambda: 0.0, 2e-10)
    assert error < 1e-9
    assert abs(value - mass * beta(a, b + 0.5) / beta(a, b)) <= error


def test_mass_at_one_is_left_out():
    value, error = mean_root(lambda s: (0.3 + 0.5 * 0.9**s, 0.0), 0.1, 0.8, lambda: 0.3, 1e-10)
    assert error < 3e-10
    assert abs(value - 0.5 * np.sqrt(0.1)) <= error


def test_moments_that_cannot_matter_are_not_asked_for():
    def never(*_):
        raise AssertionError

    value, error = mean_root(never, 50.0, 0.5, never, 1e-10)
    assert value == 0.5
    assert error < 1e-20
    value, error = mean_root(lambda _: (1e-12, 1e-13), 0.1, 0.5, never, 1e-10)
    assert abs(value - (0.5 - 1e-12)) < error < 1e-11  # z is 0 or 1


@pytest.mark.parametrize("one", [0.5, 0.5 + 1e-16, 0.5 - 1e-12])
def test_where_all_lies_at_one_the_mean_is_nothing(one):
    value, error = mean_root(lambda _: (0.5, 1e-15), 0.1, 0.5, lambda: one, 1e-10)
    assert 0.0 <= value <= error < 1e-11


def test_small_moments_need_one_power():
    asked = []

    def moment(s):
        asked.append(s)
        return 8e-10 * 2.0 / (s + 1.0), 1e-14

    value, error = mean_root(moment, 1e-6, 0.5, lambda: 0.0, 2e-10)
    assert asked == [1.0]
    assert abs(value - (0.5 - 8e-10 * 2.0 / 3.0)) <= error <= 4e-10


def test_powers_come_closer_together_where_more_is_left():
    assert [next_power(float(j), j, 0.5, 1e-10) for j in range(1, 8)] == [2, 3, 4, 5, 6, 7, 8]
    ratios = [next_power(100.0, 60, rest, 1e-10) / 100.0 for rest in (1.0, 1e-2, 1e-4, 1e-6, 1e-12)]
    assert np.all(np.diff(ratios[:-1]) > 0)
    assert ratios[-1] == 4.0
    assert next_power(1e8, 60, 0.5, 1e-10) / 1e8 > ratios[0] > 1.4
    assert next_power(8.0, 8, 1e-12, 1e-10) == pytest.approx(11.2)


@pytest.mark.parametrize("scale", [1e-4, 1e-6, 1e-8])
def test_a_law_of_two_scales_is_met_within_a_billionth(scale):
    """Much mass near 1 and much far from it, nothing in between: with -ln z exponential twice."""

    def moment(s):
        return 0.23 / (1.0 + scale * s) + 0.7 / (1.0 + 2.0 * s), 1e-11

    value, error = mean_root(moment, 1e-9 * scale, 0.93, lambda: 0.0, 2e-10)
    # E[sqrt(1 - z)] with z ~ Beta(1 / scale, 1)
    exact = sum(mass * beta(1.0 / each, 1.5) / each for mass, each in ((0.23, scale), (0.7, 2.0)))
    assert error < 1e-9
    assert abs(value - exact) <= error


@pytest.mark.parametrize("gap", [1e-4, 1e-8, 1e-12])
def test_what_lies_closer_to_one_than_the_gap_is_bounded(gap):
    """Half of the mass is closer, where only powers far beyond 1 / gap would see it."""
    depths, masses = np.array([0.3 * gap, 1e-2, 0.7]), np.array([0.25, 0.15, 0.1])

    def moment(s):
        return float(masses @ np.exp(-s * depths)), 1e-15

    exact = float(masses @ np.sqrt(-np.expm1(-depths)))
    value, error = mean_root(moment, gap, 0.5, lambda: 0.0, 1e-11, closer=True)
    assert abs(value - exact) <= error < max(3.0 * np.sqrt(gap), 1e-6)
    farther, unaware = mean_root(moment, gap, 0.5, lambda: 0.0, 1e-11)
    assert unaware < error
    assert abs(farther - exact) > unaware or gap < 1e-6
