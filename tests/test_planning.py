"""How many records: the proved bound against exact means, and its noise against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.planning import count_noise, distance_bound


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.7), (3, 1.0), (4, 2.5)])
def test_the_lattice_noise_is_that_of_an_enumeration(k: int, epsilon: float) -> None:
    points = LatticeNoise(k, 1.0).points(int(36 / epsilon))
    mass = np.exp(-0.5 * epsilon * np.abs(points).sum(axis=1))
    mass /= mass.sum()
    second, tails, at_zero = count_noise(epsilon, k)
    assert second == pytest.approx(mass @ points[:, 0] ** 2, rel=1e-9)
    assert at_zero == pytest.approx(mass.max(), rel=1e-9)
    for m in (0, 1, 5):
        assert tails[m] == pytest.approx(mass[points[:, 0] < -m].sum(), rel=1e-6)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 14), min_size=2, max_size=3),
    st.floats(0.2, 6.0),
    st.floats(0.3, 5.0),
)
def test_the_bound_is_above_the_enumerated_mean(
    counts: list[int], epsilon: float, prior: float
) -> None:
    if sum(counts) == 0:
        return
    alpha = [prior] * len(counts)
    mean = dp.mechanism("lattice", epsilon).law(counts, alpha).mean_distance()
    assert mean <= distance_bound(epsilon, counts, alpha) + 1e-12


def test_the_bound_is_sharp_enough_to_reject_noise_that_is_twice_as_wide() -> None:
    x, prior = [2500] * 4, [1.0] * 4
    wide = dp.mechanism("lattice", 0.5).law(x, prior).mean_distance()
    assert wide > distance_bound(1.0, x, prior)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.1, 0.9]])
def test_the_number_is_enough_for_it_and_beyond(shares: list[float]) -> None:
    plan = dp.records_needed(0.12, 0.9, shares)
    prior = [1.0] * len(shares)
    mechanism = dp.mechanism("lattice", 0.9)
    for n in (plan.records, plan.records + 1, plan.records + 7, 2 * plan.records):
        mean = mechanism.law(dp.split(n, shares), prior).mean_distance()
        assert mean <= 0.12
    assert plan.bound <= 0.12
    assert plan.mean_distance <= plan.bound
    # Bisection against a plain scan from below.
    means = [
        mechanism.law(dp.split(n, shares), prior).mean_distance()
        for n in (plan.exact - 1, plan.exact)
    ]
    assert means[1] <= 0.12 < means[0]
    assert plan.exact <= plan.records


def test_four_categories_need_2337_records() -> None:
    plan = dp.records_needed(0.05, 1.0, [0.25] * 4)
    assert plan.exact == 2337
    assert plan.records < 1.35 * plan.exact


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior": [1.0]}, "prior must"),
        ({"epsilon": 1e-6}, "epsilon must spread the noise over at most 4000000 counts"),
        ({"error": 1e-9}, "error must be larger: more than 4503599627370496 records"),
    ],
)
def test_refusals_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    complete = {"error": 0.1, "epsilon": 1.0, "shares": [0.5, 0.5]} | arguments
    with pytest.raises(ValueError, match=message):
        dp.records_needed(**complete)


def test_one_record_may_be_enough_and_then_none_is_as_well():
    # No record means a release of the prior, which is the posterior: the distance is 0.
    plan = dp.records_needed(0.9, 2.0, [0.5, 0.5])
    assert plan.exact == 1
    assert plan._mean(0) == 0.0


def test_a_plan_refuses_to_count_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dp.records_needed(0.12, 0.9, [0.2, 0.3, 0.5])
    drawn = Estimate(0.1205, 4e-4, "drawn")
    monkeypatch.setattr(type(plan), "_mean", lambda self, n: drawn)
    with pytest.raises(ValueError, match=f"{plan.records} records are enough by proof"):
        _ = plan.exact
