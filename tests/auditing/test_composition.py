from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.composition import (
    LossPair,
    advanced_composition,
    basic_composition,
    composed_epsilon,
    dominating_pair,
    worst_pair,
)
from dpbayes.auditing.exact import hockey_stick

NAMES = ("geometric", "ilapMech", "expMech-smooth")
GRID = 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_one_release_agrees_with_dp_accounting_within_its_grid(name):
    result = dp.audit(dp.mechanism(name, 0.7), 40, [1, 1])
    pair = worst_pair(result)
    for delta in (1e-6, 1e-3, 1e-2):
        accounted = composed_epsilon(pair, [1], delta, GRID)[0]
        exact = result.pair()
        # accounting rounds each loss up by at most one grid step
        assert exact.delta(accounted) <= delta * (1 + 1e-9)
        if accounted > 2 * GRID:
            assert exact.delta(accounted - 2 * GRID) >= delta * (1 - 1e-6)


@pytest.mark.parametrize("name", [*NAMES, "expMech-local"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_delta_of_the_pair_is_dp_accountings_delta(name, epsilon):
    from dp_accounting.pld import privacy_loss_distribution as pld

    result = dp.audit(dp.mechanism(name, 0.7), 30, [1, 0.5])
    pair = result.pair()
    lower, upper = worst_pair(result).mass_functions()
    both = [
        pld.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=1e-5, pessimistic_estimate=pessimistic
        ).get_delta_for_epsilon(epsilon)
        for pessimistic in (True, False)
    ]
    forward = hockey_stick(pair.log_p, pair.log_q, epsilon)
    assert both[1] - 1e-12 <= forward <= both[0] + 1e-12
    assert both[0] - both[1] < 4e-5


def product(pair, m):
    p = [sum(values) for values in itertools.product(pair.log_p, repeat=m)]
    q = [sum(values) for values in itertools.product(pair.log_q, repeat=m)]
    return LossPair(np.array(p), np.array(q))


def test_three_releases_against_the_product_written_out():
    pair = worst_pair(dp.audit(dp.mechanism("expMech-smooth", 1.0), 8, [1, 1]))
    threefold = product(pair, 3)
    mirrored = LossPair(threefold.log_q, threefold.log_p)
    epsilon = composed_epsilon(pair, [3], 1e-3, GRID)[0]
    assert max(threefold.delta(epsilon), mirrored.delta(epsilon)) <= 1e-3
    lower = epsilon - 6 * GRID
    assert max(threefold.delta(lower), mirrored.delta(lower)) >= 1e-3 * (1 - 1e-2)


@pytest.mark.parametrize("name", NAMES)
def test_the_dominating_pair_lies_above_every_pair_and_touches_at_the_grid(name):
    result = dp.audit(dp.mechanism(name, 0.9), 12, [1, 0.5])
    pair = dominating_pair(result, 80)
    assert np.exp(pair.log_p).sum() == pytest.approx(1.0)
    epsilons = np.linspace(0.0, result.epsilon, 33)
    deltas = result.curve(epsilons).deltas
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        assert pair.delta(epsilon) >= delta - 1e-12
        assert pair.delta(epsilon) <= delta + 1e-3
    assert pair.delta(0.0) == pytest.approx(deltas[0], rel=1e-9)
    for x, other in ((np.array([i, 12 - i]), np.array([i + 1, 11 - i])) for i in range(12)):
        one = dp.audit_pair(dp.mechanism(name, 0.9), x, other, [1, 0.5])
        assert one.delta(0.37) <= pair.delta(0.37) + 1e-12


@pytest.mark.slow
def test_the_worst_pair_for_one_release_need_not_be_the_worst_for_many():
    result = dp.audit(dp.mechanism("expMech-smooth", 1.0), 60, [1, 1])
    single = composed_epsilon(worst_pair(result), [20], 1e-6)[0]
    every = composed_epsilon(dominating_pair(result), [20], 1e-6)[0]
    assert every > 1.1 * single


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 30.0, 50.0])
def test_the_dominating_pair_loses_no_more_than_the_mechanism_and_covers_it(name, epsilon):
    result = dp.audit(dp.mechanism(name, epsilon), 20, [1, 1])
    pair = dominating_pair(result)
    losses = pair.log_p - pair.log_q
    assert losses.max() == pytest.approx(result.epsilon, rel=1e-12)
    assert losses.min() == pytest.approx(-result.epsilon, rel=1e-12)
    for at in np.linspace(0.0, 0.999 * result.epsilon, 23):
        exact = float(result.curve([at]).deltas[0])
        assert pair.delta(at) >= exact * (1 - 1e-9)
        assert pair.delta(-at) >= -np.expm1(-at) + np.exp(-at) * exact - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 30.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6])
def test_an_account_is_never_above_the_sum_of_its_parts(name, epsilon, delta):
    result = dp.audit(dp.mechanism(name, epsilon), 20, [1, 1])
    releases = [1, 2, 100]
    for pair in (dominating_pair(result), worst_pair(result)):
        account = composed_epsilon(pair, releases, delta, epsilon / 4000)
        assert np.all(account <= basic_composition(result.epsilon, releases) * (1 + 1e-12))


def test_textbook_bounds():
    assert basic_composition(0.1, [1, 100]).tolist() == pytest.approx([0.1, 10.0])
    by_hand = 0.1 * np.sqrt(2 * 100 * np.log(1e6)) + 100 * 0.1 * (np.exp(0.1) - 1)
    assert advanced_composition(0.1, [100], 1e-6)[0] == pytest.approx(by_hand)
    pair = dominating_pair(dp.audit(dp.mechanism("geometric", 0.1), 20, [1, 1]))
    exact = composed_epsilon(pair, [50], 1e-6)[0]
    bounds = basic_composition(0.1, [50])[0], advanced_composition(0.1, [50], 1e-6)[0]
    assert exact <= min(bounds)


def test_bad_input():
    infinite = dp.audit(dp.mechanism("draft-laplace", 1.0), 5, [1, 1])
    for export in (worst_pair, dominating_pair):
        with pytest.raises(ValueError, match="infinite"):
            export(infinite)
    with pytest.raises(ValueError, match="one shape"):
        LossPair(np.zeros(2), np.zeros(3))
    pair = LossPair(np.log([0.5, 0.5]), np.log([0.4, 0.6]))
    with pytest.raises(ValueError, match="delta must lie strictly"):
        composed_epsilon(pair, [1], 0.0)
    with pytest.raises(ValueError, match="releases must be at least 1, got 0"):
        composed_epsilon(pair, [0], 1e-6)


def test_missing_accounting_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    pair = LossPair(np.log([0.5, 0.5]), np.log([0.4, 0.6]))
    with pytest.raises(ImportError, match="needs the package dp-accounting"):
        composed_epsilon(pair, [1], 1e-6)


def test_too_many_points_are_refused_before_anything_is_made():
    result = dp.audit(dp.mechanism("geometric", 1.0), 3, [1, 1])
    with pytest.raises(ValueError, match="points must be an integer of at most 1000000, got 10"):
        dominating_pair(result, points=10**12)
