"""Sentences that compare mechanisms, each over the class it names, with every registered mechanism.

A mechanism that is added to the registry and is ahead of what a page calls ahead fails a test here.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.guarantees import guarantee

FLAT = [1.0, 1.0]


def registered(epsilon: float, k: int = 2) -> dict[str, dp.Mechanism]:
    """Return every registered mechanism that is proved epsilon-private, and what options add."""
    zoo = {name: dp.mechanism(name, epsilon) for name in dp.REGISTRY if name != "optimal"}
    zoo["permute-and-flip, smooth"] = dp.mechanism(
        "permute-and-flip", epsilon, sensitivity="smooth"
    )
    if k == 2:
        zoo["geometric, remap"] = dp.mechanism("geometric", epsilon, remap=True)
    promised = {name: guarantee(m, k) for name, m in zoo.items()}
    return {
        name: m
        for name, m in zoo.items()
        if promised[name].epsilon is not None
        and promised[name].delta == 0.0
        and promised[name].epsilon <= epsilon * (1.0 + 1e-12)
    }


def over_all(mechanism: dp.Mechanism, n: int, prior: list[float]) -> float:
    data = dp.compositions(n, len(prior))
    return float(np.mean([mechanism.law(x, prior).mean_distance() for x in data]))


@pytest.mark.parametrize(("n", "epsilon"), [(10, 0.1), (20, 0.05), (12, 1.0), (30, 0.5), (8, 5.0)])
def test_nothing_registered_has_a_smaller_mean_than_the_remapped_geometric(n, epsilon):
    # what-to-use, best-possible: two categories, mean over all data sets of n records.
    zoo = registered(epsilon, 2)
    zoo["calibrated"] = dp.calibrate(dp.mechanism("expMech-smooth", epsilon), n, FLAT, epsilon)
    means = {name: over_all(m, n, FLAT) for name, m in zoo.items()}
    least = means.pop("geometric, remap")
    assert len(means) >= 6
    assert {name for name, mean in means.items() if mean < least * (1.0 - 1e-9)} == set()


def test_without_the_remap_the_geometric_mechanism_falls_behind_at_small_budgets():
    # best-possible, what-to-use: "loses to the papers' mechanism at small n epsilon".
    geometric = over_all(dp.mechanism("geometric", 0.1), 10, FLAT)
    smooth = over_all(dp.mechanism("expMech-smooth", 0.1), 10, FLAT)
    remapped = over_all(dp.mechanism("geometric", 0.1, remap=True), 10, FLAT)
    assert geometric == pytest.approx(0.6103, abs=6e-5)
    assert smooth == pytest.approx(0.5996, abs=6e-5)
    assert remapped == pytest.approx(0.498, abs=6e-4)
    optimum = dp.mechanism("optimal", 0.1)
    assert remapped == pytest.approx(over_all(optimum, 10, FLAT), rel=1e-6)


def test_calibrated_is_ahead_of_ilap_at_balanced_data_and_behind_over_all_data():
    # landing page, README, what-to-use, D-C5: n = 300, epsilon = 1, gamma = 0.3, flat prior.
    gentle = dp.mechanism("expMech-smooth", 1.0, gamma=0.3)
    fair, ilap = dp.calibrate(gentle, 300, FLAT, 1.0), dp.mechanism("ilapMech", 1.0)
    errors = {
        m: np.array([m.law([x, 300 - x], FLAT).mean_distance() for x in range(301)])
        for m in (fair, ilap)
    }
    assert errors[fair][150] == pytest.approx(0.0366, abs=6e-5)
    assert errors[fair][150] < errors[ilap][150]
    assert errors[fair].mean() == pytest.approx(0.1057, abs=6e-5)
    assert errors[ilap].mean() == pytest.approx(0.0640, abs=6e-5)
    assert errors[fair][30] == pytest.approx(0.0846, abs=6e-5)
    assert errors[ilap][30] == pytest.approx(0.0731, abs=6e-5)
    assert errors[fair].max() == pytest.approx(0.923, abs=6e-4)
    assert errors[ilap].max() == pytest.approx(0.232, abs=6e-4)
    assert np.sum(errors[fair] > errors[ilap]) == 81


@pytest.mark.parametrize(
    ("epsilon", "last"), [(0.05, 100), (0.1, 54), (0.2, 29), (0.5, 13), (1.0, 7)]
)
def test_as_defined_the_smooth_mechanism_wins_on_few_balanced_records_only(epsilon, last):
    # what-to-use, D-C1: a law in n epsilon.
    sizes = np.arange(1, 3 * last)
    means = [
        dp.mean_distances(dp.mechanism(name, epsilon), [0.5, 0.5], FLAT, sizes)
        for name in ("expMech-smooth", "lapMech")
    ]
    won = sizes[means[0] < means[1]]
    assert won.max() == last
    assert 4.0 <= last * epsilon <= 7.5


def test_at_three_categories_others_are_ahead_of_lattice_noise_at_a_small_budget():
    # best-possible: at 8 records lattice noise is 28 % above the optimum at epsilon = 0.1.
    prior, names = [1.0] * 3, ("lattice", "expMech-smooth", "optimal")
    for epsilon, above in ((0.1, 1.28), (1.0, 1.0314)):
        means = {name: over_all(dp.mechanism(name, epsilon), 8, prior) for name in names}
        assert means["lattice"] / means["optimal"] == pytest.approx(above, abs=0.005)
        assert (means["expMech-smooth"] < means["lattice"]) == (epsilon == 0.1)


@pytest.mark.parametrize(("epsilon", "ahead"), [(5.0, False), (5.5, True), (8.0, True)])
def test_above_a_threshold_the_smooth_mechanism_is_ahead_of_lap_on_large_balanced_data(
    epsilon, ahead
):
    # what-to-use, five-ways, earlier-papers: 4 arcosh 2 = 5.27, two categories, flat prior.
    errors = [
        dp.mechanism(name, epsilon).law([5000, 5000], FLAT).mean_distance()
        for name in ("expMech-smooth", "lapMech")
    ]
    assert (errors[0] < errors[1]) == ahead == (epsilon > 4.0 * np.arccosh(2.0))


@pytest.mark.parametrize(
    ("n", "epsilon", "ahead"),
    [(10, 0.05, True), (20, 1.0, False), (50, 0.3, False), (10, 3.0, True), (50, 8.0, True)],
)
def test_the_calibrated_mechanism_against_ilap_in_the_mean_over_all_data(n, epsilon, ahead):
    # all-data, what-to-use, D-C5: at middle epsilon it is behind, at both ends ahead.
    gentle = dp.mechanism("expMech-smooth", epsilon, gamma=0.3)
    fair = dp.calibrate(gentle, n, FLAT, epsilon)
    ilap = dp.mechanism("ilapMech", epsilon)
    assert (over_all(fair, n, FLAT) < over_all(ilap, n, FLAT)) == ahead


@pytest.mark.parametrize(("rare", "ratio"), [(0, 1.180), (2, 0.882)])
def test_with_a_rare_first_category_lap_stays_ahead_of_the_mechanism_with_a_delta(rare, ratio):
    # earlier-papers, A-C2: three categories, 24 000 records, flat prior, epsilon = 0.8.
    counts = [720, 7680, 15600] if rare == 0 else [15600, 7680, 720]
    errors = [
        dp.mechanism(name, 0.8).law(counts, [1.0] * 3).mean_distance()
        for name in ("expMech-delta", "lapMech")
    ]
    assert errors[0] / errors[1] == pytest.approx(ratio, abs=1e-3)


def test_errors_fall_when_all_prior_parameters_grow_alike_and_may_rise_when_one_does() -> None:
    # earlier-papers, the exercise on a prior of records.
    for name in ("expMech", "expMech-smooth", "permute-and-flip", "lapMech", "geometric"):
        for epsilon, counts in ((0.3, [2, 10]), (1.0, [0, 12]), (8.0, [0, 12])):
            law = dp.mechanism(name, epsilon).law
            errors = [law(counts, [a, a]).mean_distance() for a in (1.0, 2.0, 4.0, 8.0)]
            assert errors == sorted(errors, reverse=True)
    for name in ("expMech", "permute-and-flip"):
        law = dp.mechanism(name, 8.0).law
        before, after = (law([0, 12], [a, 1.0]).mean_distance() for a in (1.0, 2.0))
        assert 1.99 < after / before < 2.1
