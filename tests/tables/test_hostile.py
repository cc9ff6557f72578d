"""Hostile plans and tables: refused in one line, before anything is opened or paid."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dpbayes.cli import main
from dpbayes.tables import release as releases
from dpbayes.tables.account import Account
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.table import count
from dpbayes.tables.units import RECORD
from tests.tables import hostile

duckdb = pytest.importorskip("duckdb")


def count_table(table: Path, plan: Plan) -> object:
    return count(table, plan.attributes, plan.rules)


class Reached(Exception):
    """What a good plan comes to, or a good table."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPBAYES_KEYS", str(folder / "keys"))
        patch.chdir(folder)
        (folder / "people.csv").write_bytes(hostile.TWO)
        (folder / "plan.toml").write_text(hostile.written(hostile.BASE))
        create_account(folder / "clinic.account", "clinic", "1.2", folder / "people.csv", RECORD)
        yield folder


@pytest.fixture
def refused(clinic, monkeypatch, capsys):
    """Hand in a plan or a table; return the refusal, or None where the next step was reached."""

    def reach(*_, **__):
        raise Reached

    def hand_in(step, *more):
        with monkeypatch.context() as patch:
            patch.setattr(*step, reach)
            before = (clinic / "clinic.account").read_bytes()
            try:
                status = main(["release", *more])
            except Reached:
                return None
            finally:
                assert (clinic / "clinic.account").read_bytes() == before
        out, err = capsys.readouterr()
        assert (status, out) == (2, "")
        assert err.startswith("dpbayes release: ")
        assert err.count("\n") == 1
        assert len(err) < 1500
        assert "Traceback" not in err
        assert hostile.SECRET not in err
        return err

    return hand_in


COUNT, PAY = (releases, "count"), (Account, "reserve")
PLANS = list(hostile.plans())


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted({key for _, _, key, _ in PLANS}))
def test_plans_with_one_mistake(clinic, refused, key, monkeypatch):
    monkeypatch.setattr(Account, "require_unit", lambda *_: None)
    for name, text, found, good in PLANS:
        if found != key:
            continue
        (clinic / "bad.toml").write_text(text)
        told = refused(COUNT, "people.csv", "--plan", "bad.toml")
        assert (told is None) == good, (name, told)
        if told is not None:
            assert "bad.toml" in told or "account" in told or "at most" in told, told
            assert key in told or "categories must be a table with" in told, (name, told)
        if told is not None and key in hostile.KEYS:
            assert re.search(r"line \d+|no account at|account", told), (name, told)


@pytest.mark.parametrize(("name", "content", "good"), list(hostile.files()))
def test_files_that_are_hardly_plans(clinic, refused, name, content, good):
    (clinic / "bad.toml").write_bytes(content)
    told = refused(COUNT, "people.csv", "--plan", "bad.toml")
    assert (told is None) == good, told
    assert told is None or "bad.toml" in told


def strange_files(folder: Path, name: str, target: str) -> list[Path]:
    """Return a folder, a pipe, a link to nothing, to itself, to an endless file; none is a file."""
    places = [
        folder / f"{kind}-{name}" for kind in ("folder", "pipe", "nothing", "self", "endless")
    ]
    if not places[0].exists():
        places[0].mkdir()
        os.mkfifo(places[1])
        for place, target in zip(places[2:], ("no", f"self-{name}", "/dev/zero"), strict=True):
            place.symlink_to(target)
    return [*places, folder / f"none-{name}"]


def test_plans_and_tables_that_are_no_files(clinic, refused):
    for place in strange_files(clinic, "p.toml", "plan.toml"):
        told = refused(COUNT, "people.csv", "--plan", str(place))
        assert f"plan {place} cannot be read" in told
    for place in strange_files(clinic, "t.csv", "people.csv"):
        told = refused(PAY, str(place), "--plan", "plan.toml")
        assert "table" in told
        assert str(place) in told


def test_a_link_to_plan_and_table_is_as_good(clinic, refused):
    (clinic / "l.toml").symlink_to("plan.toml")
    (clinic / "l.csv").symlink_to("people.csv")
    assert refused(PAY, "l.csv", "--plan", "l.toml") is None


@pytest.fixture
def any_table(monkeypatch):
    """An account that stands for every table, so that a table's own faults are seen."""
    monkeypatch.setattr(Account, "check_table", lambda self, table: self.fingerprint(table))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "message"), hostile.BAD_TABLES)
def test_tables_that_disagree_with_the_plan(clinic, refused, any_table, name, content, message):
    (clinic / name).write_bytes(content)
    assert message in refused(PAY, name, "--plan", "plan.toml")


@pytest.mark.parametrize(("name", "content", "counts"), hostile.GOOD_TABLES)
def test_every_row_of_a_strange_table_is_counted(clinic, tmp_path, name, content, counts):
    (tmp_path / name).write_bytes(content)
    # What a pattern in the name would count as well.
    (tmp_path / "ab1.csv").write_bytes(hostile.TWO * 5)
    assert count_table(tmp_path / name, read_plan(clinic / "plan.toml")).tolist() == counts


def test_a_folder_that_reads_like_a_column_adds_none(clinic, tmp_path):
    (tmp_path / "health=good").mkdir()
    (tmp_path / "health=good" / "t.csv").write_bytes(b"id\n1\n")
    with pytest.raises(ValueError, match="has no column 'health'"):
        count_table(tmp_path / "health=good" / "t.csv", read_plan(clinic / "plan.toml"))


@pytest.mark.slow
def test_parquet_of_other_types(clinic, refused, any_table):
    for sql, message in (
        ("['SECRET-CONTENT']", "row 1 has a value in 'health'"),
        ("{'a': 'SECRET-CONTENT'}", "row 1 has a value in 'health'"),
        ("'\\xAA'::BLOB", "cannot be read as .parquet"),
        ("'nan'::DOUBLE", "row 1 has a value in 'health'"),
        ("'2020-01-01'::DATE", "row 1 has a value in 'health'"),
        ("true", "row 1 has a value in 'health'"),
    ):
        duckdb.sql(f"COPY (SELECT {sql} AS health) TO '{clinic}/t.parquet'")
        assert message in refused(PAY, "t.parquet", "--plan", "plan.toml")
    duckdb.sql(f"COPY (SELECT NULL::INTEGER AS health) TO '{clinic}/t.parquet'")
    assert refused(PAY, "t.parquet", "--plan", "plan.toml") is None


def test_a_person_without_a_name_is_told_by_the_row(clinic, refused, any_table, monkeypatch):
    monkeypatch.setattr(Account, "require_unit", lambda *_: None)
    (clinic / "ids.csv").write_bytes(b"id,health\n1,good\n,SECRET-CONTENT\nNA,good\n")
    (clinic / "ids.toml").write_text(
        hostile.written({k: v for k, v in hostile.BASE.items() if k != "unit"} | {"person": '"id"'})
    )
    told = refused(PAY, "ids.csv", "--plan", "ids.toml")
    assert "row 2 has no value in 'id'" in told


def test_content_is_shown_on_demand_alone(clinic, any_table, capsys):
    for name, content in (
        ("v.csv", hostile.TWO + b"2,SECRET-CONTENT\n"),
        ("n.csv", b"SECRET-CONTENT\n"),
    ):
        (clinic / name).write_bytes(content)
        assert main(["release", name, "--plan", "plan.toml", "--show-values"]) == 2
        assert hostile.SECRET in capsys.readouterr().err


def test_a_table_that_changes_while_it_is_counted(clinic, monkeypatch):
    def counted(table, *_):
        Path(table).write_bytes(hostile.TWO * 2)
        return count_table(clinic / "plain.csv", read_plan(clinic / "plan.toml"))

    (clinic / "plain.csv").write_bytes(hostile.TWO)
    monkeypatch.setattr(releases, "count", counted)
    with pytest.raises(ValueError, match="changed while it was counted"):
        releases.release_table(clinic / "people.csv", read_plan(clinic / "plan.toml"))
    (clinic / "people.csv").write_bytes(hostile.TWO)
    assert open_account(clinic / "clinic.account").spent == 0


def test_an_output_that_cannot_be_written_is_refused_before_payment(clinic, refused):
    told = refused(PAY, "people.csv", "--plan", "plan.toml", "--output", "people.csv")
    assert "--output must be a folder that can be written" in told


@pytest.mark.slow
def test_a_million_different_values(clinic, refused, any_table):
    (clinic / "many.csv").write_text("health\n" + "\n".join(f"v{i}" for i in range(1_000_000)))
    told = refused(PAY, "many.csv", "--plan", "plan.toml")
    assert "row 1 has a value in 'health' that was not declared" in told
