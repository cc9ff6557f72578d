"""An account: what it refuses, what it survives, and the ways to spend twice that it
notices.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbayes.tables import keys, notes
from dpbayes.tables.account import Account
from dpbayes.tables.keys import AccountError, read_witness, witness_file
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RECORD
from tests.tables.killing import killed_at

ONE = Fraction(1)


@pytest.fixture
def account(two_people, tmp_path):
    return create_account(tmp_path / "clinic.account", "clinic", 3, two_people, RECORD)


def test_spends_add_up_and_the_balance_is_exact(account):
    for place in range(10):
        assert account.reserve(f"request {place}", Fraction(1, 10), "a tenth")
    assert account.balance == 2
    assert open_account(account.path).spent == 1


def test_the_same_request_is_paid_once_keeps_its_first_result_and_asks_for_nothing_else(
    account,
):
    with pytest.raises(AccountError, match="request 'spring' has not been paid for"):
        account.keep("spring", "free")
    assert account.reserve("spring", ONE, "plan")
    assert not account.reserve("spring", ONE, "plan")
    assert account.keep("spring", "first") == "first"
    assert account.keep("spring", "second") == "first"
    assert open_account(account.path).result("spring") == "first"
    for epsilon, statement in ((ONE, "other"), (2 * ONE, "plan")):
        with pytest.raises(
            AccountError, match="request 'spring' was made for something else"
        ):
            account.reserve("spring", epsilon, statement)
    assert account.spent == 1


def test_overspending_is_refused_and_names_what_is_left(account):
    account.reserve("one", Fraction(5, 2), "")
    with pytest.raises(
        AccountError, match=r"epsilon must be at most 0\.5, .* got 0\.500001"
    ):
        account.reserve("two", Fraction(1, 2) + Fraction(1, 10**9), "")
    for nothing in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="epsilon must be positive"):
            account.reserve("two", nothing, "")
    assert account.reserve("two", Fraction(1, 2), "")
    assert account.balance == 0


def test_the_key_is_not_in_the_account(account):
    assert account.witness.key.encode() not in account.path.read_bytes()


def test_another_version_of_the_table_must_be_accepted(account, two_people):
    account.check_table(two_people)
    newer = two_people.with_name("newer.csv")
    newer.write_text(two_people.read_text() + "3,good\n")
    with pytest.raises(AccountError, match="is not one that account"):
        account.check_table(newer)
    account.accept(newer)
    for path in (two_people, newer):
        open_account(account.path).check_table(path)


@pytest.fixture
def second(account, tmp_path):
    """An account of a dummy file, beside that of two people."""
    dummy = tmp_path / "dummy.csv"
    dummy.write_text("nothing\n")
    return create_account(tmp_path / "two.account", "two", 3, dummy, RECORD)


@pytest.mark.parametrize("noted", [False, True])
def test_attack_a_table_is_taken_into_another_account(
    account, second, two_people, noted
):
    note = two_people.with_name("people.csv.dpbayes")
    if not noted:
        note.unlink()
    with pytest.raises(
        AccountError, match=r"has an account already: .*clinic\.account"
    ):
        second.accept(two_people)
    assert not noted or str(account.path) in note.read_text()
    with pytest.raises(AccountError, match="is not one that account"):
        second.check_table(two_people)
    account.accept(two_people)  # its own table, again


@pytest.mark.parametrize("change", ["\n", "4,poor\n"])
def test_attack_the_note_of_another_account_stays(account, second, two_people, change):
    """Where the bytes are others, or the key is not here, the note still tells."""
    two_people.write_text(two_people.read_text() + change)
    note = two_people.with_name("people.csv.dpbayes")
    before = note.read_bytes()
    with pytest.raises(AccountError, match=r"has an account already, says .*dpbayes"):
        second.accept(two_people)
    assert note.read_bytes() == before
    told = notes.leave_note(two_people, second.path, "two")
    assert told.endswith("names another account; it stays")
    assert note.read_bytes() == before


def test_an_older_version_that_is_put_back_is_refused_until_it_is_accepted(
    account, two_people
):
    older = two_people.read_bytes()
    first = account.check_table(two_people)
    two_people.write_bytes(older + b"3,good\n")
    account.accept(two_people)
    account.check_table(two_people)
    two_people.write_bytes(older)
    told = "is not one that account .* stands for: .* by its entry 2; put that back"
    with pytest.raises(AccountError, match=told) as refused:
        account.check_table(two_people)
    assert f"dpbayes account accept {account.path} {two_people}" in str(refused.value)
    account.accept(two_people)
    again = account.check_table(two_people)
    assert again != first
    account.check_reading(two_people, again, keys.file_digest(two_people))


def test_a_version_is_what_was_accepted_whatever_is_in_it(account, two_people):
    first = account.check_table(two_people)
    account.accept(two_people)  # the same bytes: paid anew like others
    again = account.check_table(two_people)
    assert first != again == open_account(account.path).check_table(two_people)
    other = two_people.with_name("copy.csv")
    shutil.copy(two_people, other)
    with pytest.raises(AccountError, match=r"copy\.csv is a copy of .*people\.csv"):
        account.check_table(other)
    account.accept(other)
    marks = account.check_table(other), account.check_table(two_people)
    assert marks[0] not in (first, again)
    assert marks[1] == again
    account.check_reading(other, marks[0], keys.file_digest(other))
    other.write_text("x\n")
    with pytest.raises(AccountError, match="changed while it was counted"):
        account.check_reading(other, marks[0], keys.file_digest(other))


@contextmanager
def held(path: Path, *statements: str) -> Iterator[None]:
    """Let another program hold an account."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
        yield


@pytest.mark.parametrize(
    "statements",
    [
        ("BEGIN EXCLUSIVE",),
        ("PRAGMA journal_mode = WAL", "BEGIN", "SELECT * FROM entries"),
    ],
)
def test_an_account_in_use_is_not_damaged(account, monkeypatch, statements):
    monkeypatch.setattr(keys, "WAIT", 0.2)
    account.reserve("one", ONE, "")
    with held(account.path, *statements):
        for work in (
            lambda: open_account(account.path),
            lambda: account.reserve("two", ONE, ""),
        ):
            with pytest.raises(AccountError, match="is in use by another") as told:
                work()
            assert "damaged" not in str(told.value)
            assert "new one" not in str(told.value)
    assert open_account(account.path).spent == 1


@pytest.mark.parametrize("code", [3, 8, 14, 8 | 2 << 8])
def test_an_account_that_may_not_be_written_is_not_damaged(account, monkeypatch, code):
    """As SQLite tells it: these tests may run as root, who may do everything."""

    def refused(*_, **__):
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(sqlite3, "connect", refused)
    with pytest.raises(AccountError, match="permission denied") as told:
        open_account(account.path)
    assert "damaged" not in str(told.value)
    assert "new one" not in str(told.value)


def test_an_account_that_is_taken_away_meanwhile_is_missed(account):
    moved = account.path.rename(account.path.with_name("elsewhere"))
    with pytest.raises(AccountError, match="is not there any more: put the file back"):
        _ = account.balance
    assert not account.path.exists()
    moved.rename(account.path)
    assert account.balance == 3


def test_a_folder_of_keys_that_others_can_write_is_refused_with_its_mode(account):
    folder = keys.keys_folder()
    for mode in (0o777, 0o722, 0o770):
        folder.chmod(mode)
        with pytest.raises(AccountError, match=f"has mode {mode:04o}: .* chmod 700"):
            open_account(account.path)
    folder.chmod(0o755)
    assert open_account(account.path).balance == 3


def test_parts_of_keys_that_kills_left_are_cleared(account):
    folder = keys.keys_folder()
    gone, mine = (folder / f"clinic.key.{p}.part" for p in (2**22 + 7, os.getpid()))
    for part in (gone, mine):
        part.touch()
    open_account(account.path)
    assert (gone.exists(), mine.exists()) == (False, True)


@pytest.mark.parametrize("keyed", [False, True])
def test_without_a_home_the_folder_of_keys_must_be_named(account, monkeypatch, keyed):
    def homeless(self):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    if keyed:
        assert open_account(account.path).balance == 3
        return
    monkeypatch.delenv("DPBAYES_KEYS")
    with pytest.raises(AccountError, match="must be named in DPBAYES_KEYS"):
        open_account(account.path)


def test_places_that_are_no_folders_are_refused_in_words(
    account, two_people, tmp_path, monkeypatch
):
    file = tmp_path / "file"
    file.write_text("x")
    other = tmp_path / "other.csv"
    other.write_text("x\n")
    with pytest.raises(AccountError, match=r"cannot be made there: .* can be written"):
        create_account(file / "a", "o", 1, other, RECORD)
    assert not witness_file("o").exists()
    monkeypatch.setenv("DPBAYES_KEYS", str(file))
    with pytest.raises(AccountError, match=r"the folder of keys, .*, cannot be made"):
        create_account(tmp_path / "a", "o", 1, other, RECORD)
    assert not (tmp_path / "a").exists()
    with pytest.raises(AccountError, match="the key of data set 'clinic'"):
        open_account(account.path)


# Twelve ways to spend twice.


def test_attack_a_second_account_for_the_same_table(account, two_people, tmp_path):
    with pytest.raises(AccountError, match="has an account already"):
        create_account(tmp_path / "second.account", "other-name", 3, two_people, RECORD)
    two_people.with_name("other.csv").write_text("something else\n")
    with pytest.raises(AccountError, match="data set 'clinic' has an account already"):
        create_account(
            tmp_path / "second.account", "clinic", 3, tmp_path / "other.csv", RECORD
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_budget_chosen_from_the_first_release_is_within_the_largest_sum(seed):
    # Three outputs at first; what each is followed by has an epsilon and a delta of its
    # own.
    rng = np.random.default_rng(seed)
    first = rng.dirichlet(np.ones(3), 2)
    bound = float(np.abs(np.log(first[0] / first[1])).max()) * 0.7
    lost = excess(first, bound)
    spent = rng.uniform(0.01, 1.0, 3)
    later = [rng.dirichlet(np.ones(4), 2) for _ in spent]
    deltas = [excess(one, e) for one, e in zip(later, spent, strict=True)]
    joint = np.array([np.outer(first[i], np.ones(4)) for i in (0, 1)])
    joint *= np.array([[one[i] for one in later] for i in (0, 1)])
    together = excess(joint.reshape(2, -1), bound + spent.max())
    assert together <= lost + max(deltas) + 1e-12


def excess(laws: np.ndarray, epsilon: float) -> float:
    """Return the least delta of two laws at an epsilon, in either order."""
    return max(
        float(np.maximum(a - np.exp(epsilon) * b, 0).sum())
        for a, b in (laws, laws[::-1])
    )


@pytest.mark.parametrize("spent", [False, True])
@pytest.mark.parametrize("noted", [False, True])
def test_attack_the_account_is_deleted(account, two_people, spent, noted):
    """Where nothing was paid, whoever deletes the note as well may make it again."""
    if spent:
        account.reserve("one", ONE, "")
    account.path.unlink()
    if not noted:
        two_people.with_name("people.csv.dpbayes").unlink()
    with pytest.raises(AccountError, match="no account at"):
        open_account(account.path)
    if not spent and not noted:
        assert (
            create_account(account.path, "clinic", 3, two_people, RECORD).balance == 3
        )
        return
    with pytest.raises(AccountError, match="has an account already"):
        create_account(account.path, "clinic", 3, two_people, RECORD)


def test_attack_an_account_is_made_again_while_the_first_is_paid_from(
    account, two_people, monkeypatch
):
    """The file is deleted and made again after a spend is written, before its key has
    moved.
    """
    move = Account._move_witness

    def between(self, connection):
        monkeypatch.setattr(Account, "_move_witness", move)
        account.path.unlink()
        two_people.with_name("people.csv.dpbayes").unlink()
        create_account(account.path, "clinic", 3, two_people, RECORD)
        move(self, connection)

    monkeypatch.setattr(Account, "_move_witness", between)
    with pytest.raises(AccountError, match="was replaced by"):
        account.reserve("one", ONE, "")
    with pytest.raises(AccountError, match=r"does not match its digest|rolled back"):
        account.reserve("two", ONE, "")
    assert open_account(account.path).spent == 0


def test_attack_an_older_copy_is_put_back(account, tmp_path):
    copy = tmp_path / "copy"
    shutil.copy(account.path, copy)
    account.reserve("one", ONE, "")
    shutil.copy(copy, account.path)
    with pytest.raises(AccountError, match="was rolled back: entry 2"):
        open_account(account.path)


def test_attack_a_copy_is_used_beside_the_account(account, tmp_path):
    copy = tmp_path / "copy.account"
    shutil.copy(account.path, copy)
    with pytest.raises(AccountError, match="is a copy of it"):
        open_account(copy)


def edited(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_attack_the_last_entries_are_cut_off(account):
    account.reserve("one", ONE, "")
    edited(account.path, "DELETE FROM entries WHERE sequence = 2")
    with pytest.raises(AccountError, match="rolled back"):
        open_account(account.path)


@pytest.mark.parametrize("change", ["epsilon = '1/100'", "time = ''"])
def test_attack_a_spend_is_rewritten(account, change):
    account.reserve("one", ONE, "")
    edited(account.path, f"UPDATE entries SET {change} WHERE sequence = 2")
    with pytest.raises(AccountError, match="entry 2 does not match its digest"):
        open_account(account.path)


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        (
            "AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE sequence ="
            " NEW.sequence; END"
        ),
        (
            "AFTER INSERT ON entries BEGIN UPDATE entries SET epsilon = '1/9' WHERE"
            " sequence > 1; END"
        ),
    ],
)
def test_attack_a_file_that_does_not_keep_what_is_written(account, trigger):
    edited(account.path, f"CREATE TRIGGER forgetful {trigger}")
    opened = open_account(account.path)
    with pytest.raises(AccountError, match="does not keep what is written to it"):
        opened.reserve("one", ONE, "")
    edited(account.path, "DROP TRIGGER forgetful")
    assert open_account(account.path).spent == 0
    assert opened.reserve("one", ONE, "")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE entries SET epsilon = '1e999999999' WHERE sequence = 2",
        "UPDATE entries SET epsilon = '1;2' WHERE sequence = 2",
        """UPDATE entries SET body = replace(body, '"3"', '"3e999999999"')
        WHERE sequence = 0""",
        """UPDATE entries SET body = replace(body, '"clinic"', '"../clinic"')
        WHERE sequence = 0""",
    ],
)
def test_attack_a_number_that_would_take_for_ever_or_a_name_elsewhere(account, edit):
    account.reserve("one", ONE, "")
    edited(account.path, edit)
    with pytest.raises(AccountError, match="cannot be read"):
        open_account(account.path)


def test_attack_both_places_are_rolled_back_and_a_receipt_tells(account, tmp_path):
    key, copy, old_key = witness_file("clinic"), tmp_path / "copy", tmp_path / "old-key"
    shutil.copy(account.path, copy)
    shutil.copy(key, old_key)
    account.reserve("one", ONE, "")
    receipt = account.receipt
    shutil.copy(copy, account.path)
    shutil.copy(old_key, key)
    rolled = open_account(account.path)
    assert rolled.spent == 0
    with pytest.raises(AccountError, match="was rolled back or rewritten since"):
        rolled.verify([receipt])


@pytest.mark.parametrize("path", [":memory:", "", " ", "bad\0name"])
def test_attack_an_account_in_memory(path, two_people):
    with pytest.raises(ValueError, match="account must be the path of a file"):
        create_account(path, "clinic", 3, two_people, RECORD)


def test_attack_a_mistyped_path(account):
    wrong = account.path.with_name("clinik.account")
    with pytest.raises(AccountError, match=r"no account at .*clinik\.account"):
        open_account(wrong)
    assert not wrong.exists()


def paid_tenths(path: Path, name: str) -> int:
    account, paid = open_account(path), 0
    for place in range(20):
        with suppress(AccountError):
            paid += account.reserve(f"{name} {place}", Fraction(1, 10), "")
    return paid


@pytest.mark.slow
def test_attack_two_processes_at_once(account):
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        assert sum(pool.map(paid_tenths, [account.path] * 2, "ab")) == 30
    assert open_account(account.path).balance == 0
    assert (
        read_witness(witness_file(account.dataset)).sequence == len(account.entries) - 1
    )


@pytest.mark.parametrize("step", range(1, 33))
def test_attack_killed_between_any_two_steps(account, step):
    """A process killed at any step leaves a whole account, with the spend in it or
    not."""

    def work():
        opened = open_account(account.path)
        opened.reserve("killed", ONE, "plan")
        opened.keep("killed", "draw")

    writes = (Account, "append"), (Account, "_move_witness"), (os, "fsync")
    watched = *writes, (keys, "write_witness"), (keys, "read_witness")
    assert killed_at(step, work, *watched) == -signal.SIGKILL
    again = open_account(account.path)
    assert again.spent in (0, 1)
    again.reserve("killed", ONE, "plan")
    assert again.spent == 1
    assert again.keep("killed", "draw") == "draw"


def test_attack_the_clock_is_set_back(account, monkeypatch):
    account.reserve("one", ONE, "")
    monkeypatch.setattr(
        time, "gmtime", lambda: time.struct_time((1999, 1, 1, 0, 0, 0, 4, 1, 0))
    )
    account.reserve("two", ONE, "")
    again = open_account(account.path)
    assert (again.spent, again.entries[-1].time[:4]) == (2, "1999")
