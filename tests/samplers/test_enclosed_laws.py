"""Laws in ball arithmetic against mpmath and against the laws in floats."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.samplers import enclosed_laws

flint = pytest.importorskip("flint")


def middles(balls) -> np.ndarray:
    assert max(float(ball.rad()) for ball in balls) < 1e-25
    return np.array([float(ball.mid()) for ball in balls])


@pytest.mark.parametrize("name", ["expMech", "expMech-local", "expMech-smooth"])
@pytest.mark.parametrize(("counts", "prior"), [((3, 6), (0.5, 2.0)), ((2, 0, 4), (1.0, 1e-6, 3.0))])
def test_enclosures_of_exponential_mechanisms(name, counts, prior):
    mechanism = dp.mechanism(name, 1.5)
    with flint.ctx.workprec(128):
        balls = mechanism.enclosed_law(flint, np.array(counts), np.array(prior))
        assert sum((ball.exp() for ball in balls), flint.arb(0)).contains(1)
        found = middles(balls)
    expected = mechanism.law(counts, prior).log_probabilities
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("nearest", [False, True])
@pytest.mark.parametrize("x", [0, 2, 5])
def test_enclosures_of_rounded_laplace_noise(nearest, x):
    rate, n, counts = Fraction(7, 10), 5, np.array([x, 5 - x])
    with flint.ctx.workprec(128):
        found = middles(enclosed_laws.rounded_laplace(flint, counts, rate, nearest))
    with mp.workdps(40):
        speed = mp.mpf(7) / 10

        def cdf(y: mp.mpf) -> mp.mpf:
            return mp.exp(speed * y) / 2 if y < 0 else 1 - mp.exp(-speed * y) / 2

        shift = mp.mpf(1) / 2 if nearest else mp.mpf(0)
        for r in range(n + 1):
            low = mp.mpf(0) if r == 0 else cdf(mp.mpf(r - x) - shift)
            high = mp.mpf(1) if r == n else cdf(mp.mpf(r - x + 1) - shift)
            assert found[r] == pytest.approx(float(mp.log(high - low)), rel=1e-13)


@pytest.mark.parametrize("x", [0, 1, 4])
def test_enclosures_of_the_truncated_geometric_mechanism(x):
    counts = np.array([x, 4 - x])
    with flint.ctx.workprec(128):
        found = middles(enclosed_laws.truncated_geometric(flint, counts, Fraction(3, 2)))
    q = np.exp(-1.5)
    z = np.arange(-400, 401)
    masses = np.bincount(np.clip(x + z, 0, 4), (1 - q) / (1 + q) * q ** np.abs(z), 5)
    np.testing.assert_allclose(np.exp(found), masses, rtol=1e-13)
