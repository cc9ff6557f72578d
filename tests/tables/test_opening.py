"""Making an account, killed at every step, and what it refuses to make."""

from __future__ import annotations

import signal
from fractions import Fraction

import pytest

from dpbayes.tables.keys import FRESH, AccountError, read_witness, witness_file
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.units import RECORD
from tests.tables.killing import killed_at

ONE = Fraction(1)


def test_bad_terms_are_refused_before_anything_is_made(two_people, tmp_path):
    path = tmp_path / "new.account"
    for changes in ({"dataset": "a/b"}, {"epsilon": 0}, {"neighbours": "none"}):
        given = {"dataset": "clinic", "epsilon": 1, "table": two_people, "unit": RECORD, **changes}
        with pytest.raises(ValueError, match="must be"):
            create_account(path, **given)
    with pytest.raises(AccountError, match="cannot be read"):
        create_account(path, "clinic", 1, tmp_path / "missing.csv", RECORD)
    assert list(tmp_path.glob("new*")) == []


def interrupted(folder, step):
    return killed_at(
        step,
        folder,
        imports="from dpbayes.tables import account, keys, opening",
        steps="opening.connected keys.write_witness os.fsync os.link keys.sync_folder "
        "opening.leave_note account.Account.append opening._refuse_second keys.file_digest",
        work='opening.create_account("clinic.account", "clinic", 3, "people.csv", opening.Unit())',
    )


def test_there_are_thirteen_steps_of_making_an_account(two_people, tmp_path):
    assert interrupted(tmp_path, 1000).stdout == "987\n"


@pytest.mark.slow
@pytest.mark.parametrize("step", range(1, 14))
def test_making_an_account_killed_at_any_step_is_mended_by_making_it_again(
    two_people, tmp_path, step
):
    assert interrupted(tmp_path, step).returncode == -signal.SIGKILL
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
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "clinic.account", "keys", "people.csv", "people.csv.dpbayes",
    ]  # fmt: skip


@pytest.mark.slow
def test_attack_an_account_set_aside_while_it_was_made(two_people, tmp_path):
    """An account put in place and moved away before it had its note cannot come back."""
    place, aside = tmp_path / "clinic.account", tmp_path / "aside"
    for step in range(1, 14):
        interrupted(tmp_path, step)
        if place.exists():
            break
    place.rename(aside)
    assert read_witness(witness_file("clinic")).sequence == FRESH
    second = create_account(tmp_path / "other.account", "other", 3, two_people, RECORD)
    second.reserve("all", 3 * ONE, "")
    aside.rename(place)
    with pytest.raises(AccountError, match="the key of data set 'clinic' is not at"):
        open_account(place)
