"""The search: same seed, same settings; what it reports is what an audit finds; bad input."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.theorem_search import search, worst


def test_trials_are_audits_and_follow_the_seed() -> None:
    first, second = (search(np.random.default_rng(3), 2, 4, 6) for _ in range(2))
    assert first == second
    assert len(first) == 10
    trial = first[-1]
    mechanism = dp.mechanism("expMech-delta", trial.epsilon, delta=trial.delta)
    audited = dp.audit(mechanism, trial.n, trial.prior)
    assert trial.epsilon_ratio == pytest.approx(audited.epsilon / trial.epsilon)
    assert trial.delta_ratio == pytest.approx(audited.delta(trial.epsilon) / trial.delta)


def test_climbing_finds_what_random_settings_miss() -> None:
    climbed = search(np.random.default_rng(20), 4, 100, 6, "l1")
    random = search(np.random.default_rng(20), 100, 0, 6, "l1")
    assert max(t.epsilon_ratio for t in climbed) > max(t.epsilon_ratio for t in random)
    closest = worst(climbed)
    assert closest.delta_ratio == max(t.delta_ratio for t in climbed) > 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 5), "starts"), ((1, -1, 5), "steps"), ((1, 1, 1), "most"),
        ((1, 1, 5, "far"), "distance must be one of"),
    ],
)  # fmt: skip
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search(np.random.default_rng(0), *arguments)


def test_a_seed_is_not_a_generator() -> None:
    with pytest.raises(TypeError, match="rng"):
        search(7, 1, 1, 5)
