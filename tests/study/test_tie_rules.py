"""The tie rule of the l2 projection: its mean distance, and least dependence on the order."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws import sum_zero as noise
from dpbayes.laws.projection import project
from dpbayes.posteriors import compositions
from dpbayes.study.tie_rules import RULES, compare_tie_rules, project_by


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_a_nearest_histogram(rule):
    rng = np.random.default_rng(3)
    noisy = rng.integers(-9, 12, (4000, 4))
    noisy = noisy[noisy.sum(axis=1) >= 0]
    found, ours = project_by(noisy, rule), project(noisy)
    assert found.min() >= 0
    np.testing.assert_array_equal(found.sum(axis=1), noisy.sum(axis=1))
    squares = ((found - noisy) ** 2).sum(axis=1)
    np.testing.assert_array_equal(squares, ((ours - noisy) ** 2).sum(axis=1))


def test_the_library_lets_the_largest_pay():
    noisy = np.random.default_rng(4).integers(-9, 12, (4000, 5))
    noisy = noisy[noisy.sum(axis=1) >= 0]
    np.testing.assert_array_equal(project_by(noisy, "largest"), project(noisy))
    assert np.any(project_by(noisy, "first") != project(noisy))


@pytest.mark.parametrize(
    ("n", "k", "epsilon"),
    [(6, 3, 1.0), (6, 3, 3.0), (20, 3, 1.0), (5, 4, 3), (5, 3, 0.5), (18, 3, 3.0)],
)
def test_the_largest_paying_has_the_smallest_mean_and_spread(n, k, epsilon):
    found = {rule.rule: rule for rule in compare_tie_rules(n, k, epsilon)}
    ours = found.pop("largest")
    assert all(ours.mean < other.mean - ours.error for other in found.values())
    assert all(ours.spread <= other.spread for other in found.values())
    assert ours.spread < found["first"].spread
    # Mirrored orders have the same mean over all data, and it is that of a random order.
    assert found["first"].mean == pytest.approx(found["last"].mean, abs=1e-12)


@pytest.mark.parametrize(("n", "epsilon"), [(19, 3.0), (20, 2.5), (20, 3.0)])
def test_with_narrow_noise_and_twenty_records_the_smallest_paying_is_ahead_by_a_hair(n, epsilon):
    rules = compare_tie_rules(n, 3, epsilon)
    found, error = {rule.rule: rule.mean for rule in rules}, rules[0].error
    assert found["smallest"] < found["largest"] - error
    assert found["largest"] < (1.0 + 1e-4) * found["smallest"]


def test_what_order_still_changes_is_what_ties_change():
    # At (2, 1, 1, 0) the earlier of equal counts pays; a lot would treat all orders alike.
    described = dp.mechanism("lattice", 2.0)
    falling, rising = (
        described.law(x, [1.0] * 4).mean_distance() for x in ([2, 1, 1, 0], [0, 1, 1, 2])
    )
    assert falling - rising == pytest.approx(0.030336004, abs=1e-8)
    spread = next(r for r in compare_tie_rules(4, 4, 2.0) if r.rule == "largest").spread
    assert spread == pytest.approx(falling - rising, abs=1e-4)


def test_the_means_are_off_by_no_more_than_the_noise_that_is_left_out() -> None:
    # Against noise to a much larger radius, whose own rest is below 1e-15.
    n, k, epsilon = 2, 3, 1.0
    shifts = noise.points(k, 72)
    weights = np.exp(-0.5 * epsilon * np.abs(shifts).sum(axis=1))
    table, means = compositions(n, k), []
    for x in table:
        landed = project_by(x + shifts, "largest")
        means.append(float(weights @ dp.hellinger(1.0 + x, 1.0 + landed) / weights.sum()))
    found = compare_tie_rules(n, k, epsilon)[0]
    assert found.rule == "largest"
    assert 0.0 < found.error <= 1e-9
    assert 0.0 < abs(found.mean - np.mean(means)) <= found.error
