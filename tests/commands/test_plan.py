"""``dpbayes plan``: its price, its comparison, and that it touches nothing."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

import dpbayes as dp
from dpbayes.__main__ import main
from dpbayes.commands.plan import error, needed
from tests.tables.clinic import OF_NOBODY, PLAN, planned, released


@pytest.mark.slow
def test_the_plan_command_prices_without_touching_the_account(clinic, capsys):
    before = (clinic / "clinic.account").read_bytes()
    assert main(["plan", "plan.toml", "--records", "70"]) == 0
    printed = capsys.readouterr().out
    assert "0.5 of the 1.2 left" in printed
    balanced = dp.mechanism("lattice", 0.5).law([24, 23, 23], [1, 1, 1]).mean_distance()
    said = (
        f"distance   {balanced:.3g} mean Hellinger distance of all 3 shares together"
        " for balanced counts of 70 records"
    )
    assert said in printed
    assert (clinic / "clinic.account").read_bytes() == before


def test_the_command_touches_nothing(purse, capsys):
    (purse / "plan.toml").write_text(PLAN + 'records = "secret"\n')
    assert main(["plan", "plan.toml", "--records", "20"]) == 0
    assert "one record more or less" in capsys.readouterr().out
    assert main(["plan", "plan.toml"]) == 0
    assert "give --records N" in capsys.readouterr().out
    assert main(["plan", "plan.toml", "--records", "0"]) == 2
    assert "--records must be from 1 to 2^53, got 0" in capsys.readouterr().err
    assert main(["plan", "plan.toml", "--records", str(10**30)]) == 2
    assert "--records must be from 1 to 2^53, got 1000" in capsys.readouterr().err
    assert [path.name for path in purse.iterdir()] == ["plan.toml"]


def test_the_records_needed_are_those_of_the_package(clinic):
    said = needed(planned(clinic, OF_NOBODY + 'person = "health"\nkeep = 2\n'))
    for wanted in (0.1, 0.05, 0.02):
        lattice = dp.mechanism("lattice", 0.25)
        enough = dp.records_needed(lattice, [1 / 3] * 3, [1.0] * 3, wanted).records
        assert f"{enough:,} for {wanted:g}" in said


def test_one_record_is_not_several():
    assert error({"even": {"value": 0.3}, "halving": {"value": 0.5}}, 1, 2).startswith(
        "0.3 mean Hellinger distance of all 2 shares together for balanced counts of 1"
        " record, 0.5 where"
    )


def test_what_is_not_enough_is_said_and_ends_with_one(clinic, capsys):
    (clinic / "plan.toml").write_text(PLAN.replace('"0.5"', '"1.5"'))
    assert main(["plan", "plan.toml"]) == 1
    assert "1.5 of the 1.2 left, not enough" in capsys.readouterr().out


def test_what_is_paid_already_is_said(clinic, capsys):
    paid = released(clinic)
    for text in (PLAN, PLAN + "prior = 2\n"):
        (clinic / "plan.toml").write_text(text)
        assert main(["plan", "plan.toml"]) == 0
        printed = capsys.readouterr().out
        assert f"already paid as request {paid.request}, entry 2" in printed
    (clinic / "plan.toml").write_text(PLAN + 'request = "anew"\n')
    assert main(["plan", "plan.toml"]) == 0
    assert "already paid" not in capsys.readouterr().out


def test_a_large_epsilon_does_not_pass_without_a_word(clinic, capsys):
    for epsilon, worth in (("10", True), ("10.1", False), ("30", False)):
        (clinic / "plan.toml").write_text(PLAN.replace('"0.5"', f'"{epsilon}"'))
        main(["plan", "plan.toml"])
        printed = capsys.readouterr().out
        assert ("the promise is of little worth" in printed) != worth


@pytest.mark.slow
def test_fifty_categories_of_a_million_take_seconds(purse):
    """Five CPU seconds on an idle machine; it was forty."""
    listed = ", ".join(f'"c{i}"' for i in range(50))
    text = PLAN.replace('"good", "fair", "poor"', listed).replace('"0.5"', '"0.05"')
    planned(purse, text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "dpbayes", "plan", str(purse / "plan.toml")]
    done = subprocess.run(
        [*command, "--records", "1000000"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "A count of 20,000 comes out within ± 90" in done.stdout
    assert done.stderr == ""  # nothing in a pipe
    assert after.ru_utime - before.ru_utime < 15.0  # of a busy one
