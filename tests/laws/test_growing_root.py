"""The mean of a root from few moments, against laws whose mean is known."""

import itertools

import numpy as np
import pytest
from scipy.special import beta

from dpbayes.laws.growing_root import growing_powers, mean_root


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
    assert abs(value - 0.5) < error < 1e-11


@pytest.mark.parametrize("one", [0.5, 0.5 + 1e-16, 0.5 - 1e-12])
def test_where_all_lies_at_one_the_mean_is_nothing(one):
    value, error = mean_root(lambda _: (0.5, 1e-15), 0.1, 0.5, lambda: one, 1e-10)
    assert 0.0 <= value <= error < 1e-11


def test_powers_grow():
    powers = list(itertools.islice(growing_powers(), 20))
    assert powers[:8] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    ratios = np.divide(powers[8:], powers[7:-1])
    assert np.all(np.diff(ratios) > 0)
    assert ratios[0] == pytest.approx(1.4)
