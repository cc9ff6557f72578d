"""The chain that breaks Theorem 4.1: 60 digits, every candidate listed, plain audits,
and why.
"""

from __future__ import annotations

from math import comb

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.theorem_chain import (
    Chain,
    at_kink,
    kink,
)

# k, n, epsilon, delta, b, candidates in gamma, and delta(epsilon) as B grows, to its
# digits.
LIMITS = [
    (4, 178, "0.784", "1e-6", "0.02", "n+1", "1.21693813140291593e-4"),
    (5, 130, "1", "1e-6", "0.03", "n+1", "2.0817256357362115525895567e-4"),
    (4, 300, "0.716", "1e-5", "0.001", "all", "5.34340192425553e-5"),
]


def sixty_digits(
    k: int, n: int, epsilon: str, delta: str, b: str, candidates: str
) -> mpmath.mpf:
    """Return delta(epsilon) of x_1 = n against n - 1 as B grows, written as plainly as
    can be.
    """
    with mpmath.workdps(60):
        e, prior = mpmath.mpf(epsilon), mpmath.mpf(b)
        number = n + 1 if candidates == "n+1" else mpmath.binomial(n + k - 1, k - 1)
        gamma = mpmath.log(1 - e / (2 * mpmath.log(mpmath.mpf(delta) / (2 * number))))

        def distance(x: int, y: int) -> mpmath.mpf:
            ends = mpmath.loggamma(prior + x) + mpmath.loggamma(prior + y)
            middle = mpmath.loggamma(prior + mpmath.mpf(x + y) / 2)
            return mpmath.sqrt(-mpmath.expm1(middle - ends / 2))

        local = [
            max(distance(x, y) for y in (x - 1, x + 1) if 0 <= y <= n)
            for x in range(n + 1)
        ]

        def law(x: int) -> list[mpmath.mpf]:
            smooth = max(
                local[y] * mpmath.exp(-gamma * abs(x - y)) for y in range(n + 1)
            )
            weights = [
                mpmath.binomial(n - r + k - 2, k - 2)
                * mpmath.exp(-e * distance(x, r) / (2 * smooth))
                for r in range(n + 1)
            ]
            return [weight / mpmath.fsum(weights) for weight in weights]

        pairs = zip(law(n), law(n - 1), strict=True)
        return mpmath.fsum(max(p - mpmath.exp(e) * q, mpmath.mpf(0)) for p, q in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("case", LIMITS, ids=[f"k{c[0]}-n{c[1]}" for c in LIMITS])
def test_the_limit_breaks_the_promise_to_all_digits(case: tuple[object, ...]) -> None:
    k, n, epsilon, delta, b, candidates, digits = case
    exact = sixty_digits(k, n, epsilon, delta, b, candidates)
    assert mpmath.nstr(exact, 15) == mpmath.nstr(mpmath.mpf(digits), 15)
    if len(digits) > 22:
        assert abs(exact / mpmath.mpf(digits) - 1) < 1e-17
    # ln(2 |R| / delta) = ln(2 (n + 1) / delta') for delta' = delta (n + 1) / |R|.
    share = 1.0 if candidates == "n+1" else (n + 1) / dp.number_of_candidates(n, k)
    found = Chain(k, n, float(epsilon), float(delta) * share, float(b)).audit()
    assert found.ratio * float(delta) * share == pytest.approx(float(exact), rel=1e-9)
    assert found.pair == (n, n - 1)
    assert exact > 2.0 * float(delta)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 40), (3, 12)])
@pytest.mark.parametrize("epsilon", [0.7, 2.0, 20.0])
def test_laws_tend_to_the_chain(k: int, n: int, epsilon: float) -> None:
    audit = dp.audit(
        dp.mechanism("expMech-delta", epsilon, delta=0.3), n, [0.01] + [1e12] * (k - 1)
    )
    chain = Chain(k, n, epsilon, 0.3, 0.01).audit()
    assert chain.epsilon_ratio * epsilon == pytest.approx(audit.epsilon, rel=1e-5)
    assert chain.ratio * 0.3 == pytest.approx(audit.delta(epsilon), rel=1e-5, abs=1e-12)


def test_at_the_kink_both_ways_to_the_sensitivity_meet() -> None:
    plan = Chain(4, 60, 1.0, 1e-6, 0.1)
    chain = Chain(4, 60, kink(plan), 1e-6, 0.1)
    smooth, local = chain.smooth(), chain.local()
    assert smooth[-1] == pytest.approx(local[-1], rel=1e-12)
    assert np.log(smooth[-2] / smooth[-1]) == pytest.approx(chain.gamma, rel=1e-9)


# Records and -log10 delta from so many categories on; eight records from EIGHT_FROM on.
FEW = {
    4: (140, 5),
    5: (80, 5),
    6: (44, 4),
    7: (30, 3),
    8: (24, 3),
    9: (22, 3),
    10: (20, 3),
    11: (18, 3),
    12: (16, 3),
    14: (14, 3),
}
EIGHT_FROM = 25


def broken_at(k: int) -> Chain:
    """The chains of thm-delta-false-every."""
    if k < EIGHT_FROM:
        n, digits = FEW[max(least for least in FEW if least <= k)]
        return at_kink(k, n, 10.0**-digits, 0.02)
    last = float(dp.hellinger([7.0, 1e12], [8.0, 1e12]))
    return at_kink(
        k, 8, 18.0 * np.exp(-0.8 * np.log(k) / np.expm1(-np.log(last) / 7.0)), 1e-12
    )


@pytest.mark.parametrize("k", [*range(4, EIGHT_FROM + 6), 40, 100, 1000, 10**6, 10**9])
def test_the_promise_is_broken_at_every_number_of_categories_from_four_on(
    k: int,
) -> None:
    chain = broken_at(k)
    audit = chain.audit()
    assert audit.ratio > 1.18
    assert audit.pair == (chain.n, chain.n - 1)
    assert k < EIGHT_FROM or abs(chain.epsilon / np.log(k) - 1.6) < 1e-5


class EightRecords:
    """The limit B, then b without bound in `thm-delta-false-every`, written out with
    mpmath.
    """

    def __init__(self) -> None:
        def distance(x: int, r: int) -> mpmath.mpf:
            if 0 in (x, r):
                return mpmath.mpf(x != r)
            roots = mpmath.sqrt(mpmath.gamma(x) * mpmath.gamma(r))
            return mpmath.sqrt(1 - mpmath.gamma(mpmath.mpf(x + r) / 2) / roots)

        self.steps = [distance(j, j + 1) for j in range(8)]
        self.s = self.steps[7]
        self.gamma = -mpmath.log(self.s) / 7
        self.own = [distance(8, 8 - j) / self.s for j in range(9)]
        self.next = [
            distance(7, 8 - j) * mpmath.exp(-self.gamma) / self.s for j in range(9)
        ]

    def bound(self, k: int) -> tuple[float, float]:
        """Return L - epsilon and the bound of ln(delta(epsilon)/delta) at epsilon = 1.6
        ln k.
        """
        h, gamma = 0.8 * np.log(k), float(self.gamma)
        ways = np.array([float(comb(j + k - 2, k - 2)) for j in range(9)])
        far = (np.array(one, dtype=np.float64) for one in (self.own, self.next))
        one, other = (float(np.log(ways @ np.exp(-h * c))) for c in far)
        excess = h * np.exp(-gamma) + other - one - 2.0 * h
        log_delta = np.log(18.0) - h / np.expm1(gamma)
        assert log_delta < np.log(0.01)
        return excess, np.log(-np.expm1(-excess)) - one - log_delta


def test_eight_records_break_the_promise_from_25_to_a_thousand_categories() -> None:
    limit = EightRecords()
    found = [limit.bound(k) for k in range(EIGHT_FROM, 1001)]
    assert min(excess for excess, _ in found) > 0.05
    assert min(room for _, room in found) > np.log(1.18)
    for k in (30, 300):
        assert abs(np.log(broken_at(k).audit().ratio) - found[k - EIGHT_FROM][1]) < 2e-3


def test_eight_records_break_the_promise_from_a_thousand_categories_on() -> None:
    """The constants of the estimate in the proof, each at 15 digits."""
    limit = EightRecords()
    s, gamma = float(limit.s), float(limit.gamma)
    far = np.array([float(c) for c in limit.own])
    powers = 8 - np.arange(8) - 0.8 * (far[8] - far[:8])
    assert powers.min() == powers[7]
    assert 0.485 < powers[7] < 0.486
    slope = 0.8 * (np.exp(-gamma) - np.expm1(-gamma) / s - 2.0)
    assert slope > 0.506
    log_delta_slope = 0.8 / np.expm1(gamma) + 0.8 / s - 8.0
    assert log_delta_slope > 0.41
    falling = [np.prod(np.arange(j + 1.0, 9.0)) for j in range(8)]  # 8! / j!
    for k in (1000.0, 10_000.0, 1e6):
        sigma = float(np.sum(falling * k**-powers))
        excess = slope * np.log(k) - np.log1p(sigma)
        room = log_delta_slope * np.log(k) + np.log(40320 / 18) - 20 / k
        room += np.log(-np.expm1(-excess)) - np.log1p(sigma)
        assert excess > 2.6
        assert room > 9.5
        exact = limit.bound(int(k))
        assert exact[0] >= excess
        assert exact[1] >= room
