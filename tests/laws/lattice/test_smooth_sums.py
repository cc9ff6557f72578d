"""Sums of smooth functions by some of their values, against all values."""

import numpy as np
import pytest

from dpbayes.laws.lattice import smooth_sums
from dpbayes.laws.lattice.smooth_sums import LONGEST_RULE, smooth_sum


def test_short_panels_are_added_up():
    asked = []

    def values(j):
        asked.extend(j.tolist())
        return np.stack((j**2.0, np.sin(100.0 * j)))

    total, error = smooth_sum(values, [(3, 3 + LONGEST_RULE), (40, 41)], 1e-9)
    every = np.array([*range(3, 3 + LONGEST_RULE), 40])
    assert sorted(asked) == every.tolist()
    assert error == 0.0
    np.testing.assert_allclose(total, values(every).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("length", [25, 26, 40, 77, 300, 4001])
def test_polynomials_are_summed_exactly_by_few_values(length):
    asked = []

    def values(j):
        asked.append(j.size)
        x = (j - 7.0) / length
        return np.stack([x**power for power in (0, 1, 5, 9)])

    total, error = smooth_sum(values, [(7, 7 + length)], 1e-9)
    expected = values(np.arange(7, 7 + length)).sum(axis=1)
    assert asked[:-1] == [asked[0]]
    assert asked[0] <= 17
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    assert error < 1e-9


@pytest.mark.parametrize("kink", [100, 137, 311, 500])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_kinks_and_spikes_are_found_and_the_error_is_honest(kink, tolerance):
    def values(j):
        return np.stack((np.exp(-0.05 * np.abs(j - kink)), 1.0 / (1.0 + (j - 100) ** 2)))

    total, error = smooth_sum(values, [(100, 900)], tolerance)
    expected = values(np.arange(100, 900)).sum(axis=1)
    assert error <= tolerance
    assert np.abs(total - expected).max() <= error + 1e-12


def test_a_doubt_that_vanishes_by_chance_is_seen():
    # T_16 plus what makes the plain doubt of seventeen values zero.
    nodes, _, doubts = smooth_sums._rule(401, True)
    x = 2.0 * np.arange(401) / 400 - 1.0
    tops = [np.polynomial.Chebyshev.basis(d)(x) for d in (14, 16)]
    plain = [float(doubts[0] @ top[nodes]) for top in tops]
    values = tops[1] - plain[1] / plain[0] * tops[0]
    assert abs(doubts[0] @ values[nodes]) < 1e-9
    _, error = smooth_sum(lambda j: values[j][None, :], [(0, 401)], 100.0, one=True)
    assert error > 1.0


def test_costly_values_are_asked_for_twice_as_many_before_a_panel_is_halved():
    def bell(j):
        return np.exp(-(((j - 400.0) / 160.0) ** 2))

    asked = {}
    for costly in (False, True):
        numbers: list[int] = []

        def values(j, numbers=numbers):
            numbers.extend(j.tolist())
            return bell(j)[None, :]

        total, error = smooth_sum(values, [(0, 800)], 1e-7, one=True, costly=costly)
        assert abs(total[0] - bell(np.arange(800)).sum()) <= error + 1e-12
        assert error <= 1e-7
        asked[costly] = len(numbers)
    assert asked[True] == 33 < asked[False]
