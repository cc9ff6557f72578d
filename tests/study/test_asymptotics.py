"""Large-n laws against exact laws: limits of the steps, mean distances, their
corrections.
"""

from __future__ import annotations

from math import exp, lgamma

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.study.asymptotics import predict, step_law

FLAT = [1.0, 1.0]
NAMES = (
    "expMech-smooth",
    "expMech-local",
    "expMech-delta",
    "lapMech",
    "ilapMech",
    "geometric",
)


@pytest.mark.parametrize("name", NAMES)
def test_floored_and_geometric_steps_equal_exact_laws(name: str) -> None:
    mechanism = dp.mechanism(name, 1.0)
    n = 200_000
    law = mechanism.law([60_000, 140_000], FLAT)
    limit = step_law(mechanism)
    for t in (-3, -1, 0, 1, 2):
        exact = law.probability([60_000 + t, n - 60_000 - t])
        assert exact == pytest.approx(
            limit.probabilities[limit.steps == t][0], rel=5e-3
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.15, 0.85)])
@pytest.mark.parametrize("epsilon", [0.8, 3.0])
def test_errors_fall_like_one_over_n_and_its_square(
    name: str, shares: tuple[float, float], epsilon: float
) -> None:
    mechanism = dp.mechanism(name, epsilon)
    errors = []
    for n in (40_000, 80_000):
        counts = dp.split(n, shares)
        predicted = predict(mechanism, counts, FLAT)
        exact = mechanism.law(counts, FLAT).mean_distance()
        errors.append(
            (exact / predicted.mean_distance - 1, exact / predicted.corrected - 1)
        )
    leading, corrected = np.abs(errors[0]), np.abs(errors[1])
    assert leading[0] / corrected[0] == pytest.approx(2.0, rel=0.05)
    assert leading[1] < 0.02 * leading[0] or leading[1] / corrected[1] == pytest.approx(
        4, rel=0.2
    )


@pytest.mark.parametrize("name", ["expMech-local", "lapMech", "ilapMech"])
def test_three_categories(name: str) -> None:
    mechanism = dp.mechanism(name, 1.5)
    errors = []
    for n in (300, 600):
        counts = dp.split(n, [0.2, 0.3, 0.5])
        predicted = predict(mechanism, counts, [1.0] * 3)
        law = mechanism.law(counts, [1.0] * 3)
        errors.append(abs(law.mean_distance() / predicted.mean_distance - 1))
    assert errors[1] < 0.7 * errors[0] < 0.1
    assert np.isnan(predicted.corrected)


@pytest.mark.parametrize("name", ["geometric", "ilapMech", "lapMech"])
def test_noise_on_a_rare_count_has_a_limit(name: str) -> None:
    a, m, n = 0.5, 3, 1_000_000
    mechanism = dp.mechanism(name, 0.8)
    law = step_law(mechanism)
    limit = 0.0
    for t, p in zip(law.steps, law.probabilities, strict=True):
        r = max(m + int(t), 0)
        affinity = lgamma(a + (m + r) / 2) - (lgamma(a + m) + lgamma(a + r)) / 2
        limit += p * (1.0 - exp(affinity)) ** 0.5
    assert mechanism.law([m, n - m], [a, 2.0]).mean_distance() == pytest.approx(
        limit, abs=2e-5
    )
    assert limit < 0.9
