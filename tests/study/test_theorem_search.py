"""The search follows its seed, reports what audits find, and finds violations that exist."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.theorem_search import Trial, search, violations, worst


def largest(trials: list[Trial]) -> float:
    return max(trial.delta_ratio for trial in trials)


def test_trials_are_audits_and_follow_the_seed() -> None:
    first, second = (search(np.random.default_rng(3), 2, 4, 6) for _ in range(2))
    assert first == second
    assert len(first) == 10
    trial = first[-1]
    chain = trial.chain
    assert isinstance(chain.prior, tuple)
    mechanism = dp.mechanism("expMech-delta", chain.epsilon, delta=chain.delta)
    audited = dp.audit(mechanism, chain.n, chain.prior)
    assert trial.epsilon_ratio == pytest.approx(audited.epsilon / chain.epsilon, rel=1e-6)
    ratio = audited.delta(chain.epsilon) / chain.delta
    assert trial.delta_ratio == pytest.approx(ratio, rel=1e-4, abs=1e-12)


def test_negative_control_with_l1_the_search_finds_what_is_false() -> None:
    trials = search(np.random.default_rng(7), starts=16, steps=150, most=24, distance="l1")
    assert violations(trials) > 0
    closest = worst(trials)
    assert (
        closest.delta_ratio
        == largest(trials)
        == pytest.approx(closest.chain.audit().ratio, rel=1e-4)
    )


def test_positive_control_at_four_categories_the_search_finds_what_is_false() -> None:
    trials = search(np.random.default_rng(1), starts=10, steps=100, most=150, k=4)
    assert violations(trials) > 0
    assert worst(trials).chain.audit().ratio > 1.0


def test_at_two_and_three_categories_it_finds_nothing() -> None:
    for k in (2, 3):
        trials = search(np.random.default_rng(5), starts=6, steps=80, most=80, k=k)
        assert violations(trials) == 0


@pytest.mark.slow
def test_fifty_thousand_settings() -> None:
    plans = [(2, "hamming", 120), (3, "hamming", 120), (4, "hamming", 40), (5, "hamming", 30),
             (6, "hamming", 30), (2, "l1", 80)]  # fmt: skip
    settings, found = 0, {}
    for k, distance, starts in plans:
        trials = search(np.random.default_rng(2026), starts, 149, 150, distance, k)
        settings += len(trials)
        found[k, distance] = violations(trials)
    assert settings >= 50_000
    assert found[2, "hamming"] == found[3, "hamming"] == 0
    assert min(found[4, "hamming"], found[5, "hamming"], found[6, "hamming"], found[2, "l1"]) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 5), "starts"), ((1, -1, 5), "steps"), ((1, 1, 1), "most"),
        ((1, 1, 5, "far"), "distance must be one of"), ((1, 1, 5, "l1", 1), "k must"),
        ((1, 1, 5, "l1", 2, "R"), "candidates must be one of"),
    ],
)  # fmt: skip
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search(np.random.default_rng(0), *arguments)


def test_a_seed_is_not_a_generator() -> None:
    with pytest.raises(TypeError, match="rng"):
        search(7, 1, 1, 5)
