"""Certificates for the best noise: exact bounds, recomputed, and noises that attain them."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from dpbayes.laws import sum_zero as lattice_noise
from dpbayes.study import noise_optimum
from dpbayes.study.noise_optimum import Share, draw_plateau, noise_bound, plateau, window
from dpbayes.study.noise_symmetry import Orbits
from tests.samplers.sources import SeededBits


@pytest.mark.parametrize(
    ("shares", "epsilon", "radius"),
    [([1, 1, 1], 1.0, 18), ([1, 1, 1], 3.0, 7), ([1, 1, 1, 1], 3.0, 5), ([20, 30, 50], 1.0, 18)],
)
def test_lattice_noise_is_optimal_where_the_shares_are_near_equal(
    shares: list[Share], epsilon: float, radius: int
) -> None:
    found = noise_bound(shares, epsilon, radius)
    assert -1e-9 < found.lattice_gap < found.window
    assert found.lattice_gap < 5e-5


def test_flows_of_more_digits_than_fit_a_word_are_added_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = noise_bound([1, 2, 3], 2.0, 6).lower
    monkeypatch.setattr(noise_optimum, "_ROUNDED", 10**24)
    assert abs(noise_bound([1, 2, 3], 2.0, 6).lower - few) < Fraction(1, 10**10)


@pytest.mark.parametrize(
    ("shares", "epsilon", "radius", "most"),
    [([1, 1, 1, 1], 1.0, 16, 5e-5), ([10, 30, 30, 30], 2.0, 11, 2e-7), ([1] * 5, 2.0, 6, 4e-3)],
)
def test_four_and_five_categories_by_orbits(
    shares: list[Share], epsilon: float, radius: int, most: float
) -> None:
    found = noise_bound(shares, epsilon, radius)
    assert -1e-9 < found.lattice_gap < min(most, found.window)


@pytest.mark.parametrize(
    ("shares", "epsilon", "gap"),
    [([10, 45, 45], 0.5, 0.0102), ([1, 33, 66], 1.0, 0.0832), ([90, 9, 1], 1.0, 0.0449)],
)
def test_plateau_noise_closes_the_gap_of_skewed_shares(
    shares: list[Share], epsilon: float, gap: float
) -> None:
    found = noise_bound(shares, epsilon, int(17 / epsilon))
    assert found.lattice_gap == pytest.approx(gap, abs=2.5e-4)
    assert -1e-9 < found.plateau_gap < min(found.window, 2e-5)
    assert found.flat_to > 0


@pytest.mark.parametrize(
    ("shares", "epsilon"), [([1, 92, 7], 3.5), ([3, 58, 39], 1.6), ([4, 79, 17], 1.1)]
)
def test_with_a_rare_category_lattice_noise_is_optimal_where_epsilon_is_large_enough(
    shares: list[Share], epsilon: float
) -> None:
    found = noise_bound(shares, epsilon, int(24 / epsilon))
    assert found.flat_to == 0
    assert -1e-9 < found.lattice_gap < min(found.window, 1e-6)


def test_the_certificate_holds_in_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any flow proves something; a wrong one proves less, never more."""
    shares: list[Share] = [1, 1, 2]
    truth = noise_bound(shares, 0.8, 12)
    original = noise_optimum._flow

    def disturbed(space: noise_optimum.Window, same: Orbits, epsilon: float) -> np.ndarray:
        flow = original(space, same, epsilon)
        return np.asarray(flow * np.random.default_rng(1).uniform(0.9, 1.1, flow.size))

    monkeypatch.setattr(noise_optimum, "_flow", disturbed)
    worse = noise_bound(shares, 0.8, 12)
    assert worse.lower < truth.lower
    monkeypatch.setattr(noise_optimum, "_flow", lambda _, same, __: np.zeros(same.many))
    assert noise_bound(shares, 0.8, 12).lower == 0


@pytest.mark.parametrize(("shares", "epsilon"), [([1, 1, 1], 1.0), ([1, 4, 5], 0.7)])
def test_the_bound_is_below_every_private_noise_and_near_the_program(
    shares: list[int], epsilon: float
) -> None:
    total = sum(shares)
    space = window(tuple(Fraction(s, total) for s in shares), 9)
    size, edges = len(space.points), space.first.size
    ratio = np.zeros((edges, size))
    ratio[np.arange(edges), space.first] = 1.0
    ratio[np.arange(edges), space.second] -= np.exp(epsilon)
    primal = linprog(
        space.lengths, A_ub=ratio, b_ub=np.zeros(edges), A_eq=np.ones((1, size)), b_eq=[1.0]
    )
    bound = float(noise_bound(list(shares), epsilon, 9).lower)
    assert bound == pytest.approx(primal.fun, rel=1e-7)
    points = lattice_noise.points(len(shares), 40)
    mass = np.exp(-0.5 * epsilon * np.abs(points).sum(axis=1))
    lengths = np.sqrt((points**2 / (np.array(shares) / total)).sum(axis=1))
    assert bound <= float(mass @ lengths / mass.sum())


def test_the_exponential_is_rounded_up() -> None:
    with mpmath.workdps(60):
        for epsilon in (0.25, 1.0, 5.0):
            above = noise_optimum._exp_above(epsilon)
            true = mpmath.exp(mpmath.mpf(epsilon))
            ratio = mpmath.mpf(above.numerator) / above.denominator / true
            assert 1 < ratio < 1 + mpmath.mpf(10) ** -33


@pytest.mark.parametrize("k", [3, 4, 5])
def test_where_the_corollary_covers_equal_shares_the_certificate_agrees(k: int) -> None:
    found = noise_bound([1] * k, 3.0, 6)
    steps = lattice_noise.points(k, 1)
    shortest = min(np.sqrt(k * (z @ z)) for z in steps if z.any())
    assert shortest == pytest.approx(np.sqrt(2 * k))
    assert found.lattice <= shortest
    assert 0.0 <= found.lattice_gap < 1e-3


def test_plateau_noise_is_drawn_exactly() -> None:
    flat = plateau([1, 4, 5], 3.2)
    assert 1 < len(flat) < 20
    bits, epsilon = SeededBits(4), Fraction(1)
    drawn = [tuple(draw_plateau(bits, flat, epsilon)) for _ in range(5000)]
    points = lattice_noise.points(3, 14)
    apart = np.abs(points[:, None, :] - flat[None]).sum(axis=2).min(axis=1) // 2
    mass = np.exp(-apart.astype(float))
    mass /= mass.sum()
    index = {tuple(row): i for i, row in enumerate(points.tolist())}
    found = np.bincount([index[z] for z in drawn], minlength=len(points))
    common = 5000 * mass > 20
    error = np.sqrt(5000 * mass * (1 - mass))
    assert np.all(np.abs(found - 5000 * mass)[common] < 6 * error[common])
    flattest = found[apart == 0]
    assert abs(flattest.sum() / 5000 - mass[apart == 0].sum()) < 0.04


def test_shares_are_checked() -> None:
    with pytest.raises(ValueError, match="at least 2 positive numbers"):
        noise_bound([1, 0, 2], 1.0, 4)
