"""What a release promises and costs: units, relations, and the forecast before it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpbayes.tables.opening import create_account
from dpbayes.tables.plan import Plan, PlanError, read_plan
from dpbayes.tables.release import cost, promise
from dpbayes.tables.units import Unit

BASE = 'dataset = "d"\naccount = "a"\ncolumn = "h"\ncategories = ["a", "b"]\nepsilon = "0.6"\n'


def planned(folder: Path, more: str) -> Plan:
    path = folder / "plan.toml"
    path.write_text(BASE + more)
    return read_plan(path)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('unit = "record"\n', ("differ by one record replaced", "m times as large")),
        ('unit = "record"\nrecords = "secret"\n', ("one record more or less", "m times")),
        ('person = "id"\n', ("one person replaced", "up to twice as large")),
        ('person = "id"\nkeep = 3\n', ("replaced by as many others", "at most 3 records of each")),
        ('person = "id"\nkeep = 3\nrecords = "secret"\n', ("added or taken away", "two people")),
    ],
)
def test_a_promise_names_the_unit_and_for_whom_it_holds(
    tmp_path: Path, more: str, words: tuple[str, ...]
) -> None:
    said = promise(planned(tmp_path, more))
    assert "P[M(x) in S] <= e^0.6 P[M(x') in S]" in said
    for word in words:
        assert word in said


def test_a_replaced_record_is_two_steps_and_persons_share_their_epsilon(
    two_people: Path, tmp_path: Path
) -> None:
    account = create_account(tmp_path / "a", "d", 3, two_people, Unit("id", 3))
    plan = planned(tmp_path, 'person = "id"\nkeep = 3\n')
    assert plan.epsilon_of_a_record == Fraction(1, 5)
    assert cost(plan, account) == Fraction(3, 5)
    secret = planned(tmp_path, 'person = "id"\nkeep = 3\nrecords = "secret"\n')
    assert cost(secret, account) == Fraction(6, 5)
    assert (account.factor("replace-one"), account.factor("add-or-remove")) == (3, 6)


def test_a_public_number_does_not_fit_an_account_for_a_changing_one(purse: Path) -> None:
    (purse / "table.csv").write_text("x\n1\n")
    account = create_account(
        purse / "a.account", "cells", 1, purse / "table.csv", Unit(), "add-or-remove"
    )
    with pytest.raises(PlanError, match='records must be "secret" for account'):
        cost(planned(purse, 'unit = "record"\n'), account)
    with pytest.raises(ValueError, match="neighbours must be 'add-or-remove'"):
        account.factor("replace-one")
    assert account.factor("add-remove") == 1
