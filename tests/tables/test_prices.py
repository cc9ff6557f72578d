"""What a planned release promises a person, and what it costs the account of another relation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.tables.release import release_table
from dpbayes.tables.opening import create_account
from dpbayes.tables.plan import read_plan
from dpbayes.tables.files import PlanError
from dpbayes.tables.prices import (
    Price,
    cost,
    person_price,
    person_sentence,
    planned_mechanism,
)
from tests.tables.clinic import PLAN, released


def test_the_promise_names_the_person_and_rounds_up(clinic):
    (clinic / "plan.toml").write_text(
        PLAN.replace('"0.5"', '"0.1234567890123456"') + 'person = "id"\nkeep = 3\n'
    )
    sentence = person_sentence(read_plan(clinic / "plan.toml"))
    assert "the at most 3 counted records of one person replaced by as many others" in sentence
    assert "e^0.123456789013 " in sentence


def test_the_records_of_a_person_share_the_budget(clinic):
    (clinic / "plan.toml").write_text(PLAN + 'person = "health"\nkeep = 3\n')
    chosen = planned_mechanism(read_plan(clinic / "plan.toml"))
    assert Fraction(chosen.epsilon) <= Fraction(1, 6)
    assert chosen.epsilon == pytest.approx(1 / 6, rel=1e-15)
    # Three replaced records: the exact audit of one, three times.
    assert 3 * dp.audit(chosen, 6, [1, 1, 1]).epsilon <= 0.5 + 1e-12


def test_an_account_for_changing_sizes_takes_no_plan_with_a_public_size(clinic):
    (clinic / "other.csv").write_text("health\ngood\npoor\n")
    text = PLAN.replace('"clinic', '"second')
    second = clinic / "second.account"
    create_account(second, "second", 1, clinic / "other.csv", "add-or-remove")
    (clinic / "plan.toml").write_text(text)
    with pytest.raises(PlanError, match='records must be "secret" for account'):
        release_table(clinic / "other.csv", read_plan(clinic / "plan.toml"))
    (clinic / "plan.toml").write_text(text + 'records = "secret"\n')
    paid = release_table(clinic / "other.csv", read_plan(clinic / "plan.toml"))
    assert paid.cost == Fraction(1, 2)


def test_groups_with_a_delta_against_an_exact_audit():
    """Two replaced records: the group's delta covers the exact one of the mechanism."""
    chosen = dp.mechanism("discrete-gaussian", "0.5", delta=0.01)
    law = [chosen.law(x, [1, 1]) for x in ([4, 4], [6, 2])]
    p, q = (np.array([one.probability([a, 8 - a]) for a in range(9)]) for one in law)
    price = Price(Fraction(1, 2), Fraction(1, 100)).times(2)
    assert price.epsilon == 1
    lost = np.maximum(p - np.exp(1.0) * q, 0.0).sum()
    assert 0.0 < lost <= float(price.delta)


def test_changing_the_size_is_one_step_or_half_of_a_replacement(clinic):
    (clinic / "plan.toml").write_text(PLAN + 'records = "secret"\n')
    plan = read_plan(clinic / "plan.toml")
    replaced = released(clinic, PLAN + 'records = "secret"\nrequest = "a"\n')
    assert replaced.cost == 1 == 2 * person_price(plan).epsilon
    (clinic / "other.csv").write_text("health\ngood\n")
    other = create_account(clinic / "o", "o", 1, clinic / "other.csv", "add-or-remove")
    assert cost(plan, other) == Price(Fraction(1, 2))


@pytest.mark.parametrize("steps", [1, 2, 7, 1000, 1001])
def test_steps_cost_at_least_what_the_sum_says(steps):
    epsilon, delta = Fraction(1, 100), Fraction(1, 10**9)
    taken = Price(epsilon, delta).times(steps)
    exact = float(delta) * np.exp(float(epsilon) * np.arange(steps)).sum()
    assert taken.epsilon == steps * epsilon
    assert exact * (1 - 1e-12) <= float(taken.delta)
    if steps <= 1000:
        assert float(taken.delta) <= exact * (1 + 1e-6)
