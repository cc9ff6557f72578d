"""The files of an account: entries, receipts, the key kept elsewhere, and files that are none."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import sqlite3
import stat
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpbayes.tables.keys import (
    SCHEMA,
    AccountError,
    Entry,
    Witness,
    connected,
    creating,
    dataset_name,
    file_digest,
    keys_folder,
    read_entries,
    read_witness,
    witness_file,
    write_witness,
)
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RECORD

ONE = Fraction(1)
WITNESS = Witness("clinic", "clinic.account", "ab" * 32)


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "keys"
    monkeypatch.setenv("DPBAYES_KEYS", str(folder))
    return folder


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"schema"])
def test_a_file_that_is_no_account_is_named(tmp_path, two_people, content):
    path = tmp_path / "x"
    create_account(path, "clinic", 1, two_people, RECORD)
    spoilt = path.read_bytes().replace(b"CREATE TABLE entries", b"CREATE TABLE \xff\xfetr (")
    path.write_bytes(spoilt if content == b"schema" else content)
    with pytest.raises(AccountError, match=r"x (is damaged|is no account|cannot be used)"):
        open_account(path)


def test_an_entry_is_read_as_it_was_written(tmp_path):
    with sqlite3.connect(tmp_path / "a") as connection:
        connection.execute(SCHEMA)
        entry = Entry(3, "spend", "a", Fraction(1, 3), "what", "now", "digest")
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry.row())
        assert read_entries(tmp_path, connection, 1) == [entry]
        # The digest covers the number, the amount, what was bought, and when.
        for change in ({"sequence": 4}, {"epsilon": ONE}, {"body": "other"}, {"kind": "result"},
                       {"request": "b"}, {"time": "then"}):  # fmt: skip
            assert replace(entry, **change).signed(WITNESS, "") != entry.signed(WITNESS, "")
        for broken in ("x", "1/0", "1;x", "-1", "1e9", "1_0", "٣", "", " 1"):
            connection.execute("UPDATE entries SET epsilon = ?", (broken,))
            with pytest.raises(AccountError, match="an entry cannot be read"):
                read_entries(tmp_path, connection, 0)


def test_opening_makes_no_file(tmp_path):
    with pytest.raises(AccountError, match="none cannot be used"), connected(tmp_path / "none"):
        pass
    assert not (tmp_path / "none").exists()


def test_a_witness_comes_back_and_only_its_owner_can_read_it(keys: Path) -> None:
    with creating():
        pass
    witness = replace(WITNESS, sequence=3, digest="ab")
    write_witness(witness)
    assert read_witness(witness_file("clinic")) == witness
    assert stat.S_IMODE(witness_file("clinic").stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert {path.name for path in keys.iterdir()} == {"creating.lock", "clinic.key"}


def test_signatures_and_fingerprints_are_hmacs(tmp_path: Path) -> None:
    key = bytes.fromhex(WITNESS.key)
    assert WITNESS.sign("00", "text") == hmac.digest(key, b"00|text", "sha256").hex()
    table = tmp_path / "people.csv"
    table.write_bytes(b"x" * 1_000_000)
    digest = hashlib.sha256(table.read_bytes()).digest()
    assert file_digest(table) == digest
    assert WITNESS.fingerprint(digest) == hmac.digest(key, digest, "sha256").hex()


def test_a_missing_or_damaged_key_is_named(keys: Path) -> None:
    place = witness_file("clinic")
    with pytest.raises(AccountError, match=r"the key of data set 'clinic' is not at .*clinic\.key"):
        read_witness(place)
    keys.mkdir()
    for damage in (b"{", b"[]", b'{"key": "00"}', b"\xff", b"[" * 100_000):
        place.write_bytes(damage)
        with pytest.raises(AccountError, match="is damaged"):
            read_witness(place)
    place.unlink()
    place.mkdir()
    with pytest.raises(AccountError, match=r"clinic\.key cannot be read: Is a directory"):
        read_witness(place)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dataset", "other"), ("dataset", None), ("account", 1), ("key", "zz" * 32), ("key", "00"),
        ("key", None), ("sequence", "1"), ("sequence", True), ("sequence", 1.5), ("digest", 5),
        ("tables", "abc"), ("more", 1),
    ],
)  # fmt: skip
def test_a_key_with_a_field_of_another_kind_is_damaged(
    keys: Path, field: str, value: object
) -> None:
    keys.mkdir()
    write_witness(WITNESS)
    path = witness_file("clinic")
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(AccountError, match=r"clinic\.key is damaged: "):
        read_witness(path)


def hold(seconds: float, ready) -> None:
    with creating():
        ready.set()
        time.sleep(seconds)


def test_one_process_at_a_time_makes_an_account(keys: Path) -> None:
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


@pytest.mark.parametrize("name", ["", "a b", "../x", ".hidden", "x" * 65, 3, None])
def test_names_of_data_sets_cannot_leave_the_folder(name: object) -> None:
    with pytest.raises(ValueError, match="dataset must be 1 to 64 letters"):
        dataset_name(name)


def test_without_a_folder_named_keys_are_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPBAYES_KEYS", raising=False)
    assert keys_folder() == Path.home() / ".config" / "dpbayes" / "keys"
