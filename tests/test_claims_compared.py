"""Sentences that compare mechanisms, each over the class it names, with every
registered mechanism.

A mechanism that is added to the registry and is ahead of what a page calls ahead fails
a test here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.protocol import guarantee

ROOT = Path(__file__).parents[1]
FLAT, LAPLACE = [1.0, 1.0], ("lapMech", "ilapMech")


def registered(epsilon: float, k: int = 2) -> dict[str, dp.Mechanism]:
    """Return every registered mechanism that is proved epsilon-private, and what
    options add.
    """
    zoo = {
        name: dp.mechanism(name, epsilon) for name in dp.REGISTRY if name != "optimal"
    }
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon"), [(10, 0.1), (20, 0.05), (12, 1.0), (30, 0.5), (8, 5.0)]
)
def test_nothing_registered_has_a_smaller_mean_than_the_remapped_geometric(n, epsilon):
    # two categories, mean over all data sets of n records.
    zoo = registered(epsilon, 2)
    zoo["calibrated"] = dp.calibrate(
        dp.mechanism("expMech-smooth", epsilon), n, FLAT, epsilon
    ).mechanism
    means = {name: over_all(m, n, FLAT) for name, m in zoo.items()}
    least = means.pop("geometric, remap")
    assert len(means) >= 6
    assert {
        name for name, mean in means.items() if mean < least * (1.0 - 1e-9)
    } == set()


@pytest.mark.slow
def test_calibrated_is_ahead_of_ilap_at_balanced_data_and_behind_over_all_data():
    # landing page, README, what-to-use, D-C5: n = 300, epsilon = 1, gamma = 0.3, flat
    # prior.
    gentle = dp.mechanism("expMech-smooth", 1.0, gamma=0.3)
    fair, ilap = (
        dp.calibrate(gentle, 300, FLAT, 1.0).mechanism,
        dp.mechanism("ilapMech", 1.0),
    )
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


@pytest.mark.slow
def test_errors_fall_when_all_of_a_prior_grows_and_may_rise_when_a_part_does() -> None:
    # earlier-papers, the exercise on a prior of records.
    for name in (
        "expMech",
        "expMech-smooth",
        "permute-and-flip",
        "lapMech",
        "geometric",
    ):
        for epsilon, counts in ((0.3, [2, 10]), (1.0, [0, 12]), (8.0, [0, 12])):
            law = dp.mechanism(name, epsilon).law
            errors = [law(counts, [a, a]).mean_distance() for a in (1.0, 2.0, 4.0, 8.0)]
            assert errors == sorted(errors, reverse=True)
    for name in ("expMech", "permute-and-flip"):
        law = dp.mechanism(name, 8.0).law
        before, after = (law([0, 12], [a, 1.0]).mean_distance() for a in (1.0, 2.0))
        assert 1.99 < after / before < 2.1


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_permute_and_flip_is_never_behind_the_exponential_mechanism_at_hostile_priors(
    k,
):
    # glossary: with the same scores.
    rng = np.random.default_rng(k)
    for _ in range(25):
        n, epsilon = int(rng.integers(1, 9)), float(10 ** rng.uniform(-2, 2))
        prior = 10 ** rng.uniform(-4, 4, k)
        counts = rng.multinomial(n, rng.dirichlet([0.5] * k))
        for ours, theirs, sensitivity in (
            ("permute-and-flip", "expMech", "global"),
            ("permute-and-flip", "expMech-smooth", "smooth"),
        ):
            flip = dp.mechanism(ours, epsilon, sensitivity=sensitivity).law(
                counts, prior
            )
            choice = dp.mechanism(theirs, epsilon).law(counts, prior)
            assert flip.mean_distance() <= choice.mean_distance() * (1.0 + 1e-9)


@pytest.mark.parametrize("n", [1, 2, 20, 300])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e3, 1e3), (1e-2, 1e2)])
def test_with_a_rate_of_one_it_spends_less_than_half_and_with_a_smaller_rate_it_may_not(
    n, prior
):
    # README and paper: "its smoothing rate 1 ... less than half, at every size and
    # prior audited".
    spent = dp.audit(dp.mechanism("expMech-smooth", 1.0), n, list(prior)).epsilon
    slower = dp.audit(
        dp.mechanism("expMech-smooth", 1.0, gamma=0.01), n, list(prior)
    ).epsilon
    assert spent < 0.45
    assert 0.49 < slower < 0.72
