"""Exact draws of candidates: enclosures against the law, borders, the library they need."""

from __future__ import annotations

import builtins

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.tables import release
from dpbayes.samplers import candidates


def _true_rate(counts, prior):
    # epsilon / 4 over the largest e^-d LS, over all data sets: epsilon 2, smoothing rate 1, k = 3.
    rows = [tuple(map(int, row)) for row in dp.compositions(int(counts.sum()), len(counts))]
    start = tuple(map(int, counts))

    def apart(x, y):
        return sum(abs(a - b) for a, b in zip(x, y, strict=True)) // 2

    def distance(x, y):
        log = mpmath.mpf(0)
        for a, p, q in zip(map(mpmath.mpf, prior), x, y, strict=True):
            log += mpmath.loggamma(a + mpmath.mpf(p + q) / 2)
            log -= (mpmath.loggamma(a + p) + mpmath.loggamma(a + q)) / 2
        return mpmath.sqrt(-mpmath.expm1(log))

    largest = max(
        distance(x, y) * mpmath.exp(-apart(start, x))
        for x in rows
        for y in rows
        if apart(x, y) == 1
    )
    return mpmath.mpf(2) / 4 / largest


def test_ladder_of_enclosures_against_the_law():
    flint = pytest.importorskip("flint")
    counts, prior = np.array([2, 0, 5]), np.array([0.3, 1.0, 2.5])
    mechanism = dp.mechanism("expMech-smooth", 2.0)
    rate = mechanism.exact_rate(counts, prior)
    assert float(rate) == pytest.approx(mechanism.rate(counts, prior), rel=1e-8)
    with mpmath.workdps(200):
        # Never above the true rate, or the release would spend more than its promise.
        below = 1 - mpmath.mpf(rate.numerator) / rate.denominator / _true_rate(counts, prior)
        assert 0 < below < 1e-60
    rows = dp.compositions(7, 3)
    with flint.ctx.workprec(128):
        ladder = candidates._cumulative(flint, rows, counts, prior, rate)
        shares = np.diff([0.0, *(float((step / ladder[-1]).mid()) for step in ladder)])
        widths = [float(step.rad()) for step in ladder]
    np.testing.assert_allclose(shares, mechanism.law(counts, prior).probabilities, rtol=1e-9)
    assert max(widths) < 1e-30


def test_a_number_on_a_boundary_asks_for_more_bits():
    flint = pytest.importorskip("flint")
    counts, prior = np.array([3, 4, 0]), np.ones(3)
    rate = dp.mechanism("expMech", 1.0).exact_rate(counts, prior)
    with flint.ctx.workprec(256):
        ladder = candidates._cumulative(flint, dp.compositions(7, 3), counts, prior, rate)
        share = ladder[2] / ladder[-1]
        exact = int((share * flint.arb(2) ** 200).floor().unique_fmpz())

    class Boundary:
        """The first 192 bits of the border between outputs 2 and 3, then all ones or all zeros."""

        def __init__(self, then):
            self.then, self.asked = then, 0

        def bits(self, count):
            self.asked += count
            if self.asked <= 192:
                return (exact >> (200 - self.asked)) & ((1 << count) - 1)
            return self.then & ((1 << count) - 1)

    low, high = Boundary(0), Boundary(-1)
    first = candidates.draw_candidate(low, counts, prior, rate)
    second = candidates.draw_candidate(high, counts, prior, rate)
    assert low.asked > 192
    rows = dp.compositions(7, 3).tolist()
    assert first.tolist() == rows[2]
    assert second.tolist() == rows[3]


def test_a_missing_library_is_named(monkeypatch):
    original = builtins.__import__

    def without_flint(name, *arguments, **options):
        if name == "flint":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_flint)
    with pytest.raises(ImportError, match=r"install python-flint.*dpbayes\[release\]"):
        release(dp.mechanism("expMech", 1.0), [3, 4], [1, 1])
    assert release(dp.mechanism("lattice", 1.0), [3, 4], [1, 1]).counts.sum() == 7
