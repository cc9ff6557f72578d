"""What is kept apart from an account: the key, and the last entry seen."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpbayes.tables.keys import (
    AccountError,
    all_witnesses,
    creating,
    dataset_name,
    file_digest,
    forget_abandoned,
    keys_folder,
    new_witness,
    read_witness,
    witness_file,
    write_witness,
)


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "keys"
    monkeypatch.setenv("DPBAYES_KEYS", str(folder))
    return folder


def test_a_witness_comes_back_and_only_its_owner_can_read_it(keys: Path) -> None:
    witness = new_witness("clinic", Path("clinic.account")).seen(3, "ab")
    write_witness(witness)
    assert read_witness("clinic") == witness
    assert all_witnesses() == [witness]
    assert stat.S_IMODE(witness_file("clinic").stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert [path.name for path in keys.iterdir()] == ["clinic.key"]


def test_keys_are_fresh_and_long(keys: Path) -> None:
    drawn = {new_witness("clinic", Path("a")).key for _ in range(20)}
    assert len(drawn) == 20
    assert all(len(bytes.fromhex(key)) == 32 for key in drawn)


def test_signatures_and_fingerprints_are_hmacs(keys: Path, tmp_path: Path) -> None:
    witness = new_witness("clinic", Path("a"))
    key = bytes.fromhex(witness.key)
    assert witness.sign("00", "text") == hmac.digest(key, b"00|text", "sha256").hex()
    table = tmp_path / "people.csv"
    table.write_bytes(b"x" * 1_000_000)
    assert file_digest(table) == hashlib.sha256(table.read_bytes()).digest()
    assert witness.fingerprint(table) == hmac.digest(key, file_digest(table), "sha256").hex()
    assert witness.fingerprint(table) != new_witness("other", Path("a")).fingerprint(table)


def test_a_missing_or_damaged_key_is_named(keys: Path) -> None:
    with pytest.raises(AccountError, match=r"the key of data set 'clinic' is not at .*clinic\.key"):
        read_witness("clinic")
    keys.mkdir()
    for damage in (b"{", b"[]", b'{"key": "00"}', b"\xff", b"[" * 100_000):
        witness_file("clinic").write_bytes(damage)
        with pytest.raises(AccountError, match="is damaged"):
            read_witness("clinic")
    witness_file("clinic").unlink()
    witness_file("clinic").mkdir()
    with pytest.raises(AccountError, match=r"clinic\.key cannot be read: Is a directory"):
        read_witness("clinic")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dataset", "other"), ("dataset", None), ("account", 1), ("account", ""),
        ("key", "zz" * 32), ("key", "00"), ("key", None), ("sequence", -1), ("sequence", "1"),
        ("sequence", True), ("sequence", 1.5), ("digest", 5), ("tables", [1]), ("tables", "abc"),
        ("pending", 1),
    ],
)  # fmt: skip
def test_a_key_with_a_field_of_another_kind_is_damaged(
    keys: Path, field: str, value: object
) -> None:
    write_witness(new_witness("clinic", Path("clinic.account")))
    path = witness_file("clinic")
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(AccountError, match=rf"clinic\.key is damaged: .*{field}"):
        read_witness("clinic")


def test_only_keys_of_accounts_that_were_never_made_are_forgotten(
    keys: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.account"
    made.touch()
    for name, account, pending in (
        ("made", made, False),
        ("half", made, True),
        ("lost", tmp_path / "gone.account", False),
        ("never", tmp_path / "never.account", True),
    ):
        write_witness(replace(new_witness(name, account), pending=pending))
    forget_abandoned()
    assert [witness.dataset for witness in all_witnesses()] == ["half", "lost", "made"]


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
def test_names_of_data_sets_cannot_leave_the_folder(keys: Path, name: object) -> None:
    with pytest.raises(ValueError, match="dataset must be 1 to 64 letters"):
        dataset_name(name)


def test_without_a_folder_named_keys_are_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPBAYES_KEYS", raising=False)
    assert keys_folder() == Path.home() / ".config" / "dpbayes" / "keys"
