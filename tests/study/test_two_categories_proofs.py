"""Each inequality in the proofs of the appendix on two categories, checked on plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import gammaln

from tests.study.test_two_categories import Plan

ROOM = 1.0 + 1e-7  # for rounding


@dataclass(frozen=True)
class Falling:
    """Neighbours x and x' = x + 1 of a plan with S(x') < S(x)."""

    plan: Plan
    x: int

    @property
    def h(self) -> float:
        return 0.5 * self.plan.epsilon

    @property
    def kappa(self) -> float:
        return float(self.plan.smooth[self.x] / self.plan.smooth[self.x + 1] - 1.0)

    @property
    def scores(self) -> np.ndarray:
        """u_r = epsilon H_x(r) / 2 S(x)."""
        return self.h / self.plan.smooth[self.x] * self.plan.distances[self.x]

    @property
    def constants(self) -> tuple[float, float]:
        """Z and Z'."""
        there = self.h / self.plan.smooth[self.x + 1] * self.plan.distances[self.x + 1]
        return float(np.exp(-self.scores).sum()), float(np.exp(-there).sum())

    @property
    def steps(self) -> np.ndarray:
        return self.plan.distances.diagonal(1)

    @property
    def shift(self) -> int | None:
        """The largest whole M <= x with b + x - M >= 1 / 2 kappa, if there is one."""
        most = int(np.floor(self.plan.prior[0] + self.x - 0.5 / self.kappa))
        return min(most, self.x) if most >= 0 else None

    @property
    def full(self) -> bool:
        """Whether the sensitivity falls by the full factor e^gamma."""
        return 1.0 + self.kappa >= gamma(self.plan) / ROOM


def gamma(plan: Plan) -> float:
    """Return e^gamma."""
    return 1.0 + plan.epsilon / (2.0 * plan.ell)


def falling(plan: Plan) -> Iterator[Falling]:
    below = plan.smooth[1:] < plan.smooth[:-1] * (1.0 - 1e-9)
    return (Falling(plan, int(x)) for x in np.flatnonzero(below))


def weak(seed: int, number: int, alike: bool) -> Iterator[Plan]:
    """Give plans with b <= 1 and epsilon <= ell / 20, two in three next to a kink."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        n, b = int(np.exp(rng.uniform(1.4, 6.2))), 10.0 ** rng.uniform(-6, 0)
        delta = 0.5 * 10.0 ** (-rng.choice([6.0, 12.0, 60.0]) * rng.random())
        other = b if alike else b + n * 10.0 ** (rng.uniform(0, 4) * (i % 2))
        plan = Plan(n, 1.0, delta if alike else delta / 2.0, (b, other))
        most = plan.ell / 20.0
        epsilon = most * 10.0 ** (-4.0 * rng.random() ** 2)
        if i % 3:
            epsilon = plan.kink() * np.exp(0.1 * rng.normal())
        yield replace(plan, epsilon=float(np.clip(epsilon, 1e-3, most)))


def strong(seed: int, number: int) -> Iterator[Plan]:
    """Give plans with b >= 20 and s_0 <= e^gamma s_1, equal parameters every other."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        n, b = (
            int(np.exp(rng.uniform(1.4, 5.8))),
            20.0 * 10.0 ** (4 * rng.random() ** 2),
        )
        alike = bool(i % 2)
        delta = 10.0 ** (-rng.choice([0.0, 3.0, 60.0]) * rng.random()) / (4 - 2 * alike)
        other = b if alike else b + n * 10.0 ** (3 * rng.random() * (i % 4 == 0))
        plan = Plan(n, 1.0, delta, (b, other))
        steps = plan.distances.diagonal(1)
        least = 2.0 * plan.ell * (steps[0] / steps[1] - 1.0) * (1.0 + 1e-9)
        assert 0.0 < least <= plan.ell / b  # "epsilon >= l/b is enough"
        more = 10.0 ** (rng.choice([0.0, 1.0, 3.0]) * rng.random())
        yield replace(plan, epsilon=float(least * more))


def left_sum(high: float, ell: float) -> float:
    """A(U): the integral of (1 - u/l) e^(-u) from 0 to min(U, l)."""
    v = min(high, ell)
    return float(-np.expm1(-v) - (1.0 - (1.0 + v) * np.exp(-v)) / ell)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False])
def test_the_sum_that_has_to_be_large_enough(alike: bool) -> None:
    """lem-delta-two-sum, and with it thm-delta-two-equal and -large."""
    rng, seen = np.random.default_rng(8), 0
    for plan in weak(8, 60, alike):
        plan = replace(plan, epsilon=min(plan.epsilon * 10 ** rng.uniform(0, 2), 60.0))
        steps, h, ell = plan.distances.diagonal(1), plan.epsilon / 2, plan.ell
        for x in range(1, plan.n // 2 if alike else plan.n):
            if plan.smooth[x - 1] <= plan.smooth[x] * ROOM:
                continue
            assert x == 1 or steps[x - 2] >= steps[x - 1] * (1 - 1e-9)
            seen += 1
            u = h / plan.smooth[x - 1] * plan.distances[x]
            tau, top = h / ell * np.exp(-1 - ell), u[0]
            f = h * (1 - np.minimum(u, ell + 1) / ell) * np.exp(-np.minimum(u, ell + 1))
            g = (tau + f[:x])[::-1]
            assert np.all(g >= -1e-15)
            assert np.all(np.diff(g) <= 1e-12)
            least = -np.expm1(-top) - 2 / ell * (1 - (1 + top) * np.exp(-top))
            assert g.sum() >= least - (h + tau) / 2 - 1e-9
            others = np.delete(h * (1 - u / ell) * np.exp(-u), x).sum()
            if alike or plan.epsilon >= 3 / ell:
                assert 2 * np.sinh(h) + others >= -np.expm1(-top) - 1e-9
    assert seen > 1000


@pytest.mark.slow
def test_shift_of_both_sides_for_every_prior() -> None:
    """lem-delta-two-fall, beyond the range of the theorems too."""
    rng, seen = np.random.default_rng(1), 0
    for plan in weak(1, 60, True):
        prior = (plan.prior[0], 10.0 ** rng.uniform(-4, 4))
        epsilon = plan.epsilon * 10.0 ** rng.uniform(0, 1)
        for case in falling(replace(plan, prior=prior, epsilon=epsilon)):
            if case.shift is not None:
                seen += 1
                here, there = case.constants
                allowed = np.exp(-case.scores[case.x - case.shift])
                assert there <= here + allowed + 1e-8 * here
    assert seen > 1000


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False])
def test_every_case_of_small_prior_parameters(alike: bool) -> None:
    """thm-delta-two-uniform and -unlike: lengths, cases 1 to 4, and what they show."""
    seen: Counter[str] = Counter()
    for plan in weak(2, 150, alike):
        for case in falling(plan):
            x, h, u, steps = case.x, case.h, case.scores, case.steps
            (here, there), far = case.constants, case.kappa * case.scores[0]
            y = 0.0 if alike else float(np.exp(-h * (plan.n - x)))
            gain = np.log(there / here)
            assert x >= 1
            assert not alike or 2 * (x + 1) <= plan.n
            limit = 0.938**2 if x == 1 else 2.52 / (1 + x)
            assert steps[x] ** 2 <= steps[0] ** 2 * limit
            assert 2.0 * (plan.n + 1.0) / plan.delta >= 4.0 * (2.0 * x + 3.0)
            assert case.full or x >= 66
            if case.shift is None and case.full:
                seen["1"] += 1
                assert 2.0 * h * steps[x] / plan.smooth[x + 1] + far <= 2.0 * h
            elif case.shift is None:
                seen["2"] += 1
                assert there <= here + 1.004 - y
                assert h * here >= (1.68 if alike else 1.84 - y)
                assert far <= 0.18 * h
                assert gain <= (0.6 if alike else 0.55) * h
            else:
                near = np.exp(-u[x - case.shift])
                seen["3" if far <= 0.36 * h else "4"] += 1
                assert h * here >= (1.58 if alike else 1.79 - y)
                assert there <= here + near - y + 1e-8 * here
                assert far <= 0.36 * h or 0.64 * near <= 1.0 - far / h
            assert gain <= min(h, h - far)
            assert case.kappa <= 0.961 * plan.smooth[x]
    assert all(seen[case] > 20 for case in "1234"), seen


@pytest.mark.slow
def test_every_step_of_large_prior_parameters() -> None:
    """thm-delta-two-strong and lem-delta-two-convex."""
    seen: Counter[bool] = Counter()
    for plan in strong(3, 120):
        alike, ell, n = plan.prior[0] == plan.prior[1], plan.ell, plan.n
        assert ell >= 2.99
        assert np.allclose(plan.smooth, plan.local, rtol=1e-9)
        assert np.all(np.diff(np.log(plan.distances.diagonal(1)), 2) >= -1e-9)
        for case in falling(plan):
            x, h, u, steps = case.x, case.h, case.scores, case.steps
            (here, there), big = case.constants, plan.prior[0] + case.x
            seen[alike] += 1
            assert x >= 1
            assert case.kappa <= 0.5 / (big - 1.0) * ROOM
            assert steps[x - 1] ** 2 >= 0.12 / big
            eta = case.kappa * u[0] / h
            assert eta <= case.kappa / steps[x - 1] * ROOM <= ROOM / 3.0
            assert eta <= u[0] / ell * ROOM
            ahead = plan.distances[x + 1, x + 2 :] / plan.distances[x, x + 1 : n]
            assert np.all((1 + case.kappa) * ahead >= 1.0 - 1e-7)
            assert there <= here + 1.0 - np.exp(-u[-1]) + 1e-7 * here
            area, rest = left_sum(u[0], ell), n - 2 * x if alike else n - x
            y = float(np.exp(-h * rest))
            assert u[-1] <= h * rest + (u[0] if alike else 0.0) + 1e-7
            assert h * here >= area * (1.0 + y * alike) + 1.0 - y - 1e-9
            assert (1.0 - eta) * (1.0 + area) >= 1.0
            if alike:
                assert 1.0 - np.exp(-u[0]) <= 2.0 * (1.0 - eta) * area + 1e-12
            assert np.log(there / here) <= h * (1.0 - eta) * ROOM
    assert min(seen[True], seen[False]) > 50


def test_lengths_of_steps() -> None:
    """What is used of p: its integral, y p(y) growing to 1/8, ln p convex, and p(1)."""
    y = np.exp(np.linspace(np.log(1e-3), np.log(30.0), 400))
    p = 0.5 * (gammaln(y) + gammaln(y + 1.0)) - gammaln(y + 0.5)

    def integral(at: float) -> float:
        value = quad(lambda s: np.exp(-at * s) * np.tanh(s / 4) / (2 * s), 0, np.inf)
        return float(value[0])

    for at in (0, 150, 300):
        assert integral(y[at]) == pytest.approx(p[at], rel=1e-6)
    assert np.all(np.diff(y * p) > 0.0)
    assert np.all(y * p < 0.125)
    assert 0.12078 < float(-np.log(np.sqrt(np.pi) / 2.0)) < 0.12079
    middle = 0.5 * (y[:-1] + y[1:])
    at_middle = 0.5 * (gammaln(middle) + gammaln(middle + 1.0)) - gammaln(middle + 0.5)
    assert np.all(2.0 * np.log(at_middle) <= np.log(p[:-1]) + np.log(p[1:]) + 1e-9)


def test_steps_are_log_convex_in_thirty_digits() -> None:
    """phi phi'' >= 4/3 phi'^2, hence phi'' (1 - e^-phi) >= phi'^2."""
    with mp.workdps(30):

        def p(y: mpf) -> mpf:
            return (mp.loggamma(y) + mp.loggamma(y + 1)) / 2 - mp.loggamma(y + mpf(0.5))

        for b, a in ((1, 1), (20, 4000), (1000, 1000), (50, 70)):
            for z in (0, 1, 7.5):
                v, first, second = (
                    mp.diff(lambda y, b=b, a=a: p(b + y) + p(a + 30 - y), z, i)
                    for i in range(3)
                )
                assert v * second >= mpf(4) / 3 * first**2
                assert second * (1 - mp.exp(-v)) >= first**2


def test_numbers_of_small_prior_parameters() -> None:
    """The least and largest values that the cases rest on, worked out once more."""
    e, x = np.exp, np.arange(2, 21)
    steep = e(x / 40) * (1.0 + 2.0 * np.sqrt(2.52 / (1.0 + x)))
    ends = e(1 / 40) * 2.876, steep.max(), e(0.5) * (1 + 2 * np.sqrt(2.52 / 21))
    assert max(ends) < 2.98
    near = np.arange(2, 66)
    assert np.all(2.52 * e(near / 20) < 1 + near)
    assert 2.52 * e(66 / 20) > 67
    assert 0.5 * np.log(67 / 2.52) > 1.64
    assert 2.0 * (1 - 1 / 6.29) > 1.68
    assert 1.004 / 1.84 < 0.55
    assert 1.004 / 1.68 <= 0.6
    assert 2.0 * (1 - e(-3) - 0.2 * (1 - 4 * e(-3))) > 1.58
    assert 5.09 * np.expm1(0.468) > 3.0
    for eta, bound, height in ((0.36, 0.07, 0.25), (0.5, 1.8, 0.91)):
        far = 192 * eta**2 * np.exp(np.linspace(0.0, 8.0, 200))
        most = (1 - 1 / (9.6 * eta**2)) * far - 1
        assert np.all(0.12 * most**2 / far >= bound)
        assert np.sqrt(-np.expm1(-bound)) >= height
    assert e(-0.36 * 5.09 * 0.25) / 1.58 <= 0.41
    assert e(-0.455 * 5.09) / 1.58 <= 0.07
    assert 0.64 * e(-0.81 * 5.09) <= 0.02
    assert np.sqrt(20 / 0.12) / (2 * 19) < 0.4
    assert e(1 + 2 / 40) / 0.12 <= 23.9
    kappa = np.exp(-np.linspace(np.log(40.0), 20.0, 200))
    large = 0.1106 / kappa**2
    assert np.all(1.974 * kappa * (large - 1) > np.log(23.9 * large))
    assert np.sqrt(0.1106 / 0.12) < 0.961


def test_numbers_of_large_prior_parameters() -> None:
    assert 2.99 < np.log(20.0) < np.log(24.0)
    big = np.arange(21.0, 2000.0)
    assert np.all(np.sqrt(big / 0.12) / (2.0 * (big - 1.0)) <= 1.0 / 3.0)
    v = 0.1207 / (big - 1.0)
    assert np.all(v * (1.0 - 0.5 * v) >= 0.12 / big)
    thirds = np.array([left_sum(ell / 3.0, ell) for ell in np.linspace(2.99, 43, 400)])
    assert thirds[0] >= 0.54
    assert np.all(np.diff(thirds) >= 0.0)
    z = np.linspace(0.0, 1.0 / 3.0, 200)
    assert np.all((1.0 - z) * (1.0 + 1.62 * z) >= 1.0)
    assert np.all(2.0 * (1.0 - z) * (1.0 - 0.5 * z) >= 1.0)
    assert 5.0 * np.sqrt(1.2) / 40.0 <= 0.14
    assert 2.0 * 0.86 * (1.0 - 1.0 / 2.99) >= 1.0
