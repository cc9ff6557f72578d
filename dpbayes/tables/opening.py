"""Making the account of a table, and opening it."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpbayes.mechanisms.guarantees import NEIGHBOURS, Epsilon, exact_epsilon, given_epsilon
from dpbayes.tables.account import Account
from dpbayes.tables.chain import SCHEMA, Chain, connected, exact, lines_of
from dpbayes.tables.keys import (
    AccountError,
    all_witnesses,
    creating,
    dataset_name,
    file_digest,
    forget_abandoned,
    new_witness,
    others_for,
    read_witness,
    sync_folder,
    write_witness,
)
from dpbayes.tables.units import Unit

FORMAT = 2
NOTE = ".dpbayes"
"""Ending of the note beside a table that says which account it has."""


def create_account(
    path: str | Path,
    dataset: str,
    epsilon: Epsilon,
    table: str | Path,
    unit: Unit,
    neighbours: str = "replace-one",
    receipts: str | Path | None = None,
    delta: Epsilon = 0,
) -> Account:
    r"""Make the account of a data set and return it; its key goes to the folder of keys.

    `epsilon` > 0 and `delta` in [0, 1) bound all spends together, `table` is the file the data set
    consists of, `unit` whom the bound protects, `receipts` a second file to which a line is added
    for each entry. A data set or a table that has an account already is refused, as the keys here
    and in the known folder tell, or the note beside the table; so is a path that exists. The key is
    written first, marked as pending, then the account appears as a whole, then the mark is taken
    off. A crash in between is mended by making the account again, or by opening it.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\n")
    ...     account = create_account(Path(folder) / "a", "clinic", "0.3", table, Unit())
    ...     account.dataset, account.bound, account.receipt.sequence
    ('clinic', Fraction(3, 10), 1)
    """
    place, name = _file_path(path), dataset_name(dataset)
    bound, slack = exact_epsilon(given_epsilon(epsilon)), given_delta(delta)
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours must be one of {', '.join(NEIGHBOURS)}, got {neighbours!r}")
    second = None if receipts is None else str(Path(receipts).absolute())
    if not isinstance(unit, Unit):
        raise TypeError(f"unit must be a Unit, got {unit!r}")
    with creating():
        forget_abandoned()
        if place.exists():
            raise AccountError(f"account {place} exists already")
        _refuse_second_account(Path(table))
        witness = new_witness(name, place)
        account = Account(bound, neighbours, unit, slack, Chain(place, name, second, witness))
        _written(account, Path(table))
    account._chain.settled()
    return open_account(place)


def _written(account: Account, table: Path) -> None:
    """Write the file beside its place, then its key as pending, put it in place, free the key."""
    place, chain, witness = account.path, account._chain, account._chain.witness
    fingerprint = witness.fingerprint(table)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.dpbayes-part")
    part.unlink(missing_ok=True)
    with connected(part, new=True) as connection:
        connection.execute(SCHEMA)
        chain.append(connection, "open", "", _terms(account))
        chain.append(connection, "table", "", {"table": fingerprint, "path": str(table.absolute())})
    last = chain.entries[-1]
    seen = replace(witness.seen(last.sequence, last.digest), tables=(fingerprint,))
    write_witness(replace(seen, pending=True))
    try:
        os.link(part, place)
    except FileExistsError:
        raise AccountError(f"account {place} exists already") from None
    finally:
        part.unlink()
    sync_folder(place.parent)
    leave_note(table, account)
    write_witness(seen)


def _terms(account: Account) -> dict[str, object]:
    return {
        "format": FORMAT,
        "dataset": account.dataset,
        "bound": str(account.bound),
        "neighbours": account.neighbours,
        "receipts": account.receipts,
        "unit": account.unit.fields(),
        "delta": str(account.delta_bound),
    }


def given_delta(value: Epsilon) -> Fraction:
    """Return the exact delta that text or a number stands for; it lies in [0, 1).

    >>> given_delta("1e-6"), given_delta(0)
    (Fraction(1, 1000000), Fraction(0, 1))
    """
    try:
        plain = isinstance(value, str) and "/" not in value
        zero = (Decimal(str(value)) if plain else value) == 0
        delta = Fraction(0) if zero else exact_epsilon(given_epsilon(value))
    except (ValueError, TypeError, ArithmeticError):
        delta = Fraction(-1)
    if isinstance(value, bool) or not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and below 1, got {value!r}")
    return delta


def open_account(path: str | Path) -> Account:
    """Return the account at `path`; AccountError where there is none, or it is not whole.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     open_account(Path(folder) / "clinik.account")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpbayes.tables.keys.AccountError: no account at ...clinik.account; make one with: ...
    """
    place = _file_path(path)
    if not place.is_file():
        raise AccountError(_absence(place))
    terms = _terms_of(place)
    try:
        bounds, unit = (exact(terms["bound"]), exact(terms["delta"])), Unit.of(terms["unit"])
        named = dataset_name(terms["dataset"]), terms["neighbours"], terms["receipts"]
    except (TypeError, KeyError, ValueError) as error:
        raise AccountError(f"account {place} is damaged: its terms cannot be read") from error
    witness = read_witness(named[0])
    chain = Chain(place, named[0], named[2], witness)
    account = Account(bounds[0], named[1], unit, bounds[1], chain)
    if Path(witness.account).resolve() != place.resolve():
        raise AccountError(
            f"the account of data set {account.dataset!r} is {witness.account}; {place} is a copy "
            f"of it. If it was moved on purpose, correct the path in the key file"
        )
    account.verify([])
    if witness.pending:
        _finish(account)
    return account


def _terms_of(path: Path) -> dict[str, Any]:
    """Return what an account was made on; AccountError where that cannot be told, or is old."""
    with connected(path) as connection:
        try:
            row = connection.execute("SELECT body FROM entries WHERE sequence = 0").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                raise AccountError(f"{path} is no account: it has no entries") from None
            raise
    try:
        terms: dict[str, Any] = json.loads(row[0])
        made = terms["format"]
    except (TypeError, KeyError, ValueError) as error:
        raise AccountError(f"account {path} is damaged: its terms cannot be read") from error
    if made != FORMAT:
        raise AccountError(
            f"account {path} has format {made!r}, which states no unit of protection; this version "
            f"reads format {FORMAT}. Make a new account (another name of the data set), with what "
            "was left as its epsilon"
        )
    return terms


def _finish(account: Account) -> None:
    """Free the key of an account that was put in place just before its maker was interrupted."""
    with creating():
        newest = read_witness(account.dataset)
        if newest.pending:
            leave_note(Path(account.entries[1].fields["path"]), account)
            write_witness(replace(newest, pending=False))
    account._chain.witness = read_witness(account.dataset)


def _absence(place: Path) -> str:
    """Say that there is no account here, and what to do about it."""
    where = place.absolute()
    try:
        interrupted = any(w.abandoned and Path(w.account) == where for w in all_witnesses())
    except AccountError:
        interrupted = False
    if interrupted:
        return (
            f"no account at {where}: its making was interrupted before anything was spent; give "
            "the same command again: dpbayes account create"
        )
    return f"no account at {where}; make one with: dpbayes account create"


def leave_note(table: Path, account: Account) -> bool:
    """Write beside a table which account it has; return whether that was possible."""
    note = table.with_name(table.name + NOTE)
    try:
        note.write_text(
            f"{account.path.absolute()}\nis the account of {table.name}, data set "
            f"{account.dataset}: all releases and answers are paid there, and no other account "
            "is made for it.\n",
            encoding="utf-8",
        )
    except OSError:
        return False
    return True


def _refuse_second_account(table: Path) -> None:
    file_digest(table)
    for account, dataset in others_for(table):
        raise AccountError(
            f"table {table} has an account already: {account} (data set {dataset!r})"
        )
    note = table.with_name(table.name + NOTE)
    lines = lines_of(note)
    if lines:
        raise AccountError(
            f"table {table} has an account already: {lines[0]}, says {note}. Its key is in another "
            "folder, of another user, or lost; a second account would promise twice as much. If "
            "nothing was ever spent there, delete the note"
        )


def _file_path(path: str | Path) -> Path:
    text = str(path)
    if not text.strip() or text.startswith(":") or "\0" in text:
        raise ValueError(f"account must be the path of a file, got {text!r}")
    return Path(text)
