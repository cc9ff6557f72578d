"""Making the account of a table, and opening it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path

from dpbayes._validate import choice, instance
from dpbayes.mechanisms.protocol import Epsilon, exact_epsilon, given_epsilon
from dpbayes.tables import keys
from dpbayes.tables.account import SCHEMA, Account, exact
from dpbayes.tables.keys import AccountError, Witness, connected, witness_file
from dpbayes.tables.units import RELATIONS, Unit

FORMAT = 4


def create_account(
    path: str | Path,
    dataset: str,
    epsilon: Epsilon,
    table: str | Path,
    unit: Unit,
    neighbours: str = "replace-one",
) -> Account:
    """Make the account of a data set and return it; its key goes to the folder of keys.

    `epsilon` > 0 bounds all spends together, `table` is the file the data set consists
    of, `unit` whom the bound protects. A path that exists is refused, and a data set or
    a table that has an account already, as the keys or the note beside the table tell.
    A crash leaves a key at most, under which nothing was paid; making the account again
    replaces it.
    """
    place, table = _file_path(path), Path(table)
    bound = exact_epsilon(given_epsilon(epsilon))
    choice("neighbours", neighbours, RELATIONS)
    unit = instance("unit", unit, Unit)
    witness = Witness(
        keys.dataset_name(dataset), str(place.absolute()), secrets.token_hex(32)
    )
    with keys.creating():
        digest = keys.file_digest(table)
        _refuse_second(place, dataset, table, digest)
        account = Account(place, dataset, bound, neighbours, unit, witness)
        terms = {"format": FORMAT, "dataset": dataset, "neighbours": neighbours}
        terms |= {"bound": str(bound), "unit": asdict(unit)}
        begun = {"table": witness.sign(digest), "path": str(table.absolute())}
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.dpbayes-part")
        part.unlink(missing_ok=True)
        with connected(part, new=True) as connection:
            connection.execute(SCHEMA)
            account.append(connection, "open", "", terms)
            last = account.append(connection, "table", "", begun)
        account.witness = replace(witness, digest=last.digest, tables=[begun["table"]])
        keys.write_witness(account.witness)
        try:
            os.link(part, place)
        except FileExistsError:
            raise AccountError(f"account {place} exists already") from None
        finally:
            part.unlink()
        keys.sync_folder(place.parent)
    leave_note(table, account)
    return account


def open_account(path: str | Path) -> Account:
    """Return the account at `path`; AccountError where there is none, or it is not
    whole.
    """
    place = _file_path(path)
    if not place.is_file():
        raise AccountError(
            f"no account at {place.absolute()}; make one: dpbayes account create"
        )
    try:
        with connected(place) as connection:
            terms = json.loads(
                connection.execute("SELECT body FROM entries").fetchone()[0]
            )
        if terms["format"] != FORMAT:
            raise ValueError(
                f"its format is {terms['format']!r}, this version reads {FORMAT}"
            )
        dataset, neighbours = keys.dataset_name(terms["dataset"]), terms["neighbours"]
        bound, unit = exact(terms["bound"]), Unit(**terms["unit"])
    except (TypeError, KeyError, ValueError) as error:
        raise AccountError(
            f"{place} is no account of this version, or damaged: its terms cannot be"
            f" read ({error}). Where it is an old one, make a new one with what was"
            " left as its epsilon"
        ) from error
    witness = keys.read_witness(witness_file(dataset))
    if Path(witness.account).resolve() != place.resolve():
        raise AccountError(
            f"the account of data set {dataset!r} is {witness.account}; {place} is a"
            " copy of it. If it was moved on purpose, correct the path in the key file"
        )
    account = Account(place, dataset, bound, neighbours, unit, witness)
    last = account.entries[-1]
    if last.sequence == keys.FRESH:  # it may have been made without a note
        leave_note(Path(last.fields["path"]), account)
    return account


def note_of(table: Path) -> Path:
    """Return where the note stands that says which account a table has."""
    return table.with_name(f"{table.name}.dpbayes")


def leave_note(table: Path, account: Account) -> str:
    """Write beside a table which account it has; return where, or why that was not
    possible.
    """
    note = (
        f"{account.path.absolute()}\nis the account of {table.name}, data set"
        f" {account.dataset}: all releases and answers are paid there, and no other"
        " account is made for it.\n"
    )
    try:
        note_of(table).write_text(note, encoding="utf-8")
    except OSError:
        return "none: the folder of the table is read-only"
    return str(note_of(table))


def _refuse_second(place: Path, dataset: str, table: Path, digest: bytes) -> None:
    """Refuse a second account; a key for this one under which nothing was paid is taken
    away.
    """
    if place.exists():
        raise AccountError(
            f"account {place} exists already: pay from it, or name another file"
        )
    unused = []
    for folder in {keys.keys_folder(), Path(keys.KNOWN).expanduser()}:
        for path in folder.glob("*.key"):
            witness = keys.read_witness(path)
            named = witness.dataset == dataset and folder == keys.keys_folder()
            if not named and witness.sign(digest) not in witness.tables:
                continue
            if witness.sequence > keys.FRESH or Path(witness.account).exists():
                what = f"data set {dataset!r}" if named else f"table {table}"
                told = f"{witness.account} (data set {witness.dataset!r}); pay from it"
                raise AccountError(f"{what} has an account already: {told}")
            unused.append(path)
    if note_of(table).exists():
        raise AccountError(
            f"table {table} has an account already, says {note_of(table)}, and its key"
            " is not here: it is in another folder, of another user, or lost; a second"
            " account would promise twice as much. If nothing was ever spent there,"
            " delete the note"
        )
    for path in unused:
        path.unlink()


def _file_path(path: str | Path) -> Path:
    text = str(path)
    if not text.strip() or text.startswith(":") or "\0" in text:
        raise ValueError(f"account must be the path of a file, got {text!r}")
    return Path(text)
