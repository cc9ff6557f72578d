"""From a table to a release: paid once, drawn once, whatever fails in between."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import pytest

from dpbayes.__main__ import main
from dpbayes.tables import release as releases
from dpbayes.tables.analysis import PARTS, bounded_analysis
from dpbayes.tables.files import PlanError
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.release import cost, promise, release_table
from dpbayes.tables.report import csv_text, html_text
from dpbayes.tables.table import TableError
from dpbayes.tables.units import RECORD, Unit
from tests.tables.clinic import OF_NOBODY, PLAN, planned, released


def test_a_release_is_paid_once_and_the_same_request_gives_the_same_draw(clinic):
    first, second = released(clinic), released(clinic)
    assert (first.cost, first.balance) == (Fraction(1, 2), Fraction(7, 10))
    assert (
        first.private.n
        == int(first.private.counts.sum())
        == first.record()["records"]
        == 70
    )
    assert (first.repeated, second.repeated) == (False, True)
    assert second.private.noisy.tolist() == first.private.noisy.tolist()
    assert open_account(clinic / "clinic.account").spent == Fraction(1, 2)
    third = released(clinic, PLAN + 'request = "again"\n')
    assert third.balance == second.balance - Fraction(1, 2)
    assert first.request != third.request == "again"


def test_what_cannot_be_paid_is_not_drawn(clinic, monkeypatch):
    released(clinic)
    released(clinic, PLAN + 'request = "b"\n')
    calls = []
    monkeypatch.setattr(releases, "rehearse", lambda *_: None)
    monkeypatch.setattr(releases, "release", lambda *_: calls.append(1))
    with pytest.raises(AccountError, match=r"epsilon must be at most 0\.2"):
        released(clinic, PLAN + 'request = "c"\n')
    assert calls == []


REFUSED = [
    ('mechanism = "expMech-local"', PlanError, "must have a proved guarantee"),
    (
        'records = "secret"\nmechanism = "lattice"',
        PlanError,
        "differ by replacing one record",
    ),
    (
        'mechanism = "discrete-gaussian"\noptions = {delta = 1e-6}',
        PlanError,
        "without a delta",
    ),
    ('mechanism = "none"', PlanError, "mechanism: name must be one of"),
    ('mechanism = "geometric"', (PlanError, ValueError), "2 categories"),
    (
        'missing_values = ["good"]',
        PlanError,
        "line 7: missing_values must not have what health lists as a value, got 'good'",
    ),
    ('person = "id"', PlanError, "and not both: it says who is protected"),
]


@pytest.mark.parametrize(("line", "error", "message"), REFUSED)
def test_mistakes_cost_nothing(clinic, line, error, message):
    with pytest.raises(error, match=message):
        released(clinic, PLAN + line + "\n")
    assert open_account(clinic / "clinic.account").spent == 0


def test_a_table_the_account_does_not_stand_for_is_refused(clinic):
    (clinic / "people.csv").write_text("health\ngood\n")
    with pytest.raises(AccountError, match="is not one that account"):
        released(clinic)
    with pytest.raises(PlanError, match="dataset must be 'clinic'"):
        released(clinic, PLAN.replace('"clinic"', '"other"'))


@pytest.mark.slow
def test_a_secret_number_of_records_stays_secret(clinic):
    paid = released(clinic, PLAN + 'records = "secret"\n')
    record = paid.record()
    assert (record["records"], record["neighbours"]) == (None, "add-or-remove")
    assert "one record more or less" in record["guarantee"]
    # The account is for replaced records: one taken away and one added.
    assert (paid.cost, paid.balance) == (1, Fraction(1, 5))
    assert [name for name, value in record.items() if value in (70, "70")] == []
    found = bounded_analysis(record)["noise_aware"]
    assert found["intervals"] == paid.private.interval().tolist()
    assert paid.private.noise_aware().n is None


def test_that_a_table_of_secret_size_is_empty_stays_secret(clinic):
    (clinic / "people.csv").write_text("health\nNA\n")
    open_account(clinic / "clinic.account").accept(clinic / "people.csv")
    paid = released(clinic, PLAN + 'records = "secret"\nmissing = "drop"\n')
    assert paid.cost == 1
    assert paid.private.noisy.size == 3
    assert "missing" not in bounded_analysis(paid.record())["noise_aware"]


def test_an_analysis_that_takes_too_long_is_left_out(clinic):
    record = released(clinic).record()
    found = bounded_analysis(record, seconds=0.01)
    late = {"missing": "not finished within 0.01 seconds"}
    assert found == {part: late for part in PARTS if part != "within"}
    record["analysis"] = found
    assert "not finished within 0.01 seconds" in html_text(record)
    assert ',,,,,,,,,"geometric' in csv_text(record).splitlines()[1]
    found["expected_distance"] = {"value": 0.25, "error": 0.01}
    told = "would be 0.25 ± 0.01 (four standard errors) for all 3 shares together"
    assert told in html_text(record)


def test_two_units_are_never_added_up(clinic):
    """One record and one person, each within its bound, promise nothing together."""
    released(clinic)
    persons = PLAN.replace('unit = "record"', 'person = "health"')
    with pytest.raises(AccountError, match="sums over different units promise nothing"):
        released(clinic, persons)
    assert open_account(clinic / "clinic.account").spent == Fraction(1, 2)


def test_an_account_refuses_every_unit_but_its_own(two_people, tmp_path):
    made = Unit("id", 2)
    account = create_account(tmp_path / "a", "clinic", 1, two_people, made)
    account.require_unit(made)
    assert open_account(account.path).unit == made
    for asked in (RECORD, Unit("id"), Unit("id", 3), Unit("Id", 2)):
        with pytest.raises(AccountError, match="unit must be one"):
            account.require_unit(asked)


def test_a_request_on_another_version_of_the_table_is_refused(clinic):
    """The same id once gave the old table's draw after the new table was accepted."""
    named = PLAN + 'request = "spring"\n'
    first = released(clinic, named)
    table = clinic / "people.csv"
    table.write_text(table.read_text() + "poor\n")
    open_account(clinic / "clinic.account").accept(table)
    with pytest.raises(AccountError, match="was made on another version of the table"):
        released(clinic, named)
    fresh = released(clinic)
    assert fresh.private.n == first.private.n + 1


@pytest.mark.parametrize("terms", [{"format": 1, "dataset": "clinic"}, {"format": 2}])
def test_an_account_of_a_former_format_is_refused_in_words(tmp_path, terms):
    with sqlite3.connect(tmp_path / "old.account") as connection:
        connection.execute(
            "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, body TEXT)"
        )
        connection.execute("INSERT INTO entries VALUES (0, ?)", (json.dumps(terms),))
    with pytest.raises(
        AccountError, match=r"no account of this version.* was left as its epsilon"
    ):
        open_account(tmp_path / "old.account")


def test_a_second_key_folder_gives_no_second_budget(two_people, tmp_path, monkeypatch):
    create_account(tmp_path / "one.account", "one", 1, two_people, RECORD)
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "elsewhere"))
    with pytest.raises(
        AccountError, match=r"has an account already, says .*csv.dpbayes"
    ):
        create_account(tmp_path / "two.account", "two", 1, two_people, RECORD)
    # The known folder is looked into, too: a copy without its note has an account
    # there.
    monkeypatch.delenv("DPBAYES_KEYS")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    copy = tmp_path / "copy.csv"
    copy.write_bytes(two_people.read_bytes())
    create_account(tmp_path / "three.account", "three", 1, copy, RECORD)
    copy.with_name("copy.csv.dpbayes").unlink()
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "elsewhere"))
    with pytest.raises(AccountError, match=r"has an account already: .*three.account"):
        create_account(tmp_path / "four.account", "four", 1, copy, RECORD)


def test_a_paid_release_never_looks_refused(clinic, monkeypatch, capsys):
    (clinic / "plan.toml").write_text(PLAN)
    full = Mock(side_effect=OSError("No space left on device"))
    monkeypatch.setattr("dpbayes.commands.release.write_files", full)
    assert main(["release", "people.csv", "--plan", "plan.toml"]) == 1
    assert "the release is made and paid (request" in capsys.readouterr().err
    assert open_account(clinic / "clinic.account").spent == Fraction(1, 2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('unit = "record"\n', ("differ by one record replaced", "m times as large")),
        (
            'unit = "record"\nrecords = "secret"\n',
            ("one record more or less", "m times"),
        ),
        ('person = "id"\n', ("one person replaced", "not covered where")),
        (
            'person = "id"\nkeep = 3\n',
            ("replaced by as many others", "at most 3 records of each"),
        ),
        (
            'person = "id"\nkeep = 3\nrecords = "secret"\n',
            ("added or taken away", "1.334 times"),
        ),
    ],
)
def test_a_promise_names_the_unit_and_for_whom_it_holds(tmp_path, more, words):
    said = promise(planned(tmp_path, OF_NOBODY + more))
    assert "P[M(x) in S] <= e^0.5 P[M(x') in S]" in said
    for word in words:
        assert word in said


def test_a_replaced_record_is_two_steps_and_persons_share_their_epsilon(
    two_people, tmp_path
):
    account = create_account(tmp_path / "a", "d", 3, two_people, Unit("id", 3))
    plan = planned(tmp_path, OF_NOBODY + 'person = "id"\nkeep = 3\n')
    assert plan.epsilon_of_a_record == Fraction(1, 6)
    assert cost(plan, account) == Fraction(1, 2)
    secret = planned(
        tmp_path, OF_NOBODY + 'person = "id"\nkeep = 3\nrecords = "secret"\n'
    )
    assert cost(secret, account) == 1
    assert (account.factor("replace-one"), account.factor("add-or-remove")) == (3, 6)


def test_a_public_number_does_not_fit_an_account_for_a_changing_one(
    two_people, tmp_path
):
    account = create_account(
        tmp_path / "a", "cells", 1, two_people, RECORD, "add-or-remove"
    )
    with pytest.raises(
        AccountError, match=r"be 'add-or-remove' .*in a plan: records = .secret"
    ):
        cost(planned(tmp_path, PLAN), account)
    assert account.factor("add-or-remove") == 1


@pytest.mark.parametrize("none", ["N/A", "null", "-", "NaN", "#N/A", ""])
def test_a_plan_of_persons_refuses_a_row_of_nobody(clinic, none):
    """The spellings of a missing name are those of a cube, unless the plan lists its
    own; a category may be spelled like one of them.
    """
    table = clinic / "named.csv"
    table.write_text(f'id,health\n1,good\n"{none}",poor\n"{none}",poor\n')
    text = OF_NOBODY.replace('"clinic', '"named') + 'person = "id"\n'
    text = text.replace('"fair"', '"None"')
    create_account(clinic / "named.account", "named", "9", table, Unit("id"))
    with pytest.raises(TableError, match="row 2 has no value in 'id'"):
        release_table(table, planned(clinic, text))
    assert open_account(clinic / "named.account").spent == 0


@pytest.mark.parametrize("victim", ["table", "plan", "account"])
def test_a_report_replaces_neither_table_nor_plan_nor_account(
    tmp_path, monkeypatch, capsys, victim
):
    """A table that is called release.csv, released into its own folder, was lost."""
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    monkeypatch.chdir(tmp_path)
    names = {"table": "people.csv", "plan": "plan.toml", "account": "clinic.account"}
    names[victim] = "release.csv" if victim == "table" else "release.json"
    Path(names["table"]).write_text("health\ngood\npoor\n")
    Path(names["plan"]).write_text(PLAN.replace("clinic.account", names["account"]))
    create_account(names["account"], "clinic", "1.2", names["table"], RECORD)
    before = {name: Path(name).read_bytes() for name in names.values()}
    given = ["release", names["table"], "--plan", names["plan"], "--output", "."]
    assert main(given) == 2
    assert f"would replace {names[victim]}" in capsys.readouterr().err
    assert {name: Path(name).read_bytes() for name in before} == before


def test_a_report_does_not_replace_that_of_another_release(clinic, monkeypatch, capsys):
    """A second plan, released into the folder of the first, replaced a paid report."""
    monkeypatch.chdir(clinic)
    given = ["release", "people.csv", "--plan", "plan.toml", "--output", "report"]
    assert main(given) == 0
    before = Path("report/release.json").read_bytes()
    planned(clinic, PLAN.replace("0.5", "0.25"))
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "--output must be a folder without another release, got 'report'" in said
    assert json.loads(before)["request"] in said
    assert Path("report/release.json").read_bytes() == before
    assert open_account(clinic / "clinic.account").spent == Fraction(1, 2)
    planned(clinic, PLAN + "prior = 0.5\n")  # the same draw, read anew
    assert main(given) == 0
    Path("report/release.json").write_text("[]")
    assert main(given) == 2
    assert "holds a file that is no release" in capsys.readouterr().err
