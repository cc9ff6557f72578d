"""Many releases against dp_accounting and products written out; rho and mu against
definitions.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
import opendp.prelude as opendp
import pytest
from mpmath import mp
from scipy.special import ndtr, ndtri, ndtri_exp

import dpbayes as dp
from dpbayes.auditing.composition import (
    LossPair,
    advanced_composition,
    basic_composition,
    composed_epsilon,
    concentrated_rho,
    dominating_pair,
    gaussian_mu,
    in_other_notions,
    worst_pair,
)

GRID = 1e-4
PAIR = LossPair(np.log([0.5, 0.5]), np.log([0.4, 0.6]))


@pytest.mark.parametrize("m", [1, 3])
def test_releases_against_the_product_written_out(m):
    pair = worst_pair(dp.audit(dp.mechanism("expMech-smooth", 1.0), 8, [1, 1]))
    p, q = (
        np.sum(np.meshgrid(*[one] * m), axis=0).ravel()
        for one in (pair.log_p, pair.log_q)
    )
    written, mirrored = LossPair(p, q), LossPair(q, p)
    for delta in (1e-6, 1e-3):
        epsilon = composed_epsilon(pair, [m], delta, GRID)[0]
        assert max(written.delta(epsilon), mirrored.delta(epsilon)) <= delta * (
            1 + 1e-9
        )
        lower = epsilon - 2 * m * GRID
        assert max(written.delta(lower), mirrored.delta(lower)) >= delta * (1 - 1e-2)


def test_both_directions_count_where_they_differ():
    # Only one of the two outcomes that are rarer under P than under Q is rare.
    p, q = np.log([0.5, 0.499, 0.001]), np.log([0.3, 0.65, 0.05])
    for pair in (LossPair(p, q), LossPair(q, p)):
        assert pair.largest_loss() == pytest.approx(np.log(50.0), rel=1e-12)
        found = composed_epsilon(pair, [1, 2], 1e-3)
        assert found[0] == pytest.approx(np.log((0.05 - 1e-3) / 0.001), abs=2 * GRID)
        assert found[0] < found[1] <= 2.0 * pair.largest_loss()


@pytest.mark.parametrize("name", ["geometric", "ilapMech", "expMech-smooth"])
@pytest.mark.parametrize("epsilon", [0.1, 0.9, 30.0])
def test_the_dominating_pair_lies_above_every_pair_and_loses_no_more(name, epsilon):
    result = dp.audit(dp.mechanism(name, epsilon), 12, [1, 0.5])
    pair = dominating_pair(result, 80)
    losses = pair.log_p - pair.log_q
    assert np.exp(pair.log_p).sum() == pytest.approx(1.0)
    for largest in (losses.max(), -losses.min(), pair.largest_loss()):
        assert largest == pytest.approx(result.epsilon, rel=1e-12)
    grid = np.linspace(0.0, 0.999 * result.epsilon, 23)
    for at, exact in zip(grid, result.curve(grid).deltas, strict=True):
        assert exact * (1 - 1e-9) - 1e-12 <= pair.delta(at) <= exact + 4e-3 * epsilon
        assert pair.delta(-at) >= -np.expm1(-at) + np.exp(-at) * exact - 1e-12
    assert pair.delta(0.0) == pytest.approx(result.delta(0.0), rel=1e-9)


@pytest.mark.slow
def test_the_worst_pair_for_one_release_need_not_be_the_worst_for_many():
    result = dp.audit(dp.mechanism("expMech-smooth", 1.0), 60, [1, 1])
    single = composed_epsilon(worst_pair(result), [20], 1e-6)[0]
    every = composed_epsilon(dominating_pair(result), [20], 1e-6)[0]
    assert every > 1.1 * single


def test_textbook_bounds():
    assert basic_composition(0.1, [1, 100]).tolist() == pytest.approx([0.1, 10.0])
    by_hand = 0.1 * np.sqrt(2 * 100 * np.log(1e6)) + 100 * 0.1 * (np.exp(0.1) - 1)
    assert advanced_composition(0.1, [100], 1e-6)[0] == pytest.approx(by_hand)
    pair = dominating_pair(dp.audit(dp.mechanism("geometric", 0.1), 20, [1, 1]))
    bounds = basic_composition(0.1, [50])[0], advanced_composition(0.1, [50], 1e-6)[0]
    assert composed_epsilon(pair, [50], 1e-6)[0] <= min(bounds)
    assert (
        composed_epsilon(pair, [1], 1e-12, 0.07)[0] == pair.largest_loss()
    )  # not 2 grid steps
    assert advanced_composition(1000.0, [2], 1e-6).tolist() == [
        np.inf
    ]  # beyond all floats


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LossPair(np.zeros(2), np.zeros(3)), "one shape"),
        (lambda: composed_epsilon(PAIR, [1], 0.0), "delta must lie strictly"),
        (
            lambda: composed_epsilon(PAIR, [0], 1e-6),
            "releases must be at least 1, got 0",
        ),
        (
            lambda: worst_pair(dp.audit(dp.mechanism("draft-laplace", 1.0), 5, [1, 1])),
            "infinite",
        ),
        (
            lambda: dominating_pair(
                dp.audit(dp.mechanism("geometric", 1.0), 3, [1, 1]), 10**12
            ),
            "points must be an integer of at most 1000000, got 10",
        ),
        (
            lambda: concentrated_rho([0.0], [0.5]),
            "log_q must be logarithms .* sum to 1, got",
        ),
        (lambda: gaussian_mu([], []), "log_p must be logarithms of numbers"),
    ],
)
def test_what_is_no_pair_and_no_delta_is_refused_by_name(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_the_library_that_composes_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(
        sys.modules, "dp_accounting.pld.privacy_loss_distribution", None
    )
    with pytest.raises(ImportError, match="needs the package dp-accounting"):
        composed_epsilon(PAIR, [1], 1e-6)


# --- rho and mu
# -----------------------------------------------------------------------------------


def test_rho_of_pure_privacy_is_sharper_than_opendps_and_the_gaussian_has_its_own():
    opendp.enable_features("contrib")
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    laplace = opendp.m.make_laplace(*space, scale=2.0)
    bound = opendp.c.make_pureDP_to_zCDP(laplace).map(1)
    assert bound == pytest.approx(0.5**2 / 2, abs=1e-9)
    pair = dp.audit_pair(dp.mechanism("geometric", 0.5), [60, 60], [61, 59], [1, 1])
    assert 0.8 * bound < concentrated_rho(pair.log_p, pair.log_q) <= bound
    mechanism = dp.mechanism("discrete-gaussian", 1.0, delta=1e-2)
    rho, _ = in_other_notions(mechanism, 8, [1.0, 1.0])
    assert 0.9 < rho * mechanism.variance(2) <= 1.0


@pytest.mark.parametrize("seed", range(3))
def test_no_test_beats_the_gaussian_reading(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    mu = gaussian_mu(np.log(p), np.log(q))
    gaps = []
    for chosen in itertools.product([False, True], repeat=7):
        rejected = np.array(chosen)
        if 0 < rejected.sum() < 7:
            gaps.append(p[~rejected].sum() - ndtr(-mu - ndtri(q[rejected].sum())))
    assert -1e-12 <= min(gaps) < 1e-9


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 40.0, 100.0, 900.0])
def test_one_coin_has_its_readings_at_any_epsilon(epsilon: float) -> None:
    with mp.workdps(500):
        heads = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        log_p = np.array([float(mp.log(heads)), float(mp.log(1 - heads))])
        kullback = float(mp.mpf(epsilon) * (2 * heads - 1))
        orders = [1 + mp.mpf(10) ** (i * 0.05) for i in range(-100, 81)]
        moments = [
            heads**a * (1 - heads) ** (1 - a) + (1 - heads) ** a * heads ** (1 - a)
            for a in orders
        ]
        best = max(
            mp.log(m) / (a - 1) / a for m, a in zip(moments, orders, strict=True)
        )
    rho = concentrated_rho(log_p, log_p[::-1])
    assert rho >= max(float(best), kullback) * (1 - 1e-9 - 1e-15 / epsilon)
    rounding = 1e-7 + 1e-15 / epsilon  # the logarithms given are rounded
    assert rho <= min(epsilon**2 / 2, epsilon) * (1 + rounding)
    mu = gaussian_mu(log_p, log_p[::-1])
    assert mu == pytest.approx(-2.0 * ndtri_exp(log_p[1]), rel=1e-12)


@pytest.mark.parametrize(
    ("rare", "gap", "orders"),
    [
        (-200.0, 0.01, np.geomspace(2e4, 1e6, 4000)),
        (np.log(0.01), 2.0, np.linspace(1.01, 20, 4000)),
    ],
)
def test_a_rare_outcome_is_seen_at_the_order_at_which_it_counts(
    rare, gap, orders
) -> None:
    log_p, log_q = (
        np.array([log, np.log1p(-np.exp(log))]) for log in (rare, rare - gap)
    )
    terms = orders[:, None] * log_p + (1.0 - orders[:, None]) * log_q
    ratio = np.logaddexp(*terms.T) / (orders - 1.0) / orders
    assert concentrated_rho(log_p, log_q) == pytest.approx(ratio.max(), rel=1e-3)


def test_an_impossible_outcome_has_no_finite_reading() -> None:
    p, q = np.log([0.5, 0.5]), np.array([0.0, -np.inf])
    assert concentrated_rho(p, q) == gaussian_mu(p, q) == gaussian_mu(q, p) == np.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_no_private_mechanism_spends_more_than_the_geometric_one(
    epsilon: float, n: int
) -> None:
    """The geometric mechanism is one coin at each pair, and every other comes from
    it."""
    p = np.log(np.array([1.0, np.exp(epsilon)]) / (1.0 + np.exp(epsilon)))
    coin = concentrated_rho(p, p[::-1]), gaussian_mu(p, p[::-1])
    geometric = in_other_notions(dp.mechanism("geometric", epsilon), n, [1, 1])
    assert geometric == pytest.approx(coin, rel=1e-9)
    for name in (
        "lapMech",
        "ilapMech",
        "expMech",
        "expMech-smooth",
        "permute-and-flip",
        "optimal",
    ):
        found = in_other_notions(dp.mechanism(name, epsilon), n, [0.3, 2.0])
        assert all(np.array(found) <= np.array(coin) * (1 + 1e-9))
