"""zCDP and Gaussian DP readings, against definitions, closed forms and OpenDP."""

from __future__ import annotations

import numpy as np
import opendp.prelude as opendp
import pytest
from mpmath import mp
from scipy.special import ndtr, ndtri, ndtri_exp

import dpbayes as dp
from dpbayes.auditing.composition import concentrated_rho, gaussian_mu, in_other_notions


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_randomised_response_has_its_closed_forms(epsilon: float) -> None:
    p = np.array([1.0, np.exp(epsilon)]) / (1.0 + np.exp(epsilon))
    rho, mu = concentrated_rho(np.log(p), np.log(p[::-1])), gaussian_mu(np.log(p), np.log(p[::-1]))
    orders = np.linspace(1.0001, 60, 200_000)
    moments = p[0] ** orders * p[1] ** (1 - orders) + p[1] ** orders * p[0] ** (1 - orders)
    direct = np.log(moments) / (orders - 1.0) / orders
    assert rho == pytest.approx(direct.max(), rel=1e-4)
    assert rho >= direct.max() * (1 - 1e-12)
    assert rho <= epsilon**2 / 2
    assert mu == pytest.approx(-2.0 * ndtri(p[0]), rel=1e-12)


def test_pure_privacy_implies_opendp_s_rho_and_ours_is_sharper() -> None:
    opendp.enable_features("contrib")
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    laplace = opendp.m.make_laplace(*space, scale=2.0)
    bound = opendp.c.make_pureDP_to_zCDP(laplace).map(1)
    assert bound == pytest.approx(0.5**2 / 2, abs=1e-9)
    pair = dp.audit_pair(dp.mechanism("geometric", 0.5), [60, 60], [61, 59], [1, 1])
    assert 0.8 * bound < concentrated_rho(pair.log_p, pair.log_q) <= bound


@pytest.mark.parametrize("seed", range(6))
def test_no_test_beats_the_gaussian_reading(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    mu = gaussian_mu(np.log(p), np.log(q))
    touching = []
    for chosen in range(1, 127):
        rejected = np.array([(chosen >> i) & 1 for i in range(7)], dtype=bool)
        alarm, missed = q[rejected].sum(), p[~rejected].sum()
        gap = missed - ndtr(-mu - ndtri(alarm))
        assert gap >= -1e-12
        touching.append(gap)
    assert min(touching) < 1e-9


def test_a_gaussian_pair_reads_as_itself() -> None:
    z, mu = np.linspace(-12, 12, 40_001), 0.7
    p = np.exp(-0.5 * (z - mu) ** 2)
    q = np.exp(-0.5 * z**2)
    p, q = p / p.sum(), q / q.sum()
    assert gaussian_mu(np.log(p), np.log(q)) == pytest.approx(mu, abs=2e-3)
    assert concentrated_rho(np.log(p), np.log(q)) == pytest.approx(mu**2 / 2, rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 40.0, 100.0, 900.0])
def test_one_coin_has_its_readings_at_any_epsilon(epsilon: float) -> None:
    with mp.workdps(500):
        heads = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        log_p = np.array([float(mp.log(heads)), float(mp.log(1 - heads))])
        kullback = float(mp.mpf(epsilon) * (2 * heads - 1))
        orders = [1 + mp.mpf(10) ** (i * 0.05) for i in range(-100, 81)]
        moments = [
            heads**a * (1 - heads) ** (1 - a) + (1 - heads) ** a * heads ** (1 - a) for a in orders
        ]
        best = max(mp.log(m) / (a - 1) / a for m, a in zip(moments, orders, strict=True))
    rho = concentrated_rho(log_p, log_p[::-1])
    assert rho >= max(float(best), kullback) * (1 - 1e-9 - 1e-15 / epsilon)
    rounding = 1e-7 + 1e-15 / epsilon  # the logarithms given are rounded
    assert rho <= min(epsilon**2 / 2, epsilon) * (1 + rounding)
    mu = gaussian_mu(log_p, log_p[::-1])
    assert mu == pytest.approx(-2.0 * ndtri_exp(log_p[1]), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 30.0, 50.0])
def test_the_readings_of_the_geometric_mechanism_do_not_depend_on_n(epsilon: float) -> None:
    geometric = dp.mechanism("geometric", epsilon)
    one, many = (in_other_notions(geometric, n, [1, 1]) for n in (1, 6))
    assert one == pytest.approx(many, rel=1e-6)
    assert 0 < many[0] <= min(epsilon**2 / 2, epsilon) * (1 + 1e-6)


def test_a_rare_outcome_is_seen_at_the_order_at_which_it_counts() -> None:
    log_p = np.array([-200.0, np.log1p(-np.exp(-200.0))])
    log_q = np.array([-200.01, np.log1p(-np.exp(-200.01))])
    orders = np.geomspace(2e4, 1e6, 4000)  # the rare outcome outweighs the rest there
    ratio = (np.logaddexp(0.0, -200.0 + 0.01 * (orders - 1.0))) / (orders - 1.0) / orders
    assert concentrated_rho(log_p, log_q) == pytest.approx(ratio.max(), rel=1e-3)


def test_an_impossible_outcome_has_no_finite_reading() -> None:
    p, q = np.log([0.5, 0.5]), np.array([0.0, -np.inf])
    assert concentrated_rho(p, q) == float("inf")
    assert gaussian_mu(p, q) == float("inf")
    assert gaussian_mu(q, p) == float("inf")


def test_the_gaussian_mechanism_keeps_its_rho() -> None:
    mechanism = dp.mechanism("discrete-gaussian", 1.0, delta=1e-2)
    rho, _ = in_other_notions(mechanism, 8, [1.0, 1.0])
    variance = mechanism.variance(2)
    assert rho <= 1.0 / variance
    assert rho > 0.9 / variance


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_no_private_mechanism_spends_more_than_the_geometric_one(epsilon: float, n: int) -> None:
    """The geometric mechanism is one coin at each pair, and every other comes from it."""
    p = np.array([1.0, np.exp(epsilon)]) / (1.0 + np.exp(epsilon))
    coin = concentrated_rho(np.log(p), np.log(p[::-1])), gaussian_mu(np.log(p), np.log(p[::-1]))
    geometric = in_other_notions(dp.mechanism("geometric", epsilon), n, [1, 1])
    assert geometric == pytest.approx(coin, rel=1e-9)
    for name in ("lapMech", "ilapMech", "expMech", "expMech-smooth", "permute-and-flip", "optimal"):
        found = in_other_notions(dp.mechanism(name, epsilon), n, [0.3, 2.0])
        assert found[0] <= coin[0] * (1 + 1e-9)
        assert found[1] <= coin[1] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_two_laws_of_bounded_ratio_come_from_one_coin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(6, 0.8), 2)
    epsilon = float(np.abs(np.log(laws[0] / laws[1])).max())
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    coin = np.array([[p, 1 - p], [1 - p, p]])
    drawn = np.linalg.solve(coin, laws)
    assert drawn.min() >= -1e-12
    assert drawn.sum(axis=1) == pytest.approx([1, 1])
