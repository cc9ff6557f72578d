"""Making the account of a table, and opening it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dpbayes._validate import choice, instance
from dpbayes.mechanisms.protocol import Epsilon, exact_epsilon, given_epsilon
from dpbayes.tables import keys
from dpbayes.tables.account import Account
from dpbayes.tables.chain import SCHEMA, exact, lines_of
from dpbayes.tables.keys import AccountError, Witness, connected, witness_file
from dpbayes.tables.units import RELATIONS, Unit

FORMAT = 3
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
) -> Account:
    r"""Make the account of a data set and return it; its key goes to the folder of keys.

    `epsilon` > 0 bounds all spends together, `table` is the file the data set consists of, `unit`
    whom the bound protects, `receipts` a second file that gets a line for each entry. A data set or
    a table that has an account already is refused, as the keys here and in the known folder tell,
    or the note beside the table; so is a path that exists. The key is written first, as pending,
    then the account appears as a whole, then the key is made final: a crash in between is mended by
    making the account again, or by opening it.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBAYES_KEYS=folder):
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("health\ngood\npoor\n")
    ...     account = create_account(Path(folder) / "a", "clinic", "0.3", table, Unit())
    ...     account.dataset, account.bound, account.receipt.sequence
    ('clinic', Fraction(3, 10), 1)
    """
    place, table = _file_path(path), Path(table)
    terms = {
        "format": FORMAT,
        "dataset": keys.dataset_name(dataset),
        "bound": str(exact_epsilon(given_epsilon(epsilon))),
        "neighbours": choice("neighbours", neighbours, RELATIONS),
        "receipts": None if receipts is None else str(Path(receipts).absolute()),
        "unit": asdict(instance("unit", unit, Unit)),
    }
    with keys.creating():
        digest = keys.file_digest(table)
        _refuse_second(place, dataset, table, digest)
        witness = Witness(dataset, str(place.absolute()), secrets.token_hex(32))
        witness = replace(witness, tables=[witness.fingerprint(digest)])
        account = _account(place, terms, witness)
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.dpbayes-part")
        part.unlink(missing_ok=True)
        with connected(part, new=True) as connection:
            connection.execute(SCHEMA)
            account.append(connection, "open", "", terms)
            where = {"table": witness.tables[0], "path": str(table.absolute())}
            account.append(connection, "table", "", where)
        keys.write_witness(witness)
        try:
            os.link(part, place)
        except FileExistsError:
            raise AccountError(f"account {place} exists already") from None
        finally:
            part.unlink()
        keys.sync_folder(place.parent)
        _finish(account, table)
    account.settle()
    return account


def _finish(account: Account, table: Path) -> None:
    """Leave the note and make the key final: from now on an account that is gone is missed."""
    leave_note(table, account)
    last = account.entries[-1]
    keys.write_witness(replace(account.witness, sequence=last.sequence, digest=last.digest))
    account.witness = keys.read_witness(witness_file(account.dataset))


def _account(place: Path, terms: dict[str, Any], witness: Witness) -> Account:
    return Account(
        path=place,
        dataset=keys.dataset_name(terms["dataset"]),
        receipts=terms["receipts"],
        witness=witness,
        bound=exact(terms["bound"]),
        neighbours=terms["neighbours"],
        unit=Unit(**terms["unit"]),
    )


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
        raise AccountError(
            f"no account at {place.absolute()}; make one with: dpbayes account create"
        )
    try:
        with connected(place) as connection:
            terms = json.loads(connection.execute("SELECT body FROM entries").fetchone()[0])
        account = _account(place, terms, Witness(terms["dataset"], str(place), "0" * 64))
        if terms["format"] != FORMAT:
            raise ValueError(f"its format is {terms['format']!r}, this version reads {FORMAT}")
    except (TypeError, KeyError, ValueError) as error:
        raise AccountError(
            f"{place} is no account of this version, or damaged: its terms cannot be read "
            f"({error}). Where it is an old one, make a new one with what was left as its epsilon"
        ) from error
    account.witness = keys.read_witness(witness_file(account.dataset))
    if Path(account.witness.account).resolve() != place.resolve():
        raise AccountError(
            f"the account of data set {account.dataset!r} is {account.witness.account}; {place} is "
            "a copy of it. If it was moved on purpose, correct the path in the key file"
        )
    table = Path(account.entries[1].fields["path"])
    if account.witness.pending:
        with keys.creating():
            if keys.read_witness(witness_file(account.dataset)).pending:
                _finish(account, table)
    return account


def leave_note(table: Path, account: Account) -> str:
    """Write beside a table which account it has; return where, or why that was not possible."""
    note = table.with_name(table.name + NOTE)
    try:
        note.write_text(
            f"{account.path.absolute()}\nis the account of {table.name}, data set "
            f"{account.dataset}: all releases and answers are paid there, and no other account "
            "is made for it.\n",
            encoding="utf-8",
        )
    except OSError:
        return "none: the folder of the table is read-only"
    return str(note)


def _refuse_second(place: Path, dataset: str, table: Path, digest: bytes) -> None:
    """Refuse to make what there is already; keys of accounts that never came to be are removed."""
    if place.exists():
        raise AccountError(f"account {place} exists already: pay from it, or name another file")
    for witness in keys.all_witnesses(keys.keys_folder()):
        if witness.abandoned:
            witness_file(witness.dataset).unlink()
        elif witness.dataset == dataset:
            raise AccountError(
                f"data set {dataset!r} has an account already: {witness.account}; "
                "pay from it, or give this data set another name"
            )
    for witness in keys.all_witnesses(keys.keys_folder()) + keys.all_witnesses(keys.known_folder()):
        if witness.fingerprint(digest) in witness.tables:
            raise AccountError(
                f"table {table} has an account already: {witness.account} (data set "
                f"{witness.dataset!r}); releases and answers are paid from it"
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
