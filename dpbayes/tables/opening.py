"""Making the account of a table, and opening it."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

from dpbayes._validate import choice, instance
from dpbayes._validate import path as file_path
from dpbayes.mechanisms.protocol import Epsilon, exact_epsilon, given_epsilon
from dpbayes.tables import keys, notes
from dpbayes.tables.account import Account
from dpbayes.tables.entries import SCHEMA, exact
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
    place, table = _file_path(path), file_path("table", table)
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
        begun = {"table": witness.sign(digest), "path": str(table.resolve())}
        part = place.with_name(f".{place.name}.dpbayes-part")
        _make_room(place, part)
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
    notes.leave_note(table, place, dataset)
    return account


def open_account(path: str | Path) -> Account:
    """Return the account at `path`; AccountError where there is none, or it is not
    whole.
    """
    place = _file_path(path)
    keys.require_file(
        place,
        f"no account at {place.absolute()}; make one: dpbayes account create",
    )
    with connected(place) as connection:
        terms = _terms(place, connection)
    dataset, neighbours, bound, unit = terms
    witness = keys.read_witness(witness_file(dataset))
    if Path(witness.account).resolve() != place.resolve():
        raise AccountError(
            f"the account of data set {dataset!r} is {witness.account}; {place} is a"
            " copy of it. If it was moved on purpose, correct the path in the key file"
        )
    keys.clear_parts(dataset)
    account = Account(place, dataset, bound, neighbours, unit, witness)
    last = account.entries[-1]
    if last.sequence == keys.FRESH:  # it may have been made without a note
        notes.leave_note(Path(last.fields["path"]), place, dataset)
    return account


def _terms(
    place: Path, connection: sqlite3.Connection
) -> tuple[str, str, Fraction, Unit]:
    """Return the data set, relation, bound and unit of an account."""
    try:
        (body,) = connection.execute("SELECT body FROM entries").fetchone()
        terms = json.loads(body)
        if terms["format"] != FORMAT:
            raise ValueError(
                f"its format is {terms['format']!r}, this version reads {FORMAT}"
            )
        choice("neighbours", terms["neighbours"], RELATIONS)
        return (
            keys.dataset_name(terms["dataset"]),
            terms["neighbours"],
            exact(terms["bound"]),
            Unit(**terms["unit"]),
        )
    except (TypeError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise AccountError(
            f"{place} is no account of this version, or damaged: its terms cannot be"
            f" read ({error}). Where it is an old one, make a new one with what was"
            " left as its epsilon"
        ) from error


def _make_room(place: Path, part: Path) -> None:
    """Make the folder of a new account, and take away what a crash left there."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        part.touch()
        part.unlink()
    except OSError as error:
        raise AccountError(
            f"account {place} cannot be made there: {error.strerror}; name a folder"
            " that can be written"
        ) from error


def _refuse_second(place: Path, dataset: str, table: Path, digest: bytes) -> None:
    """Refuse a second account; a key for this one under which nothing was paid is taken
    away.
    """
    if place.exists():
        raise AccountError(
            f"account {place} exists already: pay from it, or name another file"
        )
    if place.resolve() == notes.note_of(table).resolve():
        raise AccountError(
            f"account {place} must not be where the note beside the table stands: name"
            " another file"
        )
    unused = []
    for path, witness, named in notes.owners(dataset, digest):
        if witness.sequence > keys.FRESH or Path(witness.account).exists():
            notes.refuse_owned(table, witness, named)
        unused.append(path)
    notes.refuse_noted(table)
    for path in unused:
        path.unlink()


def _file_path(path: str | Path) -> Path:
    """Return the path of an account's file; ValueError for what is none."""
    file_path("account", path)
    text = str(path)  # of a Path, "" would be the folder one is in
    if not text.strip() or text.startswith(":") or "\0" in text:
        raise ValueError(f"account must be the path of a file, got {text!r}")
    return Path(text)
