"""The tail of a sum of Laplace variables by one integral, against closed forms and mpmath."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.queries import _contour
from dpbayes.queries._contour import SMALLEST_RATIO, Factors, log_tail_and_hazard, saddle

weights_below_one = st.lists(st.floats(1e-3, 0.98), min_size=0, max_size=5)


def distinct_tail(v: list[float], x: float) -> tuple[mp.mpf, mp.mpf]:
    """Return tail and density for distinct weights, by partial fractions with 60 digits.

    1 / prod(1 - v_i^2 s^2) = sum c_i / (1 - v_i^2 s^2), and each summand is one Laplace variable.
    """
    with mp.workdps(60):
        exact = [mp.mpf(w) for w in v]
        tail = density = mp.mpf(0)
        for i, w in enumerate(exact):
            share = mp.mpf(1)
            for j, other in enumerate(exact):
                if j != i:
                    share /= 1 - (other / w) ** 2
            tail += share * mp.e ** (-mp.mpf(x) / w) / 2
            density += share * mp.e ** (-mp.mpf(x) / w) / (2 * w)
        return tail, density


def test_one_weight_is_the_laplace_law() -> None:
    for x in (0.0, 0.3, 5.0, 200.0, 1e5):
        log_tail, hazard = log_tail_and_hazard(np.array([1.0]), x)
        assert log_tail == pytest.approx(-x - math.log(2.0), rel=1e-12, abs=1e-12)
        assert hazard == pytest.approx(1.0, rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(weights_below_one, st.floats(0.0, 60.0))
def test_distinct_weights_agree_with_partial_fractions(rest: list[float], x: float) -> None:
    v = [1.0]
    for w in sorted(rest, reverse=True):  # partial fractions need weights that differ
        if w < 0.97 * v[-1]:
            v.append(w)
    log_tail, hazard = log_tail_and_hazard(np.array(v), x)
    tail, density = distinct_tail(v, x)
    assert log_tail == pytest.approx(float(mp.log(tail)), rel=1e-10, abs=1e-10)
    assert hazard == pytest.approx(float(density / tail), rel=1e-9)


@pytest.mark.parametrize("m", [2, 5, 40, 400])
@pytest.mark.parametrize("x", [0.0, 1.0, 30.0])
def test_equal_weights_agree_with_a_mixture_of_gamma_laws(m: int, x: float) -> None:
    """|Z| is a gamma variable of shape m - j with probability C(m-1+j, j) / 2^(m-1+j)."""
    with mp.workdps(40):
        tail = mp.mpf(0)
        for j in range(m):
            share = mp.binomial(m - 1 + j, j) / mp.mpf(2) ** (m + j)
            tail += share * mp.gammainc(m - j, x, regularized=True)
        expected = float(mp.log(tail))
    log_tail, _ = log_tail_and_hazard(np.ones(m), x)
    assert log_tail == pytest.approx(expected, rel=1e-10, abs=1e-10)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(SMALLEST_RATIO, 1.0), max_size=8), st.floats(0.0, 1e6))
def test_the_saddle_solves_its_equation(rest: list[float], x: float) -> None:
    v = np.array([1.0, *rest])
    c, gap = saddle(v, x)
    assert 0.0 < c < 1.0
    assert 0.0 < gap < 1.0
    assert c + gap == pytest.approx(1.0, rel=1e-12)
    with mp.workdps(50):
        s = 1 - mp.mpf(gap) if c > 0.5 else mp.mpf(c)
        slope = sum(2 * mp.mpf(w) ** 2 * s / (1 - mp.mpf(w) ** 2 * s * s) for w in v)
        assert float(slope / (x + 1 / s)) == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(SMALLEST_RATIO, 1.0), max_size=12))
def test_the_tail_falls_and_is_one_half_at_zero(rest: list[float]) -> None:
    v = np.array([1.0, *rest])
    logs = [log_tail_and_hazard(v, x)[0] for x in (0.0, 0.5, 2.0, 9.0, 40.0)]
    assert logs[0] == pytest.approx(-math.log(2.0), abs=1e-9)
    assert all(after < before for before, after in itertools.pairwise(logs))


@pytest.mark.parametrize("kind", ["spread", "equal", "one above many", "uniform"])
def test_power_sums_stand_for_the_product(kind: str) -> None:
    rng = np.random.default_rng(8)
    r = {
        "spread": 10.0 ** rng.uniform(-12.0, 0.0, 700),
        "equal": np.full(300, 0.01),
        "one above many": np.append(1.0, rng.uniform(1e-3, 2e-3, 400)),
        "uniform": rng.uniform(0.0, 1.0, 200),
    }[kind]
    z = np.array([0.3 + 0.1j, 2.0j, -0.5 + 5.0j, 20.0 - 3.0j])
    for node in z:
        large, logs = Factors(r).split(np.array([node]))
        with mp.workdps(40):
            exact = mp.fsum(mp.log(1 + mp.mpf(float(v)) * mp.mpc(node)) for v in r)
            ours = mp.fsum(mp.log(1 + mp.mpf(float(v)) * mp.mpc(node)) for v in large) + logs[0]
        assert abs(exact - ours) <= 1e-14 * (1.0 + abs(exact))
        assert large.size == np.count_nonzero(r * abs(node) >= 0.25)


def test_few_factors_are_multiplied_out() -> None:
    large, logs = Factors(np.full(5, 1e-9)).split(np.array([1.0 + 0j]))
    assert large.size == 5
    assert logs[0] == 0.0


def test_splits_at_the_ends_of_pieces_sum_all_before_them() -> None:
    factors = Factors(np.linspace(1e-3, 1.0, 1024))
    for small in (0, 1, 255, 256, 257, 512, 1023, 1024):
        # The radius of the split lies halfway between two numbers.
        edge = (np.append(factors.r, 1.001)[small] + np.append(0.0, factors.r)[small]) / 2.0
        node = 0.25j / edge
        large, logs = factors.split(np.array([node]))
        assert large.size == 1024 - small
        with mp.workdps(30):
            exact = mp.fsum(mp.log(1 + mp.mpf(float(v)) * mp.mpc(node)) for v in factors.r[:small])
            assert abs(exact - mp.mpc(complex(logs[0]))) <= 1e-14 * (1.0 + abs(exact))


@pytest.mark.parametrize("kind", ["spread", "two clusters", "uniform", "equal"])
def test_one_weight_for_its_neighbours_changes_no_tail(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    v = {
        "spread": 10.0 ** rng.uniform(-6.0, 0.0, 3000),
        "two clusters": np.append(np.full(1501, 0.03), rng.uniform(0.5, 1.0, 1502)),
        "uniform": rng.uniform(0.0, 1.0, 5000) + 1e-9,
        "equal": np.ones(1000),
    }[kind]
    v = v / v.max()
    points = math.sqrt(2.0 * float(v @ v)) * np.array([0.0, 0.01, 1.0, 3.0, 30.0])
    quick = [log_tail_and_hazard(v, float(x)) for x in points]
    monkeypatch.setattr(_contour, "_STRIDE", v.size)
    slow = [log_tail_and_hazard(v, float(x)) for x in points]
    np.testing.assert_allclose(quick, slow, rtol=5e-14)


def test_a_reach_that_neighbours_misjudge_is_found_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    v = np.linspace(0.2, 1.0, 2000)
    expected = log_tail_and_hazard(v, 60.0)
    searches, original = [0], _contour._first_beyond

    def wrong_first(fall: object) -> float | None:
        searches[0] += 1
        found = original(fall)
        return 0.5 * found if searches[0] == 1 else found

    monkeypatch.setattr(_contour, "_first_beyond", wrong_first)
    assert log_tail_and_hazard(v, 60.0) == pytest.approx(expected, rel=1e-14)
    assert searches[0] == 2
