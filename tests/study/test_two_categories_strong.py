"""Two categories, prior parameters that are large: each inequality of the proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import gammaln

from dpbayes.study.theorem_chain import Chain, distance_table
from tests.study.test_two_categories_falling import Falling, falling


def chains(seed: int, number: int) -> Iterator[Chain]:
    """Give chains within the range of the theorem: b >= 20, s_0 <= e^gamma s_1."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        n, b = int(np.exp(rng.uniform(1.4, 6.2))), 20.0 * 10.0 ** (4 * rng.random() ** 2)
        alike = bool(i % 2)
        delta = (0.5 if alike else 0.25) * 10.0 ** (-rng.choice([0.0, 3.0, 60.0]) * rng.random())
        prior = (b, b) if alike else (b, b + n * 10.0 ** (3 * rng.random() * (i % 4 == 0)))
        plan = Chain(2, n, 1.0, delta, prior)
        steps = distance_table(n, prior).diagonal(1)
        least = 2.0 * plan.logarithm * (steps[0] / steps[1] - 1.0) * (1.0 + 1e-9)
        assert 0.0 < least <= plan.logarithm / b
        yield replace(
            plan, epsilon=float(least * 10.0 ** (rng.choice([0.0, 1.0, 3.0]) * rng.random()))
        )


def steps_of(case: Falling) -> np.ndarray:
    return np.asarray(case.distances.diagonal(1))


def left_sum(high: float, ell: float) -> float:
    """A(U): the integral of (1 - u/l) e^(-u) from 0 to min(U, l)."""
    v = min(high, ell)
    return float(-np.expm1(-v) - (1.0 - (1.0 + v) * np.exp(-v)) / ell)


@pytest.mark.slow
def test_smooth_sensitivity_is_the_local_one() -> None:
    for chain in chains(1, 80):
        assert np.allclose(chain.smooth(), chain.local(), rtol=1e-9)
    seen = 0
    # The condition is not empty: with less epsilon than it asks for the smooth one is larger.
    for chain in chains(1, 80):
        steps = distance_table(chain.n, chain.prior).diagonal(1)
        if steps[0] > steps[1] * (1.0 + 1e-5):
            less = replace(chain, epsilon=1.8 * chain.logarithm * (steps[0] / steps[1] - 1.0))
            assert np.any(less.smooth() > less.local() * (1.0 + 5e-7))
            seen += 1
    assert seen > 40


@pytest.mark.slow
def test_steps_are_log_convex() -> None:
    """phi phi'' >= 4/3 phi'^2, hence phi'' (1 - e^-phi) >= phi'^2, in 30 digits; then on chains."""
    with mp.workdps(30):
        for b, a in ((20, 20), (20, 4000), (1000, 1000), (50, 70)):
            for z in (0, 1, 7.5):

                def phi(y: mpf, b: int = b, a: int = a) -> mpf:
                    ends = (b + y, a + 30 - y)
                    half = mpf(1) / 2
                    parts = [
                        (mp.loggamma(e) + mp.loggamma(e + 1)) / 2 - mp.loggamma(e + half)
                        for e in ends
                    ]
                    return sum(parts)

                v, first, second = (mp.diff(phi, z, i) for i in range(3))
                assert v * second >= mpf(4) / 3 * first**2
                assert second * (1 - mp.exp(-v)) >= first**2
                assert v <= mpf(1) / 80
    for chain in chains(2, 60):
        logs = np.log(distance_table(chain.n, chain.prior).diagonal(1))
        assert np.all(np.diff(logs, 2) >= -1e-9)


def test_moments_of_a_falling_density() -> None:
    """m0 m2 >= 4/3 m1^2, with equality for the uniform density, and less without falling."""

    def ratio(density: object, top: float) -> float:
        m = [quad(lambda s, i=i: s**i * density(s), 0, top)[0] for i in range(3)]
        return float(m[0] * m[2] / m[1] ** 2)

    assert abs(ratio(lambda s: 1.0, 2.0) - 4.0 / 3.0) < 1e-9
    assert (
        ratio(lambda s: np.exp(-3 * s) * np.tanh(s / 4) / (2 * s) if s else 0.125, 30.0) > 4.0 / 3.0
    )
    assert ratio(lambda s: s, 1.0) < 4.0 / 3.0


@pytest.mark.slow
def test_every_step_of_the_proof() -> None:
    seen: Counter[str] = Counter()
    for chain in chains(3, 160):
        alike, ell, n = chain.prior[0] == chain.prior[1], chain.logarithm, chain.n
        assert ell >= 2.99
        for case in falling(chain):
            x, h, kappa, u = case.x, case.h, case.kappa, case.scores
            here, there = case.constants
            steps, big = steps_of(case), case.prior + x
            assert x >= 1
            assert not alike or 2 * (x + 1) <= n
            assert np.isclose(case.smooth[x], steps[x - 1])
            assert np.isclose(case.smooth[x + 1], steps[x])
            assert kappa <= 0.5 / (big - 1.0) * (1.0 + 1e-6)
            assert steps[x - 1] ** 2 >= 0.12 / big
            eta = kappa * u[0] / h
            assert eta <= kappa / steps[x - 1] * (1.0 + 1e-9) <= 1.0 / 3.0
            assert eta <= u[0] / ell * (1.0 + 1e-9)
            ahead = case.distances[x + 1, x + 2 :] / case.distances[x, x + 1 : n]
            assert np.all(np.exp(np.log1p(kappa)) * ahead >= 1.0 - 1e-7)
            assert there <= here + np.exp(-h) - np.exp(-u[-1]) + 1e-7 * here
            area = left_sum(u[0], ell)
            far = n - 2 * x if alike else n - x
            y = float(np.exp(-h * far))
            assert u[-1] <= h * far + (u[0] if alike else 0.0) + 1e-7
            assert h * here >= area * (1.0 + y * alike) + 1.0 - y - 1e-9
            assert (1.0 - eta) * (1.0 + area) >= 1.0
            if alike:
                assert 1.0 - np.exp(-u[0]) <= 2.0 * (1.0 - eta) * area + 1e-12
            assert np.log(there / here) <= h * (1.0 - eta) * (1.0 + 1e-7)
            seen["alike" if alike else "unlike"] += 1
            seen["several" if u[0] > 1 else "few"] += 1
            seen["x = 1"] += x == 1
    assert all(seen[name] > 50 for name in ("alike", "unlike", "several", "few", "x = 1")), seen


@pytest.mark.slow
def test_no_loss_exceeds_epsilon_in_the_range() -> None:
    for chain in chains(4, 120):
        for case in falling(chain):
            loss = case.log_p[case.x] - case.log_p[case.x + 1]
            assert loss.max() <= chain.epsilon * (1.0 + 1e-9)
        if chain.prior[0] == chain.prior[1] or chain.epsilon >= 3.0 / chain.logarithm:
            assert chain.audit().epsilon <= chain.epsilon * (1.0 + 1e-9)


def test_numbers_of_the_proof() -> None:
    assert np.log(20.0) > 2.99
    assert np.log(24.0) > 2.99
    big = np.arange(21.0, 2000.0)
    assert np.all(np.sqrt(big / 0.12) / (2.0 * (big - 1.0)) <= 1.0 / 3.0)
    v = 0.1207 / (big - 1.0)
    assert np.all(v * (1.0 - 0.5 * v) >= 0.12 / big)
    ells = 2.99 + np.linspace(0.0, 40.0, 400)
    thirds = np.array([left_sum(ell / 3.0, ell) for ell in ells])
    assert thirds[0] >= 0.54
    assert np.all(np.diff(thirds) >= 0.0)
    z = np.linspace(0.0, 1.0 / 3.0, 200)
    assert np.all((1.0 - z) * (1.0 + 1.62 * z) >= 1.0)
    assert np.all(2.0 * (1.0 - z) * (1.0 - 0.5 * z) >= 1.0)
    assert 2.0 * (1.0 - 1.0 / 3.0) * (1.0 - 1.0 / 4.0) >= 1.0
    # A logarithm below 4 leaves at most 12 records, so x <= 5.
    assert np.log(4.0 * 14) > 4.0
    assert 5.0 * np.sqrt(1.2) / 40.0 <= 0.14
    assert 2.0 * 0.86 * (1.0 - 1.0 / 2.99) >= 1.0
    p = 0.5 * (gammaln(20.0) + gammaln(21.0)) - gammaln(20.5)
    assert 2.0 * p <= 1.0 / 80.0
