"""The files of an account: entries, the key kept elsewhere, how they are made; files of
none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import os
import signal
import sqlite3
import stat
import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpbayes.tables import keys, notes, opening
from dpbayes.tables.account import Account
from dpbayes.tables.entries import SCHEMA, Entry, read_entries
from dpbayes.tables.keys import (
    FRESH,
    AccountError,
    Witness,
    creating,
    file_digest,
    keys_folder,
    read_witness,
    witness_file,
    write_witness,
)
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RECORD
from tests.tables.killing import killed_at

ONE = Fraction(1)
WITNESS = Witness("clinic", "clinic.account", "ab" * 32)


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"schema"])
def test_a_file_that_is_no_account_is_named(tmp_path, two_people, content):
    path = tmp_path / "x"
    create_account(path, "clinic", 1, two_people, RECORD)
    spoilt = path.read_bytes().replace(
        b"CREATE TABLE entries", b"CREATE TABLE \xff\xfetr ("
    )
    path.write_bytes(spoilt if content == b"schema" else content)
    with pytest.raises(
        AccountError, match=r"x (is damaged|is no account|cannot be used)"
    ):
        open_account(path)


def test_an_entry_is_read_as_it_was_written(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a")) as connection:
        connection.execute(SCHEMA)
        entry = Entry(3, "spend", "a", Fraction(1, 3), "what", "now", "digest")
        connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry.row()
        )
        assert read_entries(tmp_path, connection, 1) == [entry]
        # The digest covers the number, the amount, what was bought, and when.
        for change in (
            {"sequence": 4},
            {"epsilon": ONE},
            {"body": "other"},
            {"kind": "result"},
            {"request": "b"},
            {"time": "then"},
        ):
            assert replace(entry, **change).signed(WITNESS, "") != entry.signed(
                WITNESS, ""
            )
        for broken in ("x", "1/0", "1;x", "-1", "1e9", "1_0", "٣", "", " 1"):
            connection.execute("UPDATE entries SET epsilon = ?", (broken,))
            with pytest.raises(AccountError, match="an entry cannot be read"):
                read_entries(tmp_path, connection, 0)


def test_a_witness_comes_back_and_only_its_owner_can_read_it(purse):
    with creating():
        pass
    witness = replace(WITNESS, sequence=3, digest="ab")
    write_witness(witness)
    assert read_witness(witness_file("clinic")) == witness
    assert stat.S_IMODE(witness_file("clinic").stat().st_mode) == 0o600
    assert stat.S_IMODE((purse / "keys").stat().st_mode) == 0o700
    assert {path.name for path in (purse / "keys").iterdir()} == {
        "creating.lock",
        "clinic.key",
    }


def test_signatures_and_fingerprints_are_hmacs(tmp_path):
    key = bytes.fromhex(WITNESS.key)
    table = tmp_path / "people.csv"
    table.write_bytes(b"x" * 1_000_000)
    digest = hashlib.sha256(table.read_bytes()).digest()
    assert file_digest(table) == digest
    assert WITNESS.sign(digest) == hmac.digest(key, digest, "sha256").hex()


def test_a_missing_or_damaged_key_is_named(purse):
    place = witness_file("clinic")
    with pytest.raises(
        AccountError, match=r"the key of data set 'clinic', .*key, cannot be"
    ):
        read_witness(place)
    keys_folder().mkdir()
    write_witness(WITNESS)
    whole = json.loads(place.read_text())
    kinds = [
        ("dataset", "other"), ("account", 1), ("key", "zz" * 32), ("key", "00"),
        ("key", None),
        ("sequence", "1"), ("sequence", True), ("digest", 5), ("tables", "a"),
        ("more", 1),
    ]  # fmt: skip
    spoilt = [json.dumps(whole | {k: value}).encode() for k, value in kinds]
    for damage in (b"{", b"[]", b"\xff", b"[" * 100_000, *spoilt):
        place.write_bytes(damage)
        with pytest.raises(AccountError, match="is damaged"):
            read_witness(place)
    place.unlink()
    place.mkdir()
    with pytest.raises(
        AccountError, match=r"clinic\.key, cannot be read: Is a directory"
    ):
        read_witness(place)


def hold(seconds: float, ready) -> None:
    with creating():
        ready.set()
        time.sleep(seconds)


def test_one_process_at_a_time_makes_an_account(purse):
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    other = context.Process(target=hold, args=(1.0, ready))
    other.start()
    assert ready.wait(20)
    started = time.monotonic()
    with creating():
        waited = time.monotonic() - started
    other.join()
    assert waited > 0.5


def test_without_a_folder_named_keys_are_at_home(monkeypatch):
    monkeypatch.delenv("DPBAYES_KEYS", raising=False)
    assert keys_folder() == Path.home() / ".config" / "dpbayes" / "keys"


def test_bad_terms_are_refused_before_anything_is_made(two_people, tmp_path):
    path = tmp_path / "new.account"
    for changes in ({"dataset": "a/b"}, {"epsilon": 0}, {"neighbours": "none"}):
        given = {
            "dataset": "clinic",
            "epsilon": 1,
            "table": two_people,
            "unit": RECORD,
            **changes,
        }
        with pytest.raises(ValueError, match="must be"):
            create_account(path, **given)
    with pytest.raises(AccountError, match="cannot be read"):
        create_account(path, "clinic", 1, tmp_path / "missing.csv", RECORD)
    assert list(tmp_path.glob("new*")) == []


def interrupted(table, step):
    return killed_at(
        step,
        lambda: create_account(
            table.with_name("clinic.account"), "clinic", 3, table, RECORD
        ),
        *((opening, name) for name in ("connected", "_refuse_second")),
        (notes, "leave_note"),
        *((keys, name) for name in ("write_witness", "sync_folder", "file_digest")),
        *((os, "fsync"), (os, "link"), (Account, "append")),
    )


def test_there_are_thirteen_steps_of_making_an_account(two_people):
    assert interrupted(two_people, 0) == 26


@pytest.mark.parametrize("step", range(1, 27))
def test_making_an_account_killed_at_any_step_is_mended_by_making_it_again(
    two_people, tmp_path, step
):
    assert interrupted(two_people, step) == -signal.SIGKILL
    place = tmp_path / "clinic.account"
    if place.exists():
        with pytest.raises(AccountError, match="exists already"):
            create_account(place, "clinic", 3, two_people, RECORD)
        account = open_account(place)
    else:
        with pytest.raises(AccountError, match=f"no account at {place}"):
            open_account(place)
        account = create_account(place, "clinic", 3, two_people, RECORD)
    assert (account.spent, account.balance, len(account.entries)) == (0, 3, 2)
    account.reserve("one", ONE, "plan")
    assert open_account(place).balance == 2
    names = {"clinic.account", "keys", "people.csv", "people.csv.dpbayes"}
    if step == 20:  # it has its name, and has not lost the one it was written under
        names.add(".clinic.account.dpbayes-part")
    assert {path.name for path in tmp_path.iterdir()} == names


def test_attack_an_account_set_aside_while_it_was_made(two_people, tmp_path):
    """An account put in place and moved away before it had its note cannot come
    back."""
    place, aside = tmp_path / "clinic.account", tmp_path / "aside"
    for step in range(1, 27):
        interrupted(two_people, step)
        if place.exists():
            break
    place.rename(aside)
    assert read_witness(witness_file("clinic")).sequence == FRESH
    second = create_account(tmp_path / "other.account", "other", 3, two_people, RECORD)
    second.reserve("all", 3 * ONE, "")
    aside.rename(place)
    with pytest.raises(
        AccountError, match=r"the key of data set 'clinic', .* cannot be read"
    ):
        open_account(place)


def test_an_account_made_by_a_link_is_noted_beside_the_table(tmp_path, monkeypatch):
    """Else a second account could be made for it where the key is not at hand."""
    for name in ("keys", "other", "linked"):
        (tmp_path / name).mkdir(mode=0o700)
    table, link = tmp_path / "people.csv", tmp_path / "linked" / "link.csv"
    table.write_text("sex\nf\n")
    link.symlink_to("../people.csv")
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    create_account(tmp_path / "a", "a", "1", link, RECORD)
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "other"))
    for again in (table, link):
        with pytest.raises(AccountError, match="has an account already"):
            create_account(tmp_path / "b", "b", "1", again, RECORD)


def test_an_account_does_not_stand_where_the_note_beside_its_table_does(
    two_people, tmp_path, monkeypatch
):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    place = notes.note_of(two_people)
    with pytest.raises(AccountError, match="where the note beside the table stands"):
        create_account(place, "clinic", "1", two_people, RECORD)
    assert not place.exists()
    place.write_bytes(b"SQLite format 3\0")
    with pytest.raises(AccountError, match="is damaged: it names no file"):
        create_account(tmp_path / "a", "clinic", "1", two_people, RECORD)
